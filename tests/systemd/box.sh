#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
#
# box.sh [-t SECONDS] -- COMMAND [ARGUMENT...]
# Boots this machine's own systemd as PID 1 of a container that is thrown away afterwards, runs COMMAND in it as a
# service, prints its output and ends with its exit status; 124: out of time; 125: the box cannot be had here.
# Of the machine nothing is changed: its root is the lower layer of an overlay in memory. What was built here is
# there, at the same path. Needs root and systemd-nspawn; no D-Bus, and no systemd that runs on the machine.
#
# shellcheck disable=SC2317 # functions that a trap and another shell call
set -euo pipefail

seconds=120
while getopts t: option; do
  case $option in
    t) seconds=$OPTARG ;;
    *) exit 64 ;;
  esac
done
shift $((OPTIND - 1))
cannot() {
  echo "box.sh: $1" >&2
  exit 125
}
((EUID == 0)) || cannot 'not root: the tests of the service boot systemd in a container, run them as root'
command -v systemd-nspawn >/dev/null || cannot 'no systemd-nspawn: apt-get install systemd-container'
unshare --mount true 2>/dev/null || cannot 'no mount namespace may be made here (CAP_SYS_ADMIN)'

out=$(mktemp -d)
name=hipbroker-box$$
groups=()
# A control group of its own. Without one nspawn leaves its folders in the machine's root group, and what is left of
# the box could not be ended.
for hierarchy in /sys/fs/cgroup/unified /sys/fs/cgroup/systemd /sys/fs/cgroup; do
  if [[ -e $hierarchy/cgroup.procs ]] && mkdir "$hierarchy/$name" 2>/dev/null; then groups+=("$hierarchy/$name"); fi
done
((${#groups[@]} > 0)) || cannot 'no control group can be made below /sys/fs/cgroup: it is read-only, or not mounted'

leave() {
  local group
  for group in "${groups[@]}"; do
    echo $$ >"${group%/*}/cgroup.procs" || true
    if [[ -e $group/cgroup.kill ]]; then echo 1 >"$group/cgroup.kill" || true; fi
  done
  for ((tries = 0; tries < 100; ++tries)); do
    grep -qs 'populated 1' "${groups[0]}/cgroup.events" || break
    read -rt 0.05 <> <(:) || true
  done
  for group in "${groups[@]}"; do find "$group" -depth -type d -exec rmdir {} + || true; done
  rm -rf -- "$out"
} 2>/dev/null
trap leave EXIT
for group in "${groups[@]}"; do echo $$ >"$group/cgroup.procs"; done

# In a mount namespace of its own: BOX_ROOT, an overlay of / with the command as its only service.
inside() {
  set -euo pipefail
  mkdir -p /run/systemd
  # nspawn keeps state there, and wants to clean it, which it does not on every file system.
  mount -t tmpfs tmpfs /run/systemd
  local work=/run/systemd/box
  local root=$work/root unit
  mkdir -p "$work/upper" "$work/work" "$root"
  mount -t overlay overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/work" "$root"
  local units=$root/etc/systemd/system
  mkdir -p "$units" "$root/etc/tmpfiles.d" "$root/out"
  # None of the machine's own services; and /tmp stays what it is, since builds may lie there.
  rm -rf "$units"/*.wants "$units"/*.requires
  for unit in tmp.mount sys-kernel-debug.mount sys-kernel-tracing.mount dev-hugepages.mount systemd-sysctl.service \
    systemd-journal-flush.service systemd-update-utmp.service systemd-pcrphase.service timers.target; do
    ln -sf /dev/null "$units/$unit"
  done
  ln -sf /dev/null "$root/etc/tmpfiles.d/tmp.conf"
  # Where a machine forbids packages to start services, the box is what they are to be started in.
  rm -f "$root/usr/sbin/policy-rc.d" "$root/var/lib/dbus/machine-id"
  : >"$root/etc/machine-id"
  echo box >"$root/etc/hostname"
  { echo '#!/bin/bash'; printf 'cd %q; exec' "$PWD"; printf ' %q' "$@"; echo; } >"$root/etc/box-command"
  chmod 755 "$root/etc/box-command"
  cat >"$units/box.service" <<'UNIT'
[Unit]
Description=The command under test
After=multi-user.target
SuccessAction=exit-force
FailureAction=exit-force
[Service]
Type=oneshot
ExecStart=/etc/box-command
Environment=HOME=/root LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 DEBIAN_FRONTEND=noninteractive
StandardOutput=append:/out/output
StandardError=inherit
TimeoutStartSec=infinity
TimeoutStopSec=3s
LimitNOFILE=infinity
UNIT
  printf '[Unit]\nRequires=basic.target\nWants=box.service sockets.target multi-user.target\nAllowIsolate=yes\n' >"$units/box.target"
  SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 SYSTEMD_NSPAWN_TMPFS_TMP=0 exec systemd-nspawn --quiet --directory="$root" \
    --register=no --keep-unit --private-network --link-journal=no --resolv-conf=off --timezone=off --console=pipe \
    --capability=all --system-call-filter='bpf keyctl @memlock perf_event_open kcmp seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self' \
    --bind="$BOX_OUT:/out" --boot \
    systemd.unit=box.target systemd.show_status=no systemd.default_timeout_stop_sec=5s
}

status=0
export -f inside
BOX_OUT=$out timeout -k 5 "$seconds" unshare --mount --propagation private bash -c 'inside "$@"' box "$@" \
  </dev/null >"$out/console" 2>&1 || status=$?
if [[ -e $out/output ]]; then cat "$out/output"; fi
if ((status != 0)); then
  echo "box.sh: ended with status $status (124: not within $seconds s)" >&2
  if [[ ! -e $out/output ]]; then tail -n 20 "$out/console" >&2; fi
fi
exit "$status"
