// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// How long it takes from a name to bytes the GPU reads, against the least that anybody pays: the descriptor
// out of a process that has nothing else to do, and libcuda's five calls.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "gpu/gpu_actor.h"
#include "gpu/gpu_fixture.h"
#include "gpu/shim/cuda_api.h"
#include "wire/packet_socket.h"

namespace hb::test {
namespace {

constexpr int kLentFd = 4;

struct RawCuda {
  using Device = cuda::Device;
  using DevicePtr = cuda::DevicePtr;
  using MemHandle = cuda::MemHandle;
  using AccessDesc = cuda::AccessDesc;
  using HandleType = cuda::HandleType;
#define HB_RAW_CALLS(F)                                                                         \
  F(cuMemAddressReserve, (DevicePtr*, std::size_t, std::size_t, DevicePtr, unsigned long long)) \
  F(cuMemAddressFree, (DevicePtr, std::size_t))                                                 \
  F(cuMemImportFromShareableHandle, (MemHandle*, void*, HandleType))                            \
  F(cuMemMap, (DevicePtr, std::size_t, std::size_t, MemHandle, unsigned long long))             \
  F(cuMemSetAccess, (DevicePtr, std::size_t, const AccessDesc*, std::size_t))                   \
  F(cuMemUnmap, (DevicePtr, std::size_t))                                                       \
  F(cuMemRelease, (MemHandle))
#define HB_RAW_MEMBER(name, parameters) cuda::Result(*name) parameters = nullptr;
  HB_RAW_CALLS(HB_RAW_MEMBER)
#undef HB_RAW_MEMBER

