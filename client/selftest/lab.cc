// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "lab.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "find_daemon.h"

namespace hb::selftest {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kWholeNs = 48 * kSecond;  // then only ending is left, and a minute is the promise
constexpr std::uint64_t kAnswerNs = 12 * kSecond;
constexpr std::uint64_t kProbingAnswerNs = 30 * kSecond;  // where each process tries the runtime out anew
constexpr std::uint64_t kEndNs = 4 * kSecond;
constexpr std::uint64_t kKilledNs = 2 * kSecond;  // longer only inside a driver
constexpr int kLookAgainMs = 5;

std::string error_text(int code) {
  const char* name = ::strerrorname_np(code);
  return std::string(name != nullptr ? name : "?") + " (" + std::strerror(code) + ")";
}

std::string end_of(std::optional<int> status) {
  if (!status) return "does not end even by SIGKILL; a driver holds it (dmesg)";
  return WIFEXITED(*status) ? "exited with " + std::to_string(WEXITSTATUS(*status))
                            : "died of signal " + std::to_string(WTERMSIG(*status));
}

std::string tail_of(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char buffer[2048];
  const ssize_t n = file ? ::read(file.get(), buffer, sizeof buffer) : -1;
  std::string text(buffer, n > 0 ? static_cast<std::size_t>(n) : 0);
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

}  // namespace

Child::Child(const std::vector<std::string>& argv, const UniqueFd& third, const std::string& log) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (!log.empty())
    for (const int number : {STDOUT_FILENO, STDERR_FILENO})
      ::posix_spawn_file_actions_addopen(&actions, number, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (third) ::posix_spawn_file_actions_adddup2(&actions, third.get(), 3);
  std::vector<std::string> words = argv;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const int code = ::posix_spawn(&pid_, words[0].c_str(), &actions, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (code == 0) return;
  pid_ = -1;
  throw Failed("starting " + argv[0] + ": posix_spawn: " + error_text(code));
}

Child& Child::operator=(Child&& other) noexcept {
  if (this != &other) {
    kill_and_reap();
    pid_ = std::exchange(other.pid_, -1);
  }
  return *this;
}

void Child::kill_and_reap() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  for (const std::uint64_t deadline = hb_deadline_in(kKilledNs); !ended() && hb_deadline_in(0) < deadline;)
    ::poll(nullptr, 0, kLookAgainMs);
  ::waitpid(pid_, nullptr, WNOHANG);
  pid_ = -1;
}

bool Child::ended() const {
  siginfo_t info{};
  return pid_ < 0 || (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                      info.si_pid != 0);
}

std::string Child::how_it_ended() const {
  siginfo_t info{};
  if (pid_ < 0 || ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0)
    return "";
  if (info.si_code == CLD_EXITED) return "exited with " + std::to_string(info.si_status);
  const char* name = ::sigabbrev_np(info.si_status);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(info.si_status);
}

void Child::terminate() const {
  if (pid_ > 0) ::kill(pid_, SIGTERM);
}

std::optional<int> Child::wait() {
  if (pid_ < 0) return 0;
  for (const std::uint64_t limit : {kEndNs, kKilledNs}) {
    for (const std::uint64_t deadline = hb_deadline_in(limit); !ended() && hb_deadline_in(0) < deadline;)
      ::poll(nullptr, 0, kLookAgainMs);
    if (!ended()) ::kill(pid_, SIGKILL);
  }
  int status = 0;
  const bool reaped = ::waitpid(std::exchange(pid_, -1), &status, WNOHANG) > 0;
  return reaped ? std::optional(status) : std::nullopt;
}

Peer::Peer(const std::string& socket, std::uint64_t deadline_ns, std::uint64_t answer_ns)
    : deadline_ns_(deadline_ns), answer_ns_(answer_ns) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw Failed("socketpair: " + error_text(errno));
  socket_ = UniqueFd(ends[0]);
  {
    const UniqueFd theirs(ends[1]);  // open here it would hide that the process has died
    child_ = Child({own_program(), "--actor"}, theirs, "");
  }
  ok("open", {{"socket", socket}});
}

void Peer::say(const std::string& verb, Message arguments) {
  arguments.set("verb", verb);
  if (!send_message(socket_, arguments)) throw Failed(verb + ": the process " + end_of(child_.wait()));
}

