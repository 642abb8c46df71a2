// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The other process: an actor that has loaded the fake runtime, as a program that uses GPUs has.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include "integration/hip/gpu_fixture.h"
#include "integration/hip/gpu_verbs.h"
#include "integration/hip/raw_memory.h"
#include "support/fd_census.h"

namespace hb::test {

Hip& hip() {
  static Hip loaded = Hip::load();
  return loaded;
}

HipError copy_on(int device, void* to, const void* from, std::size_t bytes) {
  int before = 0;
  if (const HipError code = hip().hipGetDevice(&before); code != fh::kSuccess) return code;
  if (const HipError code = hip().hipSetDevice(device); code != fh::kSuccess) return code;
  const HipError code = hip().hipMemcpy(to, from, bytes, fh::kCopyDefault);
  static_cast<void>(hip().hipSetDevice(before));
  return code;
}

namespace {

HipError copy(void* to, const void* from, std::size_t bytes, const Message& m) {
  return copy_on(static_cast<int>(number_of(m, "on")), to, from, bytes);
}

std::vector<std::uint64_t> words_of(const Message& m, std::uint64_t at, std::uint64_t bytes) {
  std::vector<std::uint64_t> words(bytes / 8);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = fill_word(number_of(m, "seed"), at + i * 8);
  return words;
}

// gpu_fill|gpu_check mem=|import=|raw= on=DEVICE seed= [offset=] [size=] [at=] [stride=]: every byte, or
// eight at each stride
Message each(ActorState& state, const Message& m, bool check) {
  Bytes bytes = has(m, "raw") ? raw_bytes(m) : bytes_of(state, m);
  bytes.size = number_of(m, "size", bytes.size);
  const std::uint64_t stride = number_of(m, "stride", bytes.size);
  for (std::uint64_t start = 0; start < bytes.size; start += stride) {
    const std::uint64_t count =
        has(m, "stride") ? 8 : std::min<std::uint64_t>(stride, bytes.size - start) & ~7ULL;
    auto wanted = words_of(m, number_of(m, "at") + start, count);
    auto words = check ? std::vector<std::uint64_t>(wanted.size()) : wanted;
    const HipError code = check ? copy(words.data(), bytes.at + start, count, m)
                                : copy(bytes.at + start, words.data(), count, m);
    if (code != fh::kSuccess)
      return {{"status", 1}, {"message", std::string("copy: ") + hip().hipGetErrorName(code)}};
    if (words != wanted) return {{"status", 1}, {"message", "other bytes from " + std::to_string(start)}};
  }
  return {{"status", HB_OK}};
}
Message gpu_fill(ActorState& state, const Message& m) { return each(state, m, false); }
Message gpu_check(ActorState& state, const Message& m) { return each(state, m, true); }

// arm [control=]: how many mappings there are; no driver call goes with it
Message arm(ActorState&, const Message& m) {
  if (has(m, "control") && hip().fake_hip_control(text_of(m, "control").c_str()) != 0)
    return {{"status", 1}, {"message", "not a control: " + text_of(m, "control")}};
  return {{"status", HB_OK}, {"mappings", hip().fake_hip_count("mappings")}};
}

// What is mapped or reserved for a GPU in this process, as the kernel sees it: the fake's memory, and large
// ranges without access, which sanitizers have of their own.
std::size_t gpu_mappings() {
  std::size_t count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long long from = 0;
    unsigned long long to = 0;
    char access[5] = {};
    if (std::sscanf(line.c_str(), "%llx-%llx %4s", &from, &to, access) != 3) continue;
    const bool memory = line.find("fakehip.") != std::string::npos;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    const bool reserved = false;
#else
    const bool reserved =
        std::string(access) == "---p" && to - from >= kGpuChunk && line.find('/') == std::string::npos;
#endif
    count += memory || reserved ? 1 : 0;
  }
  return count;
}

// fake [control=] [line=]: counters of this process and the bytes on a device of the machine. The calls are
// counted before the control takes effect, all else after it.
Message fake(ActorState&, const Message& m) {
  const long long calls = hip().fake_hip_count("calls");
  if (has(m, "control") && hip().fake_hip_control(text_of(m, "control").c_str()) != 0)
    return {{"status", 1}, {"message", "not a control: " + text_of(m, "control")}};
  Message out{{"status", HB_OK}};
  std::string state;
  for (const char* what : {"handles", "imports", "mappings", "reservations", "externals", "violations"}) {
    out.emplace(what, hip().fake_hip_count(what));
    state += std::to_string(hip().fake_hip_count(what)) + " " + what + " ";
  }
  out.emplace("calls", calls);
  out.emplace("reserved", hip().fake_hip_count("reserved"));
  out.emplace("mallocs", hip().fake_hip_count("mallocs"));
  long long exports = 0;
  for (const char* call : {"hipMemExportToShareableHandle", "hipMemRetainAllocationHandle",
                           "hipMemGetHandleForAddressRange", "hsa_amd_portable_export_dmabuf"})
    exports += std::max(0LL, hip().fake_hip_count(("calls:" + std::string(call)).c_str()));
  out.emplace("export_calls", exports);
  out.emplace("null_stream", hip().fake_hip_count("null_stream"));
  out.emplace("bytes", hip().fake_hip_device_bytes(static_cast<int>(number_of(m, "line"))));
  out.emplace("fds", count_fds());
  int device = -1;
  static_cast<void>(hip().hipGetDevice(&device));
  state += std::to_string(gpu_mappings()) + " in the kernel's map ";
  state += std::to_string(count_fds()) + " descriptors, device " + std::to_string(device) + ", error " +
           std::to_string(hip().hipPeekAtLastError());
  out.emplace("state", state);
  return out;
}

// probe device=
Message probe(ActorState&, const Message& m) {
  hb_hip_report report{};
  report.size = sizeof report;
  hb_error error = HB_ERROR_INIT;
  const hb_status status = hb_hip_probe(static_cast<std::int32_t>(number_of(m, "device")), &report, &error);
  Message out = outcome(status, error);
  if (status != HB_OK) return out;
  out.emplace("runtime", report.runtime);
  out.emplace("source", report.source);
  out.emplace("note", report.note);
  out.emplace("export", report.can_export.answer);
  out.emplace("import", report.can_import.answer);
  out.emplace("host_on_own", report.host_on_own.answer);
  out.emplace("host_on_import", report.host_on_import.answer);
  out.emplace("host_on_import_reason", report.host_on_import.reason);
  describe_device(report.device, out);
  return out;
}

}  // namespace

