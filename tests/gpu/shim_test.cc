// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The entry points of the shim that the client asks about memory, errors and streams: they answer as AMD's
// runtime does, whatever libcuda says.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "gpu/gpu_actor.h"
#include "gpu/gpu_fixture.h"

namespace hb::test {
namespace {

namespace fh = hb::fakehip;

#define HB_SHIM_CALLS(F)                                                                  \
  F(hipRuntimeGetVersion, (int*))                                                         \
  F(hipThreadExchangeStreamCaptureMode, (int*))                                           \
  F(hipPointerGetAttributes, (fh::PointerAttributes*, const void*))                       \
  F(hipPointerGetAttribute, (void*, int, void*))                                          \
  F(hipMemGetAddressRange, (void**, std::size_t*, void*))                                 \
  F(hipMemGetAccess, (unsigned long long*, const fh::Location*, void*))                   \
  F(hipMemRetainAllocationHandle, (void**, void*))                                        \
  F(hipMemGetAllocationPropertiesFromHandle, (fh::AllocationProp*, void*))                \
  F(hipMemGetHandleForAddressRange, (void*, void*, std::size_t, int, unsigned long long)) \
  F(hipImportExternalMemory, (void**, const fh::ExternalMemoryHandleDesc*))               \
  F(hipStreamCreateWithFlags, (void**, unsigned))                                         \
  F(hipStreamSynchronize, (void*))                                                        \
  F(hipStreamDestroy, (void*))                                                            \
  F(hipMemcpyAsync, (void*, const void*, std::size_t, int, void*))                        \
  F(hipEventCreateWithFlags, (void**, unsigned))                                          \
  F(hipEventRecord, (void*, void*))                                                       \
  F(hipEventSynchronize, (void*))                                                         \
  F(hipEventQuery, (void*))                                                               \
  F(hipEventDestroy, (void*))

struct Shim {
#define HB_SHIM_MEMBER(name, parameters) int(*name) parameters = nullptr;
  HB_SHIM_CALLS(HB_SHIM_MEMBER)
#undef HB_SHIM_MEMBER
  Shim() {
    void* library = ::dlopen(std::getenv("HB_GPU_SHIM"), RTLD_NOW | RTLD_NOLOAD);
#define HB_SHIM_FIND(name, parameters) name = reinterpret_cast<decltype(name)>(::dlsym(library, #name));
    HB_SHIM_CALLS(HB_SHIM_FIND)
#undef HB_SHIM_FIND
  }
};

// What was not as expected, one after another.
class Unexpected {
 public:
  void equal(const char* what, long long is, long long should) {
    if (is != should)
      text_ +=
          std::string(what) + " is " + std::to_string(is) + ", should be " + std::to_string(should) + "; ";
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

long long number(const void* ptr) { return static_cast<long long>(reinterpret_cast<std::uintptr_t>(ptr)); }

void pointers(const Shim& shim, Unexpected& out, char* at, long long size) {
  fh::PointerAttributes attributes{};
  out.equal("attributes of a mapping", shim.hipPointerGetAttributes(&attributes, at + 4096), 0);
  out.equal("its type", attributes.type, fh::kMemoryDevice);
  out.equal("its device", attributes.device, 0);
  int on_stack = 0;
  out.equal("attributes of the stack", shim.hipPointerGetAttributes(&attributes, &on_stack), 0);
  out.equal("its type", attributes.type, fh::kMemoryUnregistered);
  void* base = nullptr;
  std::size_t bytes = 0;
  out.equal("range of a mapping", shim.hipMemGetAddressRange(&base, &bytes, at + 4096), 0);
  out.equal("its base", number(base), number(at));
  out.equal("its size", static_cast<long long>(bytes), size);
  out.equal("RANGE_SIZE", shim.hipPointerGetAttribute(&bytes, 12, at + 4096), 0);
  out.equal("its size", static_cast<long long>(bytes), size);
  unsigned long long flags = 0;
  const fh::Location here{fh::kLocationDevice, 0};
  const fh::Location host{fh::kLocationHost, 0};
  out.equal("access of the device", shim.hipMemGetAccess(&flags, &here, at), 0);
  out.equal("its flags", static_cast<long long>(flags), fh::kProtReadWrite);
  out.equal("access of the CPU", shim.hipMemGetAccess(&flags, &host, at), fh::kInvalidValue);
}

void handles(const Shim& shim, Unexpected& out, char* at, bool takes_reference) {
  void* handle = nullptr;
  out.equal("retain inside a mapping", shim.hipMemRetainAllocationHandle(&handle, at + 4096),
            fh::kInvalidValue);
  out.equal("retain", shim.hipMemRetainAllocationHandle(&handle, at), 0);
  fh::AllocationProp prop{};
  out.equal("properties", shim.hipMemGetAllocationPropertiesFromHandle(&prop, handle), 0);
  out.equal("handle type", prop.requested_handle_type, fh::kHandleFd);
  if (takes_reference) out.equal("release", hip().hipMemRelease(handle), 0);
  fh::ExternalMemoryHandleDesc desc{};
  desc.type = 1;
  desc.handle.fd = -1;
  out.equal("external memory of no descriptor", shim.hipImportExternalMemory(&handle, &desc),
            fh::kInvalidValue);
}

void errors(const Shim& shim, Unexpected& out) {
  static_cast<void>(hip().hipGetLastError());
  out.equal("no version asked", shim.hipRuntimeGetVersion(nullptr), fh::kInvalidValue);
  int version = 0;
  out.equal("version", shim.hipRuntimeGetVersion(&version), 0);
  out.equal("the error stays over a success", hip().hipPeekAtLastError(), fh::kInvalidValue);
  out.equal("taking it", hip().hipGetLastError(), fh::kInvalidValue);
  out.equal("it is gone", hip().hipPeekAtLastError(), 0);
  out.equal("a device that is not there", hip().hipSetDevice(-1), fh::kInvalidDevice);
  static_cast<void>(hip().hipGetLastError());
  int mode = fh::kCaptureRelaxed;
  out.equal("capture mode", shim.hipThreadExchangeStreamCaptureMode(&mode), 0);
  out.equal("the one before", mode, fh::kCaptureGlobal);
  out.equal("back", shim.hipThreadExchangeStreamCaptureMode(&mode), 0);
  out.equal("the one before", mode, fh::kCaptureRelaxed);
}

void streams(const Shim& shim, Unexpected& out, char* at) {
  void* stream = nullptr;
  void* event = nullptr;
  out.equal("stream", shim.hipStreamCreateWithFlags(&stream, 1), 0);
  out.equal("event", shim.hipEventCreateWithFlags(&event, 2), 0);
  const std::uint64_t word = 0x0123456789abcdef;
  std::uint64_t back = 0;
  out.equal("copy in", shim.hipMemcpyAsync(at, &word, sizeof word, fh::kCopyHostToDevice, stream), 0);
  out.equal("copy out", shim.hipMemcpyAsync(&back, at, sizeof back, fh::kCopyDeviceToHost, stream), 0);
  out.equal("record", shim.hipEventRecord(event, stream), 0);
  out.equal("wait for the event", shim.hipEventSynchronize(event), 0);
  out.equal("ask the event", shim.hipEventQuery(event), 0);
  out.equal("wait for the stream", shim.hipStreamSynchronize(stream), 0);
  out.equal("the word is back", back == word, 1);
  out.equal("destroy", shim.hipEventDestroy(event), 0);
  out.equal("destroy", shim.hipStreamDestroy(stream), 0);
}

}  // namespace

// shim_calls mem=|import= retain_counts=: of memory in one mapping
Message shim_calls(ActorState& state, const Message& m) {
  const Shim shim;
  Unexpected out;
  const Bytes bytes = bytes_of(state, m);
  char* const at = reinterpret_cast<char*>(bytes.at);
  errors(shim, out);
  pointers(shim, out, at, static_cast<long long>(bytes.size));
  handles(shim, out, at, number_of(m, "retain_counts") != 0);
  streams(shim, out, at);
  // A real dma-buf where the driver has them; its size is the range's.
  int number_of_buffer = -1;
  const int code = shim.hipMemGetHandleForAddressRange(&number_of_buffer, at, bytes.size, 1, 0);
  const UniqueFd buffer(number_of_buffer);
  if (code == fh::kSuccess)
    out.equal("size of the dma-buf", ::lseek(buffer.get(), 0, SEEK_END), static_cast<long long>(bytes.size));
  static_cast<void>(hip().hipGetLastError());
  Message answer{{"status", out.text().empty() ? 0 : 1}, {"dma_buf", code}};
  if (!out.text().empty()) answer.emplace("message", out.text());
  return answer;
}

namespace {

class GpuShim : public GpuTest {};
HB_GPU_CASES(GpuShim, gpu_cases);

TEST_P(GpuShim, AnswersAsAmdsRuntimeDoes) {
  Actor producer = gpu_actor();
  Actor consumer = gpu_actor();
  const Message counts{{"retain_counts", GetParam().version == "7.15"}};
  export_kv(producer, kGpuChunk, kGpuChunk);
  consumer.ok("import", {{"name", "kv"}, {"access", HB_ACCESS_READ_WRITE}});
  Message of_own{{"mem", "m"}};
  of_own.insert(counts.begin(), counts.end());
  Message of_import{{"import", "i"}};
  of_import.insert(counts.begin(), counts.end());
  const Answer own = producer.ok("shim_calls", of_own);
  std::printf("FACT hipMemGetHandleForAddressRange of the library's memory: %s\n",
              own.text("dma_buf").c_str());
  consumer.ok("shim_calls", of_import);
  consumer.leave();
  producer.leave();
}

}  // namespace
}  // namespace hb::test
