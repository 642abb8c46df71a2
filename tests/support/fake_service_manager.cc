// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "support/fake_service_manager.h"

#include <linux/kcmp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <sstream>
#include <stdexcept>

#include "support/wait.h"

namespace hb::test {
namespace {

void bind_to(const UniqueFd& socket, const std::string& address) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (address.size() >= sizeof name.sun_path) throw std::runtime_error("too long: " + address);
  std::copy(address.begin(), address.end(), name.sun_path);
  auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
  if (address[0] == '@') {
    name.sun_path[0] = '\0';
  } else {
    ++length;
  }
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), length) != 0)
    throw std::runtime_error("bind " + address + ": " + ::strerrorname_np(errno));
  if (address[0] != '@' && ::chmod(address.c_str(), 0666) != 0) throw std::runtime_error("chmod " + address);
}

bool same_file(int a, int b) {
  const long order = ::syscall(SYS_kcmp, ::getpid(), ::getpid(), KCMP_FILE, a, b);
  if (order >= 0) return order == 0;
  struct stat first {
  }, second{};
  return ::fstat(a, &first) == 0 && ::fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

bool valid_name(const std::string& name) {
  return !name.empty() && name.size() <= 255 &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~' && c != ':'; });
}

}  // namespace

FakeServiceManager::FakeServiceManager(const TempDir& dir, ManagerOptions options)
    : options_(std::move(options)),
      address_(options_.abstract ? "@" + dir.path() + "/notify" : dir / "notify"),
      socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!socket_ || !wake_) throw std::runtime_error("no descriptors for a service manager");
  bind_to(socket_, address_);
  thread_ = std::thread([this] { serve(); });
}

FakeServiceManager::~FakeServiceManager() {
  process_.kill_and_reap();
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  static_cast<void>(::eventfd_write(wake_.get(), 1));
  thread_.join();
}

void FakeServiceManager::listen(const std::string& name, const std::string& path, int type) {
  UniqueFd socket(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  if (!socket) throw std::runtime_error("socket");
  bind_to(socket, path);
  if (::listen(socket.get(), 128) != 0) throw std::runtime_error("listen " + path);
  hand_over(name, std::move(socket));
}

void FakeServiceManager::hand_over(const std::string& name, UniqueFd fd) {
  listeners_.push_back({name, std::move(fd)});
}

FakeServiceManager::Launch FakeServiceManager::launch() {
  Launch launch;
  std::vector<Entry> all;
  for (const Entry& entry : listeners_) all.push_back({entry.name, entry.fd.duplicate()});
  {
    const std::lock_guard lock(mutex_);
    messages_.clear();
    for (const Entry& entry : entries_) all.push_back({entry.name, entry.fd.duplicate()});
  }
  if (seed_) std::shuffle(all.begin(), all.end(), std::minstd_rand((*seed_)++));
  std::string names;
  for (Entry& entry : all) {
    names += (launch.owned.empty() ? "" : ":") + entry.name;
    launch.inherit.emplace_back(entry.fd.get(), 3 + static_cast<int>(launch.owned.size()));
    launch.owned.push_back(std::move(entry.fd));
  }
  launch.env = {{"NOTIFY_SOCKET", address_},
                {"FDSTORE", options_.tells_capacity ? std::to_string(options_.store_max) : ""},
                {"LISTEN_FDS", all.empty() ? "" : std::to_string(all.size())},
                {"LISTEN_FDNAMES", names}};
  launch.env.insert(launch.env.end(), options_.env.begin(), options_.env.end());
  launch.through = {"/bin/sh", "-c", "export LISTEN_PID=$$; exec \"$@\"", "sh"};
  return launch;
}

void FakeServiceManager::start(const std::vector<std::string>& argv, const ProcessOptions& options) {
  argv_ = argv;
  process_options_ = options;
  Launch with = launch();
  ProcessOptions process = options;
  process.env.insert(process.env.end(), with.env.begin(), with.env.end());
  std::vector<std::string> line = with.through;
  line.insert(line.end(), argv.begin(), argv.end());
  process_ = Process(line, process, with.inherit);
}

void FakeServiceManager::restart() {
  kill();
  start(std::vector(argv_), ProcessOptions(process_options_));
}

std::size_t FakeServiceManager::lose(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const std::size_t before = entries_.size();
  entries_.erase(std::remove_if(entries_.begin(), entries_.end(),
                                [&](const Entry& entry) { return entry.name == name; }),
                 entries_.end());
  return before - entries_.size();
}

void FakeServiceManager::set_busy(bool busy) {
  const std::lock_guard lock(mutex_);
  busy_ = busy;
  static_cast<void>(::eventfd_write(wake_.get(), 1));
}

std::vector<std::string> FakeServiceManager::stored_names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const Entry& entry : entries_) names.push_back(entry.name);
  std::sort(names.begin(), names.end());
  return names;
}

