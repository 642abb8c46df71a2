// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "support/fd_census.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace hb::test {

std::vector<std::string> open_fds(int pid) {
  const std::string dir = "/proc/" + (pid == 0 ? std::string("self") : std::to_string(pid)) + "/fd";
  std::vector<std::string> out;
  DIR* d = ::opendir(dir.c_str());
  if (d == nullptr) return out;
  const int own = pid == 0 ? ::dirfd(d) : -1;
  while (const dirent* e = ::readdir(d)) {
    if (e->d_name[0] == '.' || std::atoi(e->d_name) == own) continue;
    char target[256];
    const ssize_t n = ::readlink((dir + "/" + e->d_name).c_str(), target, sizeof target);
    if (n < 0) continue;
    out.push_back(std::string(e->d_name) + " -> " + std::string(target, static_cast<std::size_t>(n)));
  }
  ::closedir(d);
  std::sort(out.begin(), out.end());
  return out;
}

std::size_t count_fds(int pid) { return open_fds(pid).size(); }

std::string fd_difference(const std::vector<std::string>& before, const std::vector<std::string>& after) {
  std::vector<std::string> more;
  std::vector<std::string> less;
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(), std::back_inserter(more));
  std::set_difference(before.begin(), before.end(), after.begin(), after.end(), std::back_inserter(less));
  std::string difference;
  for (const std::string& fd : more) difference += "\n  left open: " + fd;
  for (const std::string& fd : less) difference += "\n  gone: " + fd;
  return difference;
}

void FdCensus::OnTestStart(const testing::TestInfo&) { before_ = open_fds(); }

void FdCensus::OnTestEnd(const testing::TestInfo& info) {
  const std::string difference = fd_difference(before_, open_fds());
  if (!difference.empty())
    ADD_FAILURE() << "descriptor census of " << info.test_suite_name() << "." << info.name() << ":"
                  << difference;
}

}  // namespace hb::test