// Its census begins after the runtime has opened what it keeps open; how the process ends is the fake's
// verdict.
HB_ROLE(gpu_actor) {
  // The fake keeps its memory in processes' own threads, a socket for each as many as the limit allows.
  const char* warm = std::getenv("HB_GPU_WARM");
  std::vector<void*> handles(warm == nullptr ? 1 : std::strtoul(warm, nullptr, 10));
  for (void*& handle : handles) handle = hip().create(kChunk);
  static_cast<void>(UniqueFd(hip().export_fd(handles[0])));
  void* plain = nullptr;
  static_cast<void>(hip().hipMalloc(&plain, kChunk));
  static_cast<void>(hip().hipFree(plain));
  for (void* handle : handles) static_cast<void>(hip().hipMemRelease(handle));
  const std::vector<std::string> before = open_fds();
  VerbTable verbs{
      {"gpu_fill", gpu_fill}, {"gpu_check", gpu_check}, {"arm", arm}, {"fake", fake}, {"probe", probe}};
  add_gpu_guest_verbs(verbs);
  add_async_verbs(verbs);
  add_fork_verbs(verbs);
  if (std::getenv("HB_GPU_MEMORY") != nullptr) add_gpu_memory_verbs(verbs);
  add_raw_verbs(verbs);
  add_raw_share_verbs(verbs);
  const int status = run_actor(verbs);
  const std::string difference = fd_difference(before, open_fds());
  if (difference.empty()) std::exit(status);
  std::fprintf(stderr, "descriptor census of the GPU actor:%s\n", difference.c_str());
  std::exit(kRoleLeaked);
}

}  // namespace hb::test
