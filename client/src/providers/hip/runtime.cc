// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/runtime.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "per_process.h"
#include "providers/hip/loaded_objects.h"
#include "providers/hip/quirks.h"

namespace hb::client::hip {
namespace {

constexpr const char* kOverride = "HIPBROKER_HIP_RUNTIME";

std::vector<LoadedObject> loaded_runtimes() {
  return objects_defining({"hipMemCreate", "hipRuntimeGetVersion"});
}

std::string shown(const LoadedObject& object) {
  return object.path.empty() ? "the program itself" : object.path;
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat first {};
  struct stat second {};
  if (::stat(a.c_str(), &first) != 0 || ::stat(b.c_str(), &second) != 0) return a == b;
  return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

tl::unexpected<Error> refuse_two(const std::string& first, const std::string& second) {
  return fail(HB_UNSUPPORTED,
              "two HIP runtimes are loaded in this process, " + first + " and " + second +
                  "; memory of one is unknown to the other. Load one only: the framework's own, if it brings "
                  "one (LD_LIBRARY_PATH, or import the framework first)");
}

// Without RTLD_GLOBAL: the program's symbol search stays as it is.
void* open_library(const char* name, std::string& error) {
  void* library = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    const char* text = ::dlerror();
    error = text != nullptr ? text : "dlopen failed";
  }
  return library;
}

Result<void*> open_runtime(const char* override_path) {
  std::string first_error;
  if (override_path != nullptr) {
    void* library = open_library(override_path, first_error);
    if (library != nullptr) return library;
    return fail(HB_UNSUPPORTED,
                std::string(kOverride) + " is " + override_path + ", which cannot be loaded: " + first_error);
  }
  // .so.5 only so that its version can be told: it is too old by any count.
  for (const char* name : {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"}) {
    std::string error;
    if (void* library = open_library(name, error)) return library;
    // A library that is there and does not load says more than one that is not.
    if (first_error.empty() || error.find("cannot open shared object file") == std::string::npos)
      first_error = error;
  }
  return fail(HB_UNSUPPORTED,
              "no HIP runtime: none is loaded in this process, and neither libamdhip64.so.7 "
              "nor .so.6 can be (" +
                  first_error +
                  "). Install ROCm 6.2 or newer, or name the "
                  "file in " +
                  kOverride);
}

}  // namespace

std::string version_text(int version) {
  return std::to_string(version / 10'000'000) + "." + std::to_string(version / 100'000 % 100) + "." +
         std::to_string(version % 100'000);
}

std::string Runtime::name() const { return "HIP " + version_text(version_) + " (" + path_ + ")"; }

Result<void> Runtime::fill(void* library) {
  std::string missing;
  std::size_t missing_count = 0;
  const auto find = [library](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, symbol));
    return function != nullptr;
  };
  const auto need = [&](bool found, const char* symbol) {
    if (found) return;
    missing += (missing_count++ == 0 ? "" : ", ") + std::string(symbol);
  };
#define HB_HIP_NEED(function, parameters) need(find(hip_.function, #function), #function);
  HB_HIP_REQUIRED(HB_HIP_NEED)
#undef HB_HIP_NEED
#define HB_HIP_TAKE(function, parameters) find(hip_.function, #function);
  HB_HIP_OPTIONAL(HB_HIP_TAKE)
#undef HB_HIP_TAKE
  find(hip_.hipGetErrorName, "hipGetErrorName");

  if (hip_.hipRuntimeGetVersion != nullptr) {
    if (const HipError code = hip_.hipRuntimeGetVersion(&version_); code != kSuccess)
      return fail(HB_UNSUPPORTED, path_ + ": hipRuntimeGetVersion failed with HIP error " +
                                      std::to_string(code) + ": no AMD GPU or driver for this runtime");
    // Symbols prove nothing: libamdhip64.so.5 has them all, and most do nothing.
    if (const KnownBad* bad = known_bad(version_); bad != nullptr)
      return fail(HB_UNSUPPORTED, name() + " cannot share memory: " + bad->reason);
  }
  if (missing_count != 0)
    return fail(HB_UNSUPPORTED, path_ + " is no usable HIP runtime; it lacks " + missing);
  return {};
}

void Runtime::fill_hsa() {
  const std::vector<LoadedObject> found = objects_defining({"hsa_init", "hsa_amd_pointer_info"});
  if (found.size() != 1) return;  // none; or two, and nothing tells which one HIP uses
  void* library = ::dlopen(found[0].path.empty() ? nullptr : found[0].path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  const auto find = [library](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, symbol));
  };
  find(hsa_.hsa_amd_pointer_info, "hsa_amd_pointer_info");
  find(hsa_.hsa_amd_portable_export_dmabuf, "hsa_amd_portable_export_dmabuf");
  find(hsa_.hsa_amd_portable_close_dmabuf, "hsa_amd_portable_close_dmabuf");
  hsa_path_ = found[0].path;
  hsa_build_id_ = found[0].build_id;
}

bool Runtime::is_loaded() { return !loaded_runtimes().empty(); }

Result<std::shared_ptr<const Runtime>> Runtime::load(bool may_load, Seen* seen, bool& called) {
  const char* override_path = ::secure_getenv(kOverride);
  if (override_path != nullptr && *override_path == '\0') override_path = nullptr;
  std::vector<LoadedObject> found = loaded_runtimes();
  const bool other =
      found.size() == 1 && override_path != nullptr && !same_file(found[0].path, override_path);
  if (seen != nullptr) seen->copies = static_cast<int>(found.size()) + (other ? 1 : 0);
  if (found.size() > 1) return refuse_two(shown(found[0]), shown(found[1]));
  if (other) return refuse_two(shown(found[0]), std::string(override_path) + " (" + kOverride + ")");

  void* library = nullptr;
  if (found.size() == 1) {
    // One more reference, never given back, to what is there; no file is read.
    library = ::dlopen(found[0].path.empty() ? nullptr : found[0].path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  }
  if (library == nullptr && !may_load) return fail(HB_NOT_FOUND, "no HIP runtime is loaded in this process");
  if (library == nullptr) {
    auto opened = open_runtime(override_path);
    if (!opened) return tl::unexpected(std::move(opened.error()));
    library = *opened;
    found = loaded_runtimes();
    if (found.size() != 1)
      return fail(HB_UNSUPPORTED, std::string(override_path != nullptr ? override_path : "libamdhip64") +
                                      " is no HIP runtime with virtual memory management: hipMemCreate or "
                                      "hipRuntimeGetVersion is missing");
  }
  auto runtime = std::make_shared<Runtime>();
  runtime->path_ = shown(found[0]);
  runtime->build_id_ = found[0].build_id;
  called = true;
  auto filled = runtime->fill(library);
  if (seen != nullptr) *seen = {runtime->path_, runtime->version_, 1};
  if (!filled) return tl::unexpected(std::move(filled.error()));
  runtime->fill_hsa();
  return runtime;
}

namespace {

struct Known {
  std::mutex mutex;
  std::shared_ptr<const Runtime> runtime;
  unsigned long long additions = 0;
  // The runtime has been called in this process, or is being looked for just now.
  std::atomic<bool> started{false};
};
constinit PerProcess<Known> g_known;

}  // namespace

Result<std::shared_ptr<const Runtime>> Runtime::get(Seen* seen) { return get(true, seen); }
Result<std::shared_ptr<const Runtime>> Runtime::get_loaded() { return get(false, nullptr); }

Result<std::shared_ptr<const Runtime>> Runtime::get(bool may_load, Seen* seen) {
  // Before any lock of ours or the runtime's: a thread that this process does not have may hold them all.
  if (g_known.inherited([](const Known& known) { return known.started.load(std::memory_order_relaxed); }))
    return fail(HB_FORKED,
                "HIP was started in the process that this one was forked from, and works in none of its "
                "children: exec a program, or fork before the first use of GPU memory");
  Known& known = g_known.get();
  const std::lock_guard guard(known.mutex);
  const unsigned long long additions = loader_additions();
  if (known.runtime != nullptr) {
    if (known.additions == additions) return known.runtime;
    const std::vector<LoadedObject> found = loaded_runtimes();
    if (seen != nullptr) seen->copies = static_cast<int>(found.size());
    if (found.size() > 1) return refuse_two(shown(found[0]), shown(found[1]));
    known.additions = additions;
    return known.runtime;
  }
  // While it lasts a forked child must not try the same: the loader's lock is held.
  known.started = true;
  bool called = false;
  auto loaded = load(may_load, seen, called);
  known.started = called;
  if (!loaded) return loaded;
  known.runtime = *loaded;
  known.additions = loader_additions();
  return loaded;
}

}  // namespace hb::client::hip
