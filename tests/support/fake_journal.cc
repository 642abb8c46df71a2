// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "support/fake_journal.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>

namespace hb::test {

FakeJournal::FakeJournal() : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  std::filesystem::create_directories(dir_ / "run/systemd/journal");
  const std::string path = dir_ / "run/systemd/journal/socket";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("bind " + path);
  stderr_.reset(::open((dir_ / "stderr").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!stderr_) throw std::runtime_error("cannot open the file for stderr");
}

void FakeJournal::take(DaemonOptions& options) const {
  struct stat status {};
  if (::fstat(stderr_.get(), &status) != 0) throw std::runtime_error("fstat");
  options.stderr_to = stderr_;
  options.process.namespaces.flags |= CLONE_NEWNS;
  options.process.env.emplace_back("JOURNAL_STREAM",
                                   std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino));
  options.through = {"/bin/sh", "-c", "mount --make-rprivate / && mount --bind \"$0\" /run && exec \"$@\"",
                     dir_ / "run"};
}

std::string FakeJournal::next(std::uint64_t limit_ns) {
  if (!wait_readable(socket_.get(), limit_ns)) return {};
  std::array<char, 65536> record;
  const ssize_t n = ::recv(socket_.get(), record.data(), record.size(), 0);
  if (n <= 0) return {};
  const std::string text(record.data(), static_cast<std::size_t>(n));
  read_ += text + '\n';
  return text;
}

const std::string& FakeJournal::all() {
  while (!next(0).empty()) {
  }
  return read_;
}

}  // namespace hb::test