Message Peer::hear(const std::string& verb) {
  const std::uint64_t limit = std::min(deadline_ns_, hb_deadline_in(answer_ns_));
  const auto answer = receive_message(socket_, limit);
  if (answer) return *answer;
  if (interrupted()) throw Failed(verb + ": interrupted");
  if (hb_deadline_in(0) < limit) throw Failed(verb + ": the process " + end_of(child_.wait()));
  child_.kill_and_reap();
  throw Failed(verb + ": no answer in time; the driver may hang (dmesg)");
}

Message Peer::call(const std::string& verb, Message arguments) {
  say(verb, std::move(arguments));
  return hear(verb);
}

Message Peer::ok(const std::string& verb, Message arguments) {
  Message answer = call(verb, std::move(arguments));
  if (answer.number("status", 1) != 0) throw Failed(verb + ": " + answer.text("message"));
  return answer;
}

void Peer::leave(const std::string& who) {
  socket_.reset();
  const std::optional<int> status = child_.wait();
  if (status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return;
  throw Failed("the process of the " + who + " did its part, and then " + end_of(status));
}

Lab::Lab(const LabOptions& options)
    : deadline_ns_(hb_deadline_in(kWholeNs)), device_(options.device), socket_(options.socket) {
  if (socket_.empty()) start_daemon();
  hb_client_options where = HB_CLIENT_OPTIONS_INIT;
  where.socket = socket_.c_str();
  where.deadline_ns = hb_deadline_in(10 * kSecond);
  hb_error error = HB_ERROR_INIT;
  hb_client* client = nullptr;
  // A daemon that starts has no socket yet.
  hb_status status = hb_client_open(&where, &client, &error);
  while (!folder_.empty() && status == HB_NO_DAEMON && !daemon_.ended() && !interrupted() &&
         hb_deadline_in(0) < where.deadline_ns) {
    ::poll(nullptr, 0, kLookAgainMs);
    status = hb_client_open(&where, &client, &error);
  }
  if (status != HB_OK) {
    const std::string said = folder_.empty() ? "" : "; it said: " + tail_of(folder_ + "/log");
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
    throw Failed("no daemon: " + std::string(error.message) + said);
  }
  hb_client_info info = HB_CLIENT_INFO_INIT;
  static_cast<void>(hb_client_get_info(client, &info, &error));
  daemon_version_ = info.daemon;
  hb_client_close(client);
  hb_hip_look* look = nullptr;
  if (hb_hip_look_open(&look, &error) != HB_OK) throw Failed(error.message);
  look_.reset(look);
}

Lab::~Lab() {
  if (folder_.empty()) return;
  daemon_.terminate();
  static_cast<void>(daemon_.wait());
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void Lab::start_daemon() {
  const std::string program = find_daemon();
  const char* base = ::getenv("TMPDIR");
  std::string folder =
      std::string(base != nullptr && *base == '/' ? base : "/tmp") + "/hipbroker-selftest-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) throw Failed("mkdtemp " + folder + ": " + error_text(errno));
  folder_ = folder;
  socket_ = folder_ + "/broker.sock";
  // Not the node's configuration: it may name sockets and limits of its own.
  const std::string config = folder_ + "/hipbrokerd.toml";
  const UniqueFd file(::open(config.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  daemon_ = Child({program, "--config", config, "--socket", socket_}, UniqueFd(), folder_ + "/log");
}

std::string Lab::daemon_end() const {
  const std::string how = folder_.empty() ? "" : daemon_.how_it_ended();
  if (how.empty()) return "";
  const std::string said = tail_of(folder_ + "/log");
  return "(" + how + ")" + (said.empty() ? "" : "; it said: " + said);
}

std::uint64_t Lab::left_ns() const {
  const std::uint64_t now = hb_deadline_in(0);
  return now < deadline_ns_ ? deadline_ns_ - now : 0;
}

Peer Lab::start() const {
  const bool remembered = !probed || *report.note == '\0';
  return Peer(socket_, deadline_ns_, remembered ? kAnswerNs : kProbingAnswerNs);
}

void Lab::demand_export() const {
  if (runtime().status != HB_OK || !probed) throw NotHere("see the line probe/run");
  if (report.can_export.answer != HB_ANSWER_YES) throw NotHere("see the line probe/export");
}

void Lab::demand_gpu() const {
  demand_export();
  if (report.can_import.answer != HB_ANSWER_YES) throw NotHere("see the line probe/import");
}

bool Lab::is_known(const char* issue) const {
  for (std::size_t i = 0; i < hb_hip_look_issue_count(look()); ++i) {
    const hb_hip_issue* known = hb_hip_look_issue_at(look(), i);
    if (std::strcmp(known->name, issue) == 0) return known->tabled != 0;
  }
  return false;
}

}  // namespace hb::selftest
