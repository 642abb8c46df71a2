// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "cmd.h"

namespace hb::cli {
namespace {

// Names are other people's text: compgen -W would expand them, so they are matched by hand and quoted. One
// that `ls --names` had to escape (it holds a backslash then, which none of the others does) is not offered:
// what is printed names nothing.
constexpr const char* kBash = R"sh(# bash completion for hipbrokerctl: source <(hipbrokerctl completion bash)
_hipbrokerctl() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} verb= i
  local verbs='ls show who why revoke check-policy reload drain quota scope audit metrics ping doctor version completion'
  local global='--socket --timeout --admin --no-admin --json --no-header --help --version'
  COMPREPLY=()
  case $previous in
    --verb) mapfile -t COMPREPLY < <(compgen -W 'export acquire list persist revoke' -- "$word"); return ;;
    --socket|--file|--root) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    --kind) mapfile -t COMPREPLY < <(compgen -W "acquired released refused quota revoked scope-added scope-removed policy-reloaded quota-set left-out" -- "$word"); return ;;
    --timeout|--since|--owner|--uid|--id|--wait|--grace|--as|--gid|--scope) return ;;
  esac
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in ls|show|who|why|revoke|check-policy|reload|drain|quota|scope|audit|metrics|ping|doctor|version|completion) verb=${COMP_WORDS[i]}; break ;; esac
  done
  local words=$global
  case $verb in
    '') words="$verbs $global" ;;
    ls) words="$global --names --all --scope" ;;
    show) words="$global --owner --id --all-chunks" ;;
    who) words="$global --owner --id --top --scope" ;;
    why) words="$global --owner --id" ;;
    revoke) words="$global --owner --uid --id --grace" ;;
    drain) words="$global --off --wait" ;;
    check-policy) words="$global --as --gid --scope --owner --verb" ;;
    quota) case " ${COMP_WORDS[*]:0:COMP_CWORD} " in
        *' quota ls '*) words="$global --uid --scope" ;;
        *' quota set '*) words="$global --uid --gid --scope --sessions --exports --chunks --bytes --descriptors --leases --stagings --waits --tickets --groups --events --requests --connects --clear" ;;
        *) words='ls set' ;;
      esac ;;
    scope) case " ${COMP_WORDS[*]:0:COMP_CWORD} " in
        *' scope add '*) words="$global --uid $(printf -- ' --quota-%s --each-%s' {sessions,exports,chunks,bytes,descriptors,leases,stagings,waits,tickets,groups,events,requests,connects}{,})" ;;
        *) words='add rm ls' ;;
      esac ;;
    audit) words="$global --since --kind --uid --follow" ;;
    metrics) words="$global --file" ;;
    ping) words="$global --wait" ;;
    doctor) words="$global --peers --again --pins --root" ;;
    completion) words='bash zsh fish' ;;
  esac
  if [[ $word != -* && $verb =~ ^(ls|show|who|why|revoke|check-policy)$ ]]; then
    local name
    while IFS= read -r name; do
      if [[ $name == "$word"* && $name != *\\* ]]; then COMPREPLY+=("$(printf %q "$name")"); fi
    done < <(hipbrokerctl --timeout 1 ls --names 2>/dev/null)
    return
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -F _hipbrokerctl hipbrokerctl
)sh";

