// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "support/daemon_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <stdexcept>

#include "support/fake_service_manager.h"
#include "support/fd_census.h"
#include "support/raw_peer.h"
#include "support/wait.h"

namespace hb::test {

namespace {

constexpr const char* kUsualPolicy = "[[rule]]\nallow = [\"export\", \"acquire\", \"list\", \"revoke\"]\n";

}  // namespace

std::string daemon_program() {
  // Where the tests were carried to another machine.
  const char* elsewhere = std::getenv("HB_TEST_DAEMON");
  return elsewhere != nullptr ? elsewhere : HB_TEST_DAEMON;
}

std::string crashing_daemon_program() { return HB_TEST_CRASHING_DAEMON; }

DaemonProcess::DaemonProcess(DaemonOptions options)
    : dir_(options.in_memory ? "/dev/shm" : "/tmp"), options_(std::move(options)) {
  run_dir_ = dir_ / (options_.run_dir.empty() ? "run" : options_.run_dir);
  socket_ = run_dir_ + "/broker.sock";
  admin_socket_ = run_dir_ + "/admin/admin.sock";
  log_path_ = dir_ / "daemon.log";
  if (options_.run_dir.empty()) std::filesystem::create_directory(run_dir_);
  const auto owner = options_.run_dir_owner ? options_.run_dir_owner : options_.process.uid;
  if (options_.run_dir.empty() && owner) {
    if (::chown(run_dir_.c_str(), *owner, options_.process.gid.value_or(*owner)) != 0)
      throw std::runtime_error("chown of " + run_dir_);
  }
  if (options_.store) {
    own_manager_ = std::make_unique<FakeServiceManager>(dir_);
    options_.manager = own_manager_.get();
  }
  if (options_.activated) {
    std::filesystem::create_directory(run_dir_ + "/admin");
    options_.manager->listen("broker", socket_);
    options_.manager->listen("admin", admin_socket_);
  }
  write_file(dir_ / "hipbrokerd.toml", options_.config);
  // One of this machine must not decide the tests.
  std::filesystem::create_directory(dir_ / "policy");  // not where the configuration is: it is read again
  write_file(policy_file(), options_.policy.empty() ? kUsualPolicy : options_.policy);
  start();
}

std::vector<std::string> DaemonProcess::command_line() const {
  std::vector<std::string> line{
      options_.program.empty() ? daemon_program() : options_.program, "--config", dir_ / "hipbrokerd.toml", "--policy", policy_file(), "--socket", socket_};
  line.insert(line.end(), options_.args.begin(), options_.args.end());
  return line;
}

void DaemonProcess::start() {
  const UniqueFd out(::open(log_path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!out || !null) throw std::runtime_error("cannot open " + log_path_);
  const int err = options_.stderr_to.get() >= 0 ? options_.stderr_to.get() : out.get();
  ProcessOptions process = options_.process;
  std::vector<std::pair<int, int>> inherit{{null.get(), 0}, {out.get(), 1}, {err, 2}};
  std::vector<std::string> line = options_.through;
  FakeServiceManager::Launch with;
  if (options_.manager != nullptr) {
    with = options_.manager->launch();
    process.env.insert(process.env.end(), with.env.begin(), with.env.end());
    inherit.insert(inherit.end(), with.inherit.begin(), with.inherit.end());
    line.insert(line.end(), with.through.begin(), with.through.end());
  }
  for (std::string& word : command_line()) line.push_back(std::move(word));
  process_ = Process(line, process, inherit);
  const bool ready = poll_until([&] {
    if (process_state(process_.pid()) == 'Z') return true;
    return RawPeer::try_hello(options_.ready_on_admin ? admin_socket_ : socket_);
  });
  if (!ready || process_state(process_.pid()) == 'Z') {
    const auto status = process_.wait(0);
    throw std::runtime_error("hipbrokerd is not ready (" +
                             (status ? describe_exit(*status) : std::string("still running")) + "):\n" +
                             log());
  }
}

DaemonProcess::~DaemonProcess() {
  if (!process_.running()) return;
  process_.signal(SIGCONT);
  process_.signal(SIGTERM);
  const auto status = process_.wait();
  if (!status)
    ADD_FAILURE() << "hipbrokerd does not end after SIGTERM:\n" << log();
  else if (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0)
    ADD_FAILURE() << "hipbrokerd " << describe_exit(*status) << ":\n" << log();
  else if (testing::Test::HasFailure())
    std::fprintf(stderr, "log of hipbrokerd:\n%s\n", log().c_str());
}

std::string DaemonProcess::log_with(const std::string& text) const {
  static_cast<void>(poll_until([&] { return log().find(text) != std::string::npos; }));
  return log();
}

std::vector<std::string> DaemonProcess::fds() const {
  std::vector<std::string> out;
  for (const std::string& fd : open_fds(pid())) {
    std::string what = fd.substr(fd.find(" -> ") + 4);
    // The number of a socket or a pipe says nothing: what counts is how many there are.
    if (what.rfind("socket:", 0) == 0) what = "socket";
    if (what.rfind("pipe:", 0) == 0) what = "pipe";
    out.push_back(std::move(what));
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::size_t DaemonProcess::connections() const {
  std::set<std::string> held;
  for (const std::string& fd : open_fds(pid()))
    if (const std::size_t at = fd.find("socket:["); at != std::string::npos)
      held.insert(fd.substr(at + 8, fd.size() - at - 9));
  std::size_t count = 0;
  std::istringstream table(read_file("/proc/net/unix"));
  std::string line;
  while (std::getline(table, line)) {
    // Num RefCount Protocol Flags Type St Inode Path; flag 00010000 is a listener's.
    std::istringstream fields(line);
    std::string number, references, protocol, flags, type, state, inode, path;
    fields >> number >> references >> protocol >> flags >> type >> state >> inode >> path;
    if (path.rfind(run_dir_, 0) == 0 && flags != "00010000" && held.count(inode) != 0) ++count;
  }
  return count;
}

std::size_t DaemonProcess::epoll_entries() const {
  std::size_t count = 0;
  for (const std::string& fd : open_fds(pid())) {
    if (fd.find("anon_inode:[eventpoll]") == std::string::npos) continue;
    std::istringstream info(
        read_file("/proc/" + std::to_string(pid()) + "/fdinfo/" + std::to_string(std::atoi(fd.c_str()))));
    std::string line;
    while (std::getline(info, line)) count += line.rfind("tfd:", 0) == 0 ? 1 : 0;
  }
  return count;
}

void DaemonProcess::kill9() { process_.kill_and_reap(); }

DaemonRefusal run_daemon_to_exit(const std::vector<std::string>& args, const ProcessOptions& options) {
  const TempDir dir;
  std::vector<std::string> line{daemon_program()};
  line.insert(line.end(), args.begin(), args.end());
  const UniqueFd log(::open((dir / "out").c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  Process process(line, options, {{log.get(), 1}, {log.get(), 2}});
  const auto status = process.wait();
  return {status && WIFEXITED(*status) ? WEXITSTATUS(*status) : -1, read_file(dir / "out")};
}

}  // namespace hb::test