UniqueFd FakeServiceManager::copy_of(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_)
    if (entry.name == name) return entry.fd.duplicate();
  return {};
}

std::vector<std::string> FakeServiceManager::messages() const {
  const std::lock_guard lock(mutex_);
  return messages_;
}

bool FakeServiceManager::wait_for(const std::string& text) const {
  return poll_until([&] {
    const std::lock_guard lock(mutex_);
    return std::any_of(messages_.begin(), messages_.end(),
                       [&](const std::string& message) { return message.find(text) != std::string::npos; });
  });
}

std::vector<std::string> FakeServiceManager::violations() const {
  const std::lock_guard lock(mutex_);
  return violations_;
}

std::size_t FakeServiceManager::behind_barrier() const {
  const std::lock_guard lock(mutex_);
  return behind_barrier_;
}

void FakeServiceManager::serve() {
  for (;;) {
    bool busy = false;
    {
      const std::lock_guard lock(mutex_);
      if (ends_) return;
      busy = busy_;
    }
    std::array<pollfd, 2> ready{{{wake_.get(), POLLIN, 0}, {socket_.get(), POLLIN, 0}}};
    if (::poll(ready.data(), busy ? 1 : 2, -1) < 0) continue;
    eventfd_t count = 0;
    static_cast<void>(::eventfd_read(wake_.get(), &count));
    if (busy || ready[1].revents == 0) continue;
    std::array<char, 4096> text;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(253 * sizeof(int))> control;
    iovec part{text.data(), text.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0) continue;
    std::vector<UniqueFd> fds;
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
      if (c->cmsg_type != SCM_RIGHTS) continue;
      for (std::size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
        fds.emplace_back(fd);
      }
    }
    take(std::string(text.data(), static_cast<std::size_t>(got)), std::move(fds));
  }
}

void FakeServiceManager::take(const std::string& text, std::vector<UniqueFd> fds) {
  std::map<std::string, std::string> fields;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    fields[line.substr(0, equals)] = equals == std::string::npos ? "" : line.substr(equals + 1);
  }
  const std::lock_guard lock(mutex_);
  messages_.push_back(text);
  if (fields["BARRIER"] == "1") {
    behind_barrier_ = 0;
    return;  // closing is the answer
  }
  if (fields["FDSTORE"] == "1") store(fields, std::move(fds));
  if (fields["FDSTOREREMOVE"] == "1") {
    entries_.erase(std::remove_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.name == fields["FDNAME"]; }),
                   entries_.end());
  }
}

void FakeServiceManager::store(const std::map<std::string, std::string>& fields, std::vector<UniqueFd> fds) {
  ++behind_barrier_;
  const auto name = fields.find("FDNAME");
  if (fields.count("FDPOLL") == 0 || fields.at("FDPOLL") != "0") violations_.push_back("no FDPOLL=0");
  if (name == fields.end() || !valid_name(name->second)) {
    violations_.push_back("name \"" + (name == fields.end() ? "" : name->second) + "\"");
    return;
  }
  if (fds.empty()) violations_.push_back("FDSTORE without a descriptor");
  for (UniqueFd& fd : fds) {
    const bool is_there = std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
      return same_file(entry.fd.get(), fd.get());
    });
    if (is_there) continue;
    if (entries_.size() >= options_.store_max) {
      violations_.push_back("more than " + std::to_string(options_.store_max) + " entries");
      continue;
    }
    entries_.push_back({name->second, std::move(fd)});
  }
}

}  // namespace hb::test