constexpr const char* kZsh = R"sh(#compdef hipbrokerctl
# zsh completion for hipbrokerctl: source <(hipbrokerctl completion zsh)
_hipbrokerctl_names() {
  local -a names
  names=("${(@f)$(hipbrokerctl --timeout 1 ls --names 2>/dev/null)}")
  names=("${(@)names:#*\\*}")
  compadd -a names
}
_hipbrokerctl() {
  local -a global target
  global=('--socket[socket of the daemon]:path:_files' '--timeout[seconds for the whole verb]:seconds:'
    '(--no-admin)--admin[demand the admin socket]' '(--admin)--no-admin[stay on the ordinary socket]'
    '--json[print JSON]' '--no-header[no titles above tables]' '--help[help]' '--version[version]')
  target=('--owner[uid that owns the name]:uid:' '--id[id of the export]:id:' '1:name:_hipbrokerctl_names')
  if (( CURRENT == 2 )); then
    local -a verbs
    verbs=('ls:list exports' 'show:everything about one export' 'who:who holds an export' 'why:why its memory has not come back'
      'revoke:take an export back from its holders'
      'check-policy:what a uid may do, and by which rule' 'reload:let the daemon read its policy file anew' 'drain:before a restart, what would be lost'
      'quota:what uids use and may use' 'scope:name spaces to mount' 'audit:who got and was refused what' 'metrics:counters for Prometheus'
      'ping:ask whether the daemon answers' 'doctor:does sharing work here' 'version:versions'
      'completion:script for a shell')
    _describe verb verbs
    return
  fi
  local verb=$words[2]
  shift words
  (( CURRENT-- ))
  case $verb in
    ls) _arguments $global '(-1 --names)'{-1,--names}'[names alone]' '--all[also ended and still held]' '--scope[only this scope]:scope:' '1:prefix:_hipbrokerctl_names' ;;
    show) _arguments $global $target '--all-chunks[every chunk]' ;;
    who) _arguments $global $target '--top[every export, the largest first]' '--scope[only this scope]:scope:' ;;
    why) _arguments $global $target ;;
    revoke) _arguments $global $target '--uid[uid that owns the name]:uid:' '--grace[how long to wait for the holders]:time:' ;;
    drain) _arguments $global '--off[as before again]' '--wait[until nothing would be lost]:time:' ;;
    check-policy) _arguments $global '--as[about whom]:uid:' '*--gid[its groups]:gid:' '--scope[seen from this scope]:scope:' '--owner[uid that owns the name]:uid:' '--verb[what the exit status is about]:verb:(export acquire list persist revoke)' '1:name:_hipbrokerctl_names' ;;
    quota)
      if (( CURRENT == 2 )); then compadd ls set; return; fi
      _arguments $global '--uid[this uid]:uid:' '--gid[each uid in this group]:gid:' '--scope[in this scope]:scope:' '--clear[take back what was set]' \
        '--'{sessions,exports,chunks,descriptors,leases,stagings,waits,tickets,groups,events,requests,connects}'[limit]:count:' '--bytes[limit]:size:' ;;
    scope)
      if (( CURRENT == 2 )); then compadd add rm ls; return; fi
      _arguments $global '*--uid[who may connect]:uid:' \
        '--'{quota,each}-{sessions,exports,chunks,bytes,descriptors,leases,stagings,waits,tickets,groups,events,requests,connects}'[limit]:limit:' ;;
    audit) _arguments $global '--since[of the last]:time:' '--kind[of this kind]:kind:(acquired released refused quota revoked scope-added scope-removed policy-reloaded quota-set left-out)' '--uid[what this uid did]:uid:' '(-f --follow)'{-f,--follow}'[go on with what happens]' ;;
    metrics) _arguments $global '--file[write them there]:path:_files' ;;
    ping) _arguments $global '--wait[seconds to wait for a daemon]:seconds:' ;;
    doctor) _arguments $global '--peers[compare every pair of GPUs]' '--again[try the runtime out anew]' '--pins[memory in use, and what explains it]' '--root[where the files of the node begin]:path:_files -/' ;;
    completion) _arguments '1:shell:(bash zsh fish)' ;;
    *) _arguments $global ;;
  esac
}
compdef _hipbrokerctl hipbrokerctl
)sh";

