// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/helper_path.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace hb::client::hip {
namespace {

constexpr const char* kOverride = "HIPBROKER_PROBE_HELPER";

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// The file this code was loaded from; empty where the loader only knows a relative name: what that means now
// is up to whoever chose the current directory.
std::string own_file() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&own_file), &info) == 0 || info.dli_fname == nullptr ||
      *info.dli_fname != '/')
    return {};
  return info.dli_fname;
}

// Why it cannot be run; 0: it can.
int refusal(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return errno;
  if (!S_ISREG(st.st_mode)) return EISDIR;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

}  // namespace

std::vector<std::string> helper_places_beside(const std::string& library) {
  std::vector<std::string> out;
  const auto add = [&out](const std::string& path) {
    if (std::find(out.begin(), out.end(), path) == out.end()) out.push_back(path);
  };
  const auto add_of = [&add](const std::string& file) {
    add(folder_of(file) + "/" HIPBROKER_LIB_TO_PROBE);
    add(folder_of(file) + "/hipbroker-probe");  // a build tree
  };
  if (!library.empty()) {
    add_of(library);
    // Through a link to the library its own tree is meant as well.
    if (char* real = ::realpath(library.c_str(), nullptr); real != nullptr) {
      add_of(real);
      std::free(real);
    }
  }
  add(HIPBROKER_PROBE_HELPER);
  return out;
}

std::vector<std::string> helper_places() {
  if (const char* path = ::secure_getenv(kOverride); path != nullptr && *path != '\0') return {path};
  return helper_places_beside(own_file());
}

Result<std::string> find_helper() {
  const std::vector<std::string> places = helper_places();
  std::string looked;
  for (const std::string& place : places) {
    const int code = refusal(place);
    if (code == 0) return place;
    looked += (looked.empty() ? "" : ", ") + SysError{place.c_str(), code}.text();
  }
  return fail(HB_UNSUPPORTED, "hipbroker-probe cannot be run: " + looked);
}

}  // namespace hb::client::hip
