// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The other process: an actor that has loaded the shim, as a program that uses GPUs has its runtime.
#include "gpu/gpu_actor.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "support/fd_census.h"

namespace hb::test {

namespace fh = hb::fakehip;

const HipCalls& hip() {
  static const HipCalls loaded = [] {
    const char* path = std::getenv("HB_GPU_SHIM");
    void* library = path == nullptr ? nullptr : ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(::dlerror());
    HipCalls out;
#define HB_FIND(name, parameters)                                           \
  out.name = reinterpret_cast<decltype(out.name)>(::dlsym(library, #name)); \
  if (out.name == nullptr) throw std::runtime_error(std::string(path) + " has no " + #name);
    HB_GPU_CALLS(HB_FIND)
#undef HB_FIND
    out.hipGetErrorName =
        reinterpret_cast<decltype(out.hipGetErrorName)>(::dlsym(library, "hipGetErrorName"));
    return out;
  }();
  return loaded;
}

void must(int code, const char* call) {
  if (code != fh::kSuccess)
    throw std::runtime_error(std::string(call) + ": " + hip().hipGetErrorName(code) + " (" +
                             std::to_string(code) + ")");
}

namespace {

// On the device named by `on`; the caller's current one is kept.
class OnDevice {
 public:
  explicit OnDevice(const Message& m) {
    must(hip().hipGetDevice(&before_), "hipGetDevice");
    must(hip().hipSetDevice(static_cast<int>(number_of(m, "on"))), "hipSetDevice");
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() { static_cast<void>(hip().hipSetDevice(before_)); }

 private:
  int before_ = 0;
};

std::vector<std::uint64_t> words_of(const Message& m, std::uint64_t at, std::uint64_t bytes) {
  std::vector<std::uint64_t> words(bytes / 8);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = fill_word(number_of(m, "seed"), at + i * 8);
  return words;
}

// gpu_fill|gpu_check mem=|import= seed= [on=DEVICE] [at=] [stride=]: every byte, or eight at each stride.
// A check first copies on the device into memory of that device: it is the device's view that is compared.
Message each(ActorState& state, const Message& m, bool check) {
  const Bytes bytes = bytes_of(state, m);
  const OnDevice here(m);
  constexpr std::uint64_t kPiece = 64u << 20;
  const std::uint64_t stride = number_of(m, "stride", std::min(bytes.size, kPiece));
  void* staging = nullptr;
  if (check) must(hip().hipMalloc(&staging, has(m, "stride") ? 8 : stride), "hipMalloc");
  std::uint64_t wrong = 0;
  std::uint64_t first = 0;
  for (std::uint64_t start = 0; start < bytes.size; start += stride) {
    const std::uint64_t count =
        has(m, "stride") ? 8 : std::min<std::uint64_t>(stride, bytes.size - start) & ~7ULL;
    const auto wanted = words_of(m, number_of(m, "at") + start, count);
    if (!check) {
      must(hip().hipMemcpy(bytes.at + start, wanted.data(), count, fh::kCopyHostToDevice), "hipMemcpy");
      continue;
    }
    std::vector<std::uint64_t> words(wanted.size());
    must(hip().hipMemcpy(staging, bytes.at + start, count, fh::kCopyDeviceToDevice), "hipMemcpy");
    must(hip().hipMemcpy(words.data(), staging, count, fh::kCopyDeviceToHost), "hipMemcpy");
    for (std::size_t i = 0; i < words.size(); ++i)
      if (words[i] != wanted[i] && wrong++ == 0) first = start + i * 8;
  }
  if (check) must(hip().hipFree(staging), "hipFree");
  if (wrong == 0) return {{"status", HB_OK}};
  return {{"status", 1},
          {"message", std::to_string(wrong) + " words are wrong, the first at " + std::to_string(first)}};
}
Message gpu_fill(ActorState& state, const Message& m) { return each(state, m, false); }
Message gpu_check(ActorState& state, const Message& m) { return each(state, m, true); }

// gpu_memory [on=DEVICE]
Message gpu_memory(ActorState&, const Message& m) {
  const OnDevice here(m);
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  must(hip().hipMemGetInfo(&free_bytes, &total), "hipMemGetInfo");
  return {{"status", HB_OK}, {"free", free_bytes}, {"total", total}};
}

// What a guest must leave as it found it: descriptors, current device, pending error.
Message gpu_state(ActorState&, const Message&) {
  int device = -1;
  must(hip().hipGetDevice(&device), "hipGetDevice");
  const std::string state = std::to_string(count_fds()) + " descriptors, device " + std::to_string(device) +
                            ", error " + std::to_string(hip().hipPeekAtLastError());
  return {{"status", HB_OK}, {"state", state}, {"fds", count_fds()}};
}

// cpu_reads mem=|import=: whether the CPU may, asked so that a no is an answer
Message cpu_reads(ActorState& state, const Message& m) {
  auto [mine, theirs] = channel_pair();
  const ssize_t n = ::write(mine.get(), bytes_of(state, m).at, 1);
  return {{"status", HB_OK}, {"reads", n == 1}};
}

// probe [device=]
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
  const auto verdict = [&out](const std::string& name, const hb_verdict& one) {
    out.emplace(name, one.answer);
    out.emplace(name + "_reason", one.reason);
  };
  verdict("export", report.can_export);
  verdict("import", report.can_import);
  verdict("host_on_own", report.host_on_own);
  verdict("host_on_import", report.host_on_import);
  verdict("query_safe", report.query_safe);
  describe_device(report.device, out);
  return out;
}

// In the form of the shim's version. A driver that refuses its own process is none of the tests' business.
void import_once(const UniqueFd& exported) {
  const std::string version = std::getenv("HIP_SHIM_VERSION");
  int number = exported.get();
  void* const by_value = reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));
  void* handle = nullptr;
  if (hip().hipMemImportFromShareableHandle(&handle, version < "7.1" ? &number : by_value, fh::kHandleFd) ==
      fh::kSuccess)
    must(hip().hipMemRelease(handle), "hipMemRelease");
}

// Everything once on every device, so that what the driver opens for good is open.
void warm_up(std::size_t handles) {
  int count = 0;
  must(hip().hipGetDeviceCount(&count), "hipGetDeviceCount");
  std::vector<char> bytes(4096);
  for (int device = count - 1; device >= 0; --device) {
    must(hip().hipSetDevice(device), "hipSetDevice");
    fh::AllocationProp prop{};
    prop.type = fh::kTypePinned;
    prop.requested_handle_type = fh::kHandleFd;
    prop.location = {fh::kLocationDevice, device};
    constexpr std::size_t kBytes = 2u << 20;
    std::vector<void*> all(handles);
    for (void*& one : all) must(hip().hipMemCreate(&one, kBytes, &prop, 0), "hipMemCreate");
    int number = -1;
    must(hip().hipMemExportToShareableHandle(&number, all[0], fh::kHandleFd, 0), "export");
    const UniqueFd exported(number);
    import_once(exported);
    void* at = nullptr;
    must(hip().hipMemAddressReserve(&at, kBytes, 0, nullptr, 0), "hipMemAddressReserve");
    must(hip().hipMemMap(at, kBytes, 0, all[0], 0), "hipMemMap");
    std::vector<fh::AccessDesc> access;
    for (int other = 0; other < count; ++other)
      access.push_back({{fh::kLocationDevice, other}, fh::kProtReadWrite});
    // GPUs that do not reach each other are none of these tests' business.
    if (hip().hipMemSetAccess(at, kBytes, access.data(), access.size()) != fh::kSuccess)
      must(hip().hipMemSetAccess(at, kBytes, &access[static_cast<std::size_t>(device)], 1),
           "hipMemSetAccess");
    void* plain = nullptr;
    must(hip().hipMalloc(&plain, kBytes), "hipMalloc");
    must(hip().hipMemcpy(at, bytes.data(), bytes.size(), fh::kCopyHostToDevice), "hipMemcpy");
    must(hip().hipMemcpy(plain, at, bytes.size(), fh::kCopyDeviceToDevice), "hipMemcpy");
    must(hip().hipMemcpy(bytes.data(), plain, bytes.size(), fh::kCopyDeviceToHost), "hipMemcpy");
    must(hip().hipFree(plain), "hipFree");
    must(hip().hipMemUnmap(at, kBytes), "hipMemUnmap");
    must(hip().hipMemAddressFree(at, kBytes), "hipMemAddressFree");
    for (void* one : all) must(hip().hipMemRelease(one), "hipMemRelease");
  }
  static_cast<void>(hip().hipGetLastError());
}

// What is open, whatever its number: a driver may close and open its own.
std::vector<std::string> targets() {
  std::vector<std::string> out;
  for (const std::string& fd : open_fds()) out.push_back(fd.substr(fd.find(" -> ") + 4));
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

// Its census begins after the warm-up. HB_GPU_WARM: handles made then; 0 leaves the GPU alone.
HB_ROLE(cuda_actor) {
  const char* warm = std::getenv("HB_GPU_WARM");
  const std::size_t handles = warm == nullptr ? 1 : std::strtoul(warm, nullptr, 10);
  static_cast<void>(hip());
  if (handles != 0) warm_up(handles);
  const std::vector<std::string> before = targets();
  const int status = run_actor({{"gpu_fill", gpu_fill},
                                {"gpu_check", gpu_check},
                                {"gpu_memory", gpu_memory},
                                {"gpu_state", gpu_state},
                                {"cpu_reads", cpu_reads},
                                {"probe", probe},
                                {"bench_attach", bench_attach},
                                {"framework_share", framework_share},
                                {"framework_free", framework_free},
                                {"shim_calls", shim_calls}});
  const std::vector<std::string> after = targets();
  if (before == after || handles == 0) std::_Exit(status);
  std::fprintf(stderr, "descriptor census of the GPU actor:%s\n", fd_difference(before, after).c_str());
  if (before.size() != after.size())
    std::fprintf(stderr, "  %zu were open, %zu are\n", before.size(), after.size());
  std::_Exit(kRoleLeaked);
}

}  // namespace hb::test
