// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "hip_child.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "wire/unique_fd.h"

#if defined(__SANITIZE_THREAD__)
// Each body is a process of its own, and ThreadSanitizer would sleep a second at the exit of each.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_options() {
  return "atexit_sleep_ms=0";
}
#endif

namespace hb::test {

void* Hip::symbol(const char* name) const { return ::dlsym(library, name); }

Hip Hip::load() {
  const char* version = std::getenv("FAKE_HIP_VERSION");
  const bool six = version != nullptr && version[0] == '6';
  std::string path = six ? FAKE_HIP_PATH_6 : FAKE_HIP_PATH_7;
  if (const char* elsewhere = std::getenv("HB_FAKE_HIP_DIR"); elsewhere != nullptr)
    path = elsewhere + path.substr(path.rfind('/'));
  Hip hip;
  hip.library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (hip.library == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    std::abort();
  }
#define HIP_LOAD(name, result, parameters)                              \
  hip.name = reinterpret_cast<result(*) parameters>(hip.symbol(#name)); \
  if (hip.name == nullptr) std::abort();
  HIP_FUNCTIONS(HIP_LOAD)
#undef HIP_LOAD
  hip.fd_by_pointer = six || (version != nullptr && std::strcmp(version, "7.0") == 0);
  return hip;
}

fh::AllocationProp fd_prop(int device, int handle_type) {
  fh::AllocationProp prop{};
  prop.type = fh::kTypePinned;
  prop.requested_handle_type = handle_type;
  prop.location = {fh::kLocationDevice, device};
  return prop;
}

void* Hip::create(std::size_t size, int handle_type, int device) const {
  void* handle = nullptr;
  const fh::AllocationProp prop = fd_prop(device, handle_type);
  EXPECT_EQ(hipMemCreate(&handle, size, &prop, 0), fh::kSuccess);
  return handle;
}

int Hip::export_fd(void* handle) const {
  int fd = -1;
  EXPECT_EQ(hipMemExportToShareableHandle(&fd, handle, fh::kHandleFd, 0), fh::kSuccess);
  return fd;
}

HipError Hip::import_fd(void** handle, int fd) const {
  void* os_handle =
      fd_by_pointer ? static_cast<void*>(&fd) : reinterpret_cast<void*>(static_cast<std::uintptr_t>(fd));
  return hipMemImportFromShareableHandle(handle, os_handle, fh::kHandleFd);
}

char* Hip::reserve(std::size_t size) const {
  void* at = nullptr;
  EXPECT_EQ(hipMemAddressReserve(&at, size, 0, nullptr, 0), fh::kSuccess);
  return static_cast<char*>(at);
}

HipError Hip::grant(void* at, std::size_t size, std::initializer_list<fh::AccessDesc> list) const {
  return hipMemSetAccess(at, size, list.begin(), list.size());
}

void Hip::tear_down(void* at, std::size_t size, void* handle) const {
  EXPECT_EQ(hipMemUnmap(at, size), fh::kSuccess);
  EXPECT_EQ(hipMemAddressFree(at, size), fh::kSuccess);
  EXPECT_EQ(hipMemRelease(handle), fh::kSuccess);
}

bool cpu_reads(const void* at) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
  const UniqueFd in(ends[0]);
  const UniqueFd out(ends[1]);
  return ::write(out.get(), at, 1) == 1;
}

ChildResult run_child(const Env& env, const std::function<void(const Hip&)>& body) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
  UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) std::abort();
  if (child == 0) {
    ::dup2(out.get(), STDERR_FILENO);
    in.reset();
    out.reset();
    for (const char* name : {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"})
      ::unsetenv(name);
    ::setenv("FAKE_HIP_STATE", ("unit" + std::to_string(::getppid())).c_str(), 1);
    for (const auto& [name, value] : env) ::setenv(name.c_str(), value.c_str(), 1);
    body(Hip::load());
    std::fflush(nullptr);
    std::exit(testing::Test::HasFailure() ? 1 : 0);
  }
  out.reset();
  ChildResult result;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(in.get(), buffer, sizeof buffer)) > 0;)
    result.errors.append(buffer, static_cast<std::size_t>(n));
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

void expect_clean(const Env& env, const std::function<void(const Hip&)>& body) {
  const ChildResult result = run_child(env, body);
  EXPECT_EQ(result.exit_code, 0) << "signal " << result.signal << "\n" << result.errors;
}

void expect_abort(const Env& env, const std::function<void(const Hip&)>& body) {
  const ChildResult result = run_child(env, body);
  EXPECT_EQ(result.signal, SIGABRT) << result.exit_code << "\n" << result.errors;
  EXPECT_NE(result.errors.find("the real runtime crashes here"), std::string::npos) << result.errors;
}

void expect_complaint(const Env& env, const std::string& words, const std::function<void(const Hip&)>& body) {
  const ChildResult result = run_child(env, body);
  EXPECT_EQ(result.exit_code, fh::kComplaintExit) << "signal " << result.signal << "\n" << result.errors;
  EXPECT_NE(result.errors.find(words), std::string::npos) << result.errors;
}

}  // namespace hb::test
