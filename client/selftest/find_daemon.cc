// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "find_daemon.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "lab.h"

namespace hb::selftest {

std::string own_program() {
  std::error_code error;
  const std::filesystem::path file = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "/proc/self/exe" : file.string();
}

std::vector<std::string> daemon_places(const std::string& program, const char* path) {
  const std::filesystem::path folder = std::filesystem::path(program).parent_path();
  std::vector<std::string> out;
  for (const char* place :
       {"hipbrokerd", "../sbin/hipbrokerd", "../libexec/hipbroker/hipbrokerd", "../../daemon/hipbrokerd"})
    out.push_back((folder / place).lexically_normal());
  const std::string search = path != nullptr ? path : "";
  for (std::size_t start = 0; start < search.size();) {
    const std::size_t stop = std::min(search.find(':', start), search.size());
    const std::string one = search.substr(start, stop - start);
    if (one.starts_with('/')) out.push_back(one + "/hipbrokerd");
    start = stop + 1;
  }
  return out;
}

std::string find_daemon() {
  std::string looked;
  for (const std::string& place : daemon_places(own_program(), std::getenv("PATH"))) {
    if (::access(place.c_str(), X_OK) == 0) return place;
    looked += (looked.empty() ? "" : ", ") + place;
  }
  throw Failed("no hipbrokerd at " + looked + "; name the socket of a running one by --socket");
}

}  // namespace hb::selftest