  RawCuda() {
    void* library = ::dlopen(std::getenv("HIP_SHIM_LIBCUDA"), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(::dlerror());
#define HB_RAW_FIND(name, parameters) name = reinterpret_cast<decltype(name)>(::dlsym(library, #name));
    HB_RAW_CALLS(HB_RAW_FIND)
#undef HB_RAW_FIND
  }
};

struct Series {
  std::vector<std::uint64_t> attach;
  std::vector<std::uint64_t> detach;
};
std::uint64_t median(std::vector<std::uint64_t> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

void sample_broker(hb_client* client, const std::string& name, Series& series) {
  hb_import_options options = HB_IMPORT_OPTIONS_INIT;
  options.name = name.c_str();
  options.access = HB_ACCESS_READ_WRITE;
  hb_import* import = nullptr;
  hb_error error = HB_ERROR_INIT;
  const std::uint64_t start = now_ns();
  if (hb_import_open(client, &options, &import, &error) != HB_OK) throw std::runtime_error(error.message);
  const std::uint64_t there = now_ns();
  hb_import_close(import);
  series.attach.push_back(there - start);
  series.detach.push_back(now_ns() - there);
}

UniqueFd ask_for_descriptor(int socket) {
  std::byte byte{};
  if (::send(socket, &byte, 1, 0) != 1 || !wait_readable(socket)) throw std::runtime_error("no descriptor");
  auto received = receive_packet(socket, {&byte, 1});
  if (!received || received->fds.size() != 1) throw std::runtime_error("no descriptor");
  return std::move(received->fds[0]);
}

void sample_raw(const RawCuda& cu, int socket, std::size_t bytes, Series& series) {
  const auto ok = [](cuda::Result result) {
    if (result != cuda::kSuccess) throw std::runtime_error("raw call: CUDA error " + std::to_string(result));
  };
  cuda::MemHandle handle = 0;
  cuda::DevicePtr at = 0;
  const cuda::AccessDesc access{{cuda::kLocationDevice, 0}, cuda::kProtReadWrite};
  const std::uint64_t start = now_ns();
  UniqueFd fd = ask_for_descriptor(socket);
  ok(cu.cuMemImportFromShareableHandle(
      &handle, reinterpret_cast<void*>(static_cast<std::uintptr_t>(fd.get())), cuda::kHandleFd));
  fd.reset();
  ok(cu.cuMemAddressReserve(&at, bytes, 0, 0, 0));
  ok(cu.cuMemMap(at, bytes, 0, handle, 0));
  ok(cu.cuMemSetAccess(at, bytes, &access, 1));
  const std::uint64_t there = now_ns();
  ok(cu.cuMemUnmap(at, bytes));
  ok(cu.cuMemAddressFree(at, bytes));
  ok(cu.cuMemRelease(handle));
  series.attach.push_back(there - start);
  series.detach.push_back(now_ns() - there);
}

}  // namespace

// Sends descriptor 4 for each byte it is asked with.
HB_ROLE(gpu_lender) {
  const UniqueFd lent(kLentFd);
  char byte = 0;
  while (::recv(kChannelFd, &byte, 1, 0) == 1) {
    const int fd = lent.get();
    const std::byte answer{};
    if (!send_packet(kChannelFd, {&answer, 1}, {}, {&fd, 1})) return 1;
  }
  std::_Exit(0);  // started with descriptors that are not there at the end
}

Message bench_attach(ActorState& state, const Message& m) {
  const std::string name = text_of(m, "name");
  hb_client* client = state.client(m);
  const RawCuda cu;
  hb_import_options options = HB_IMPORT_OPTIONS_INIT;
  options.name = name.c_str();
  options.access = HB_ACCESS_READ_WRITE;
  hb_handles* handles = nullptr;
  hb_error error = HB_ERROR_INIT;
  if (hb_handles_acquire(client, &options, &handles, &error) != HB_OK)
    throw std::runtime_error(error.message);
  auto [mine, theirs] = channel_pair();
  Process lender({own_program(), "--role=gpu_lender"}, {},
                 {{theirs.get(), kChannelFd}, {hb_handles_fd(handles, 0), kLentFd}});
  theirs.reset();
  Series broker;
  Series raw;
  for (std::uint64_t i = 0; i < number_of(m, "samples"); ++i) {  // in turn: a slow spell hits both
    sample_broker(client, name, broker);
    sample_raw(cu, mine.get(), number_of(m, "bytes"), raw);
  }
  mine.reset();
  lender.wait();
  hb_handles_release(handles);
  return {{"status", HB_OK},
          {"broker_attach", median(broker.attach)},
          {"broker_detach", median(broker.detach)},
          {"raw_attach", median(raw.attach)},
          {"raw_detach", median(raw.detach)}};
}

namespace {

std::string microseconds(std::uint64_t ns) { return std::to_string((ns + 500) / 1000) + " us"; }
std::string ratio(std::uint64_t a, std::uint64_t b) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f",
                static_cast<double>(a) / static_cast<double>(std::max<std::uint64_t>(b, 1)));
  return text;
}

class GpuBench : public GpuTest {};
// By value, and descriptors as NVIDIA's where there is a choice.
std::vector<GpuCase> one_case() { return {few_gpu_cases().back()}; }
HB_GPU_CASES(GpuBench, one_case);

// HB_GPU_BENCH_MIB="2 1024 65536", HB_GPU_BENCH_SAMPLES: what is measured. Asserts nothing about time.
TEST_P(GpuBench, AttachAgainstTheRawCalls) {
  const char* wanted = std::getenv("HB_GPU_BENCH_MIB");
  const char* most = std::getenv("HB_GPU_BENCH_SAMPLES");
  const std::uint64_t samples = most == nullptr ? 5 : std::strtoull(most, nullptr, 10);
  std::istringstream sizes(wanted == nullptr ? "2 64" : wanted);
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  for (std::uint64_t mib = 0; sizes >> mib;) {
    const std::uint64_t bytes = mib << 20;
    const std::string what = "BENCH attach " + std::to_string(mib) + " MiB: ";
    if (const std::uint64_t left = free_bytes(producer); left < bytes + kGiB) {
      std::printf("%snot measured, the GPU has %llu MiB free\n", what.c_str(),
                  static_cast<unsigned long long>(left >> 20));
      continue;
    }
    producer.ok("alloc", {{"provider", HB_PROVIDER_HIP}, {"bytes", bytes}});
    producer.ok("export", {{"mem", "m"}, {"name", "bench"}});
    // Large ones take long.
    const std::uint64_t count = std::max<std::uint64_t>(5, mib >= 16'384 ? samples / 10 : samples);
    const Answer took =
        consumer.ok("bench_attach", {{"name", "bench"}, {"bytes", bytes}, {"samples", count}});
    const std::uint64_t ours = took.number("broker_attach");
    const std::uint64_t raw = took.number("raw_attach");
    std::printf("%sbroker %s, raw %s, ratio %s; detach broker %s, raw %s (medians of %llu)\n", what.c_str(),
                microseconds(ours).c_str(), microseconds(raw).c_str(), ratio(ours, raw).c_str(),
                microseconds(took.number("broker_detach")).c_str(),
                microseconds(took.number("raw_detach")).c_str(), static_cast<unsigned long long>(count));
    producer.ok("withdraw");
    producer.ok("destroy");
    producer.ok("free");
  }
  consumer.leave();
  producer.leave();
}

}  // namespace
}  // namespace hb::test