constexpr const char* kFish = R"sh(# fish completion for hipbrokerctl: hipbrokerctl completion fish | source
set -l verbs ls show who why revoke check-policy reload drain quota scope audit metrics ping doctor version completion
complete -c hipbrokerctl -f
complete -c hipbrokerctl -n "not __fish_seen_subcommand_from $verbs" -a ls -d 'List exports'
complete -c hipbrokerctl -n "not __fish_seen_subcommand_from $verbs" -a show -d 'Everything about one export'
complete -c hipbrokerctl -n "not __fish_seen_subcommand_from $verbs" -a who -d 'Who holds an export'
complete -c hipbrokerctl -n "not __fish_seen_subcommand_from $verbs" -a why -d 'Why its memory has not come back'
complete -c hipbrokerctl -n "not __fish_seen_subcommand_from $verbs" -a revoke -d 'Take an export back from its holders'
complete -c hipbrokerctl -n "not __fish_seen_subcommand_from $verbs" -a check-policy -d 'What a uid may do, and by which rule'
complete -c hipbrokerctl -n "not __fish_seen_subcommand_from $verbs" -a reload -d 'Let the daemon read its policy file anew'
complete -c hipbrokerctl -n "not __fish_seen_subcommand_from $verbs" -a drain -d 'Before a restart: what would be lost'
complete -c hipbrokerctl -n "not __fish_seen_subcommand_from $verbs" -a quota -d 'What uids use and may use'
complete -c hipbrokerctl -n "not __fish_seen_subcommand_from $verbs" -a scope -d 'Name spaces to mount'
complete -c hipbrokerctl -n "not __fish_seen_subcommand_from $verbs" -a audit -d 'Who got and was refused what'
complete -c hipbrokerctl -n "not __fish_seen_subcommand_from $verbs" -a metrics -d 'Counters for Prometheus'
complete -c hipbrokerctl -n "not __fish_seen_subcommand_from $verbs" -a ping -d 'Ask whether the daemon answers'
complete -c hipbrokerctl -n "not __fish_seen_subcommand_from $verbs" -a doctor -d 'Does sharing work here'
complete -c hipbrokerctl -n "not __fish_seen_subcommand_from $verbs" -a version -d 'Versions'
complete -c hipbrokerctl -n "not __fish_seen_subcommand_from $verbs" -a completion -d 'Script for a shell'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from ls show who why revoke check-policy' -a '(hipbrokerctl --timeout 1 ls --names 2>/dev/null | string match -rv "\x5c")'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from ls' -s 1 -l names -d 'Names alone'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from ls' -l all -d 'Also ended and still held'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from who' -l top -d 'Every export, the largest first'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from show who why revoke check-policy' -l owner -x -d 'Uid that owns the name'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from show who why revoke' -l id -x -d 'Id of the export'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from revoke' -l uid -x -d 'Uid that owns the name'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from revoke' -l grace -x -d 'How long to wait for the holders'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from drain' -l off -d 'As before again'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from drain' -l wait -x -d 'Until nothing would be lost'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from check-policy' -l as -x -d 'About whom'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from check-policy' -l gid -x -d 'Its groups'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from check-policy' -l scope -x -d 'Seen from this scope'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from check-policy' -l verb -x -a 'export acquire list persist revoke' -d 'What the exit status is about'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from show' -l all-chunks -d 'Every chunk'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from audit' -l since -x -d 'Of the last TIME'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from audit' -l kind -x -a 'acquired released refused quota revoked scope-added scope-removed policy-reloaded quota-set left-out' -d 'Of this kind'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from audit' -l uid -x -d 'What this uid did'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from audit' -s f -l follow -d 'Go on with what happens'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from quota; and not __fish_seen_subcommand_from ls set' -a 'ls set'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from quota' -l uid -x -d 'This uid'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from quota' -l gid -x -d 'Each uid in this group'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from quota' -l scope -x -d 'In this scope'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from quota' -l clear -d 'Take back what was set'
for limit in sessions exports chunks bytes descriptors leases stagings waits tickets groups events requests connects
  complete -c hipbrokerctl -n '__fish_seen_subcommand_from quota' -l $limit -x -d 'Limit'
  complete -c hipbrokerctl -n '__fish_seen_subcommand_from scope' -l quota-$limit -x -d 'Of the scope as a whole'
  complete -c hipbrokerctl -n '__fish_seen_subcommand_from scope' -l each-$limit -x -d 'Of each uid in it'
end
complete -c hipbrokerctl -n '__fish_seen_subcommand_from scope; and not __fish_seen_subcommand_from add rm ls' -a 'add rm ls'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from scope' -l uid -x -d 'Who may connect'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from ls who' -l scope -x -d 'Only this scope'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from metrics' -l file -r -F -d 'Write them there'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from ping' -l wait -x -d 'Seconds to wait for a daemon'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from doctor' -l peers -d 'Compare every pair of GPUs'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from doctor' -l again -d 'Try the runtime out anew'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from doctor' -l pins -d 'Memory in use, and what explains it'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from doctor' -l root -r -F -d 'Where the files of the node begin'
complete -c hipbrokerctl -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'
complete -c hipbrokerctl -l socket -r -F -d 'Socket of the daemon'
complete -c hipbrokerctl -l timeout -x -d 'Seconds for the whole verb'
complete -c hipbrokerctl -l admin -d 'Demand the admin socket'
complete -c hipbrokerctl -l no-admin -d 'Stay on the ordinary socket'
complete -c hipbrokerctl -l json -d 'Print JSON'
complete -c hipbrokerctl -l no-header -d 'No titles above tables'
)sh";

}  // namespace

void add_completion(Cli& cli) {
  auto shell = std::make_shared<std::string>();
  CLI::App* verb = cli.app.add_subcommand("completion", "Print a completion script for bash, zsh or fish");
  verb->fallthrough();
  verb->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  verb->callback([&cli, shell] {
    cli.run = [shell]() -> std::string { return *shell == "bash" ? kBash : *shell == "zsh" ? kZsh : kFish; };
  });
}

}  // namespace hb::cli
