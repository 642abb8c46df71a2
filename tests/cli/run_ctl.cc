// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "cli/run_ctl.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

namespace hb::test {
namespace {

std::string all_of(const UniqueFd& file) {
  std::string text;
  char buffer[4096];
  for (off_t at = 0;;) {
    const ssize_t n = ::pread(file.get(), buffer, sizeof buffer, at);
    if (n <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
    at += n;
  }
}

int exit_code(const std::optional<int>& status) {
  return status && WIFEXITED(*status) ? WEXITSTATUS(*status) : -1;
}

std::vector<std::string> with_program(const std::vector<std::string>& arguments) {
  std::vector<std::string> argv{HB_TEST_CTL};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

}  // namespace

Ran run_program(const std::vector<std::string>& argv, const ProcessOptions& options) {
  const UniqueFd out(::memfd_create("stdout", MFD_CLOEXEC));
  const UniqueFd err(::memfd_create("stderr", MFD_CLOEXEC));
  Process process(argv, options, {{out.get(), STDOUT_FILENO}, {err.get(), STDERR_FILENO}});
  const std::optional<int> status = process.wait();
  return {exit_code(status), all_of(out), all_of(err)};
}

Ran run_ctl(const std::vector<std::string>& arguments, const ProcessOptions& options) {
  return run_program(with_program(arguments), options);
}

Ran run_ctl_at_terminal(int columns, const std::vector<std::string>& arguments) {
  int master = -1;
  int slave = -1;
  winsize size{};
  size.ws_col = static_cast<unsigned short>(columns);
  size.ws_row = 24;
  if (::openpty(&master, &slave, nullptr, nullptr, &size) != 0) throw std::runtime_error("openpty");
  const UniqueFd ours(master);
  UniqueFd theirs(slave);
  const UniqueFd err(::memfd_create("stderr", MFD_CLOEXEC));
  Process process(with_program(arguments), {}, {{theirs.get(), STDOUT_FILENO}, {err.get(), STDERR_FILENO}});
  theirs = UniqueFd();
  Ran ran;
  char buffer[4096];
  // A terminal ends in EIO when nobody has its other side open any more.
  for (ssize_t n; wait_readable(ours.get()) && (n = ::read(ours.get(), buffer, sizeof buffer)) > 0;)
    ran.out.append(buffer, static_cast<std::size_t>(n));
  ran.exit_code = exit_code(process.wait());
  ran.err = all_of(err);
  std::erase(ran.out, '\r');
  return ran;
}

}  // namespace hb::test
