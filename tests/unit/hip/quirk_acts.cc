// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "unit/hip/quirk_acts.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "hipbroker/hipbroker.h"
#include "providers/hip/driver.h"

namespace hb::test {

static client::Result<std::unique_ptr<hc::MappedRange>> make(const hc::ContextPtr& context,
                                                             std::size_t chunks,
                                                             hc::HostAccess host = hc::HostAccess::kNone) {
  auto access = hc::access_for(*context, 0, {}, host);
  if (!access) return tl::unexpected(access.error());
  hc::AllocateSpec spec;
  spec.bytes = chunks * kChunk;
  spec.chunk_bytes = kChunk;
  spec.access = *access;
  return hc::allocate(context, spec);
}

static std::string allocate(const hc::ContextPtr& context, std::size_t chunks, hc::HostAccess host) {
  const auto range = make(context, chunks, host);
  if (!range) return text_of(range);
  return std::string("ok, for the CPU ") + ((*range)->host_granted() ? "too" : "not");
}

static client::Result<hc::Import> bring_in(const hc::ContextPtr& context,
                                           std::vector<hc::ImportChunk>& chunks, hc::HostAccess host) {
  const hc::DeviceId id = context->devices.at(0)->id;
  auto access = hc::access_for_import(*context, id, {}, host);
  if (!access) return tl::unexpected(access.error());
  auto import = hc::Import::begin(context, spec_for(chunks, *access, id));
  if (!import) return import;
  if (auto added = import->add(chunks); !added) return tl::unexpected(added.error());
  return import;
}

static std::string whole(const hc::ContextPtr& context, hc::HostAccess host) {
  auto own = make(context, 2);
  if (!own) return text_of(own);
  auto chunks = export_all(*context, **own);
  if (!chunks) return text_of(chunks);
  const auto import = bring_in(context, *chunks, host);
  if (!import) return text_of(import);
  return std::string("ok, for the CPU ") + (import->range().host_granted() ? "too" : "not");
}

Act cycle(hc::HostAccess host) {
  return [host](const Hip&, const hc::ContextPtr& context) { return whole(context, host); };
}
Act allocating(std::size_t chunks, hc::HostAccess host) {
  return [=](const Hip&, const hc::ContextPtr& context) { return allocate(context, chunks, host); };
}

static void room_for(rlim_t descriptors) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = descriptors;
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
}

std::string many_with_few_descriptors(const Hip& hip, const hc::ContextPtr& context) {
  static_cast<void>(make(context, 1));  // the fake's first allocation opens a descriptor of its own
  room_for(64);
  const long long before = hip.fake_hip_count("calls:hipMemCreate");
  const std::string seen = allocate(context, 100, hc::HostAccess::kNone);
  const bool tried = hip.fake_hip_count("calls:hipMemCreate") != before;
  return (tried ? "tried: " : "not tried: ") + seen;
}

std::string many_imports_with_few_descriptors(const Hip&, const hc::ContextPtr& context) {
  room_for(64);
  hc::ImportSpec spec;
  spec.owner = context->devices.at(0)->id;
  spec.access = *hc::access_for_import(*context, spec.owner, {}, hc::HostAccess::kNone);
  spec.bytes = 1000 * kChunk;
  spec.chunks = 1000;
  return text_of(hc::Import::begin(context, spec));
}

std::string stranger(const Hip&, const hc::ContextPtr& context) {
  std::vector<hc::ImportChunk> chunks(1);
  chunks[0].descriptor = UniqueFd(::memfd_create("stranger", MFD_CLOEXEC));
  EXPECT_EQ(::ftruncate(chunks[0].descriptor.get(), static_cast<off_t>(kChunk)), 0);
  chunks[0].bytes = kChunk;
  chunks[0].handle_kind = HB_KIND_DMABUF;
  return text_of(bring_in(context, chunks, hc::HostAccess::kNone));
}

std::string hidden_owner(const Hip&, const hc::ContextPtr& context) {
  return text_of(hc::access_for_import(*context, {"GPU-f00d000000000002", "0000:83:00.0", 0}, {},
                                       hc::HostAccess::kNone));
}

std::string two_exports(const Hip&, const hc::ContextPtr& context) {
  auto own = make(context, 1);
  auto first = hc::export_chunk(*context, **own, 0);
  auto second = hc::export_chunk(*context, **own, 0);
  if (!first || !second) return "no second";
  first->reset();
  const off_t size = ::lseek(second->get(), 0, SEEK_END);
  if (size < 0) static_cast<void>(second->release());  // it is somebody's, or nobody's
  return "size " + std::to_string(size);
}

std::string unmap_behind_a_stream(const Hip& hip, const hc::ContextPtr& context) {
  auto own = make(context, 1);
  void* stream = nullptr;
  EXPECT_EQ(hip.hipStreamCreateWithFlags(&stream, 1), fh::kSuccess);
  char text[64];
  std::snprintf(text, sizeof text, "busy=%p", stream);
  EXPECT_EQ(hip.fake_hip_control(text), 0);
  std::thread unmapping([&] { own->reset(); });
  while (hip.fake_hip_count("waiting") == 0) std::this_thread::yield();
  std::unique_lock lock(hc::vmm_lock(), std::try_to_lock);
  const std::string seen = lock.owns_lock() ? "lock free" : "lock held";
  if (lock.owns_lock()) lock.unlock();
  std::snprintf(text, sizeof text, "idle=%p", stream);
  EXPECT_EQ(hip.fake_hip_control(text), 0);
  unmapping.join();
  EXPECT_EQ(hip.hipStreamDestroy(stream), fh::kSuccess);
  return seen;
}

// ---- what somebody does who does not know, with the runtime alone --------------------------------

namespace {
struct Raw {
  explicit Raw(const Hip& runtime, std::size_t chunks = 1)
      : hip(runtime), at(runtime.reserve(chunks * kChunk)) {
    for (std::size_t i = 0; i < chunks; ++i) {
      handles.push_back(hip.create(kChunk));
      EXPECT_EQ(hip.hipMemMap(at + i * kChunk, kChunk, 0, handles[i], 0), fh::kSuccess);
    }
  }
  const Hip& hip;
  char* at;
  std::vector<void*> handles;
};
}  // namespace

std::string closes_too_early(const Hip& hip, const hc::ContextPtr&) {
  Raw own(hip);
  const int fd = hip.export_fd(own.handles[0]);
  void* handle = nullptr;
  EXPECT_EQ(hip.import_fd(&handle, fd), fh::kSuccess);
  ::close(fd);
  char* at = hip.reserve(kChunk);
  EXPECT_EQ(hip.hipMemMap(at, kChunk, 0, handle, 0), fh::kSuccess);
  const HipError granted = hip.grant(at, kChunk, {device_access(0)});
  hip.tear_down(at, kChunk, handle);
  hip.tear_down(own.at, kChunk, own.handles[0]);
  return hip.hipGetErrorName(granted);
}

std::string believes_the_map(const Hip& hip, const hc::ContextPtr&) {
  EXPECT_EQ(hip.fake_hip_control("fail=hipMemMap:1:1:late"), 0);
  Raw own(hip);  // expects success, and gets it
  const HipError granted = hip.grant(own.at, kChunk, {device_access(0)});
  hip.tear_down(own.at, kChunk, own.handles[0]);
  return std::string("mapped, and then ") + hip.hipGetErrorName(granted);
}

// A byte that the owner writes, as a peer sees it.
static std::string through_a_peer(const Hip& hip, char* at) {
  const char mark = 'x';
  char back = 0;
  EXPECT_EQ(hip.hipSetDevice(0), fh::kSuccess);
  EXPECT_EQ(hip.hipMemcpy(at, &mark, 1, fh::kCopyDefault), fh::kSuccess);
  EXPECT_EQ(hip.hipSetDevice(1), fh::kSuccess);
  EXPECT_EQ(hip.hipMemcpy(&back, at, 1, fh::kCopyDefault), fh::kSuccess);
  EXPECT_EQ(hip.hipSetDevice(0), fh::kSuccess);
  return back == mark ? "the owner's byte" : "another byte";
}
std::string owner_first(const Hip& hip, const hc::ContextPtr&) {
  Raw own(hip);
  EXPECT_EQ(hip.grant(own.at, kChunk, {device_access(0), device_access(1)}), fh::kSuccess);
  const std::string seen = through_a_peer(hip, own.at);
  hip.tear_down(own.at, kChunk, own.handles[0]);
  return seen;
}

std::string one_unmap_for_two(const Hip& hip, const hc::ContextPtr&) {
  Raw own(hip, 2);
  EXPECT_EQ(hip.hipMemUnmap(own.at, 2 * kChunk), fh::kSuccess);
  EXPECT_EQ(hip.hipMemAddressFree(own.at, 2 * kChunk), fh::kSuccess);
  for (void* handle : own.handles) EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
  return "unmapped";
}

std::string unmaps_again(const Hip& hip, const hc::ContextPtr&) {
  Raw own(hip);
  EXPECT_EQ(hip.fake_hip_control("fail=hipMemUnmap:1"), 0);
  if (hip.hipMemUnmap(own.at, kChunk) != fh::kSuccess) static_cast<void>(hip.hipMemUnmap(own.at, kChunk));
  return "alive";
}

static std::string bytes_left(const Hip& hip) {
  return std::to_string(hip.fake_hip_device_bytes(0)) + " bytes left";
}

std::string keeps_the_addresses(const Hip& hip, const hc::ContextPtr&) {
  Raw own(hip);
  EXPECT_EQ(hip.hipMemUnmap(own.at, kChunk), fh::kSuccess);
  EXPECT_EQ(hip.hipMemRelease(own.handles[0]), fh::kSuccess);
  const std::string seen = bytes_left(hip);
  EXPECT_EQ(hip.hipMemAddressFree(own.at, kChunk), fh::kSuccess);
  return seen;
}

std::string believes_the_alignment(const Hip& hip, const hc::ContextPtr&) {
  void* at = nullptr;
  EXPECT_EQ(hip.hipMemAddressReserve(&at, kChunk, kChunk, nullptr, 0), fh::kSuccess);
  const bool aligned = reinterpret_cast<std::uintptr_t>(at) % kChunk == 0;
  EXPECT_EQ(hip.hipMemAddressFree(at, kChunk), fh::kSuccess);
  return aligned ? "aligned" : "crooked";
}

std::string believes_the_granularity(const Hip& hip, const hc::ContextPtr&) {
  const fh::AllocationProp prop = fd_prop();
  std::size_t bytes = 0;
  EXPECT_EQ(hip.hipMemGetAllocationGranularity(&bytes, &prop, 1), fh::kSuccess);
  return std::to_string(bytes) + " bytes";
}

std::string asks_about_an_import(const Hip& hip, const hc::ContextPtr& context) {
  auto own = make(context, 1);
  auto chunks = export_all(*context, **own);
  const auto import = bring_in(context, *chunks, hc::HostAccess::kNone);
  fh::PointerAttributes attributes{};
  static_cast<void>(hip.hipPointerGetAttributes(&attributes, import->ptr()));
  return "alive";
}

std::string peer_reads(const Hip& hip, const hc::ContextPtr& context) {
  auto own = make(context, 1);
  return through_a_peer(hip, (*own)->base());
}
std::string frees(const Hip& hip, const hc::ContextPtr& context) {
  static_cast<void>(make(context, 1));
  return bytes_left(hip);
}
std::string base_of_memory(const Hip&, const hc::ContextPtr& context) {
  auto own = make(context, 1);
  return reinterpret_cast<std::uintptr_t>((*own)->base()) % kChunk == 0 ? "aligned" : "crooked";
}
std::string granularity(const Hip&, const hc::ContextPtr& context) {
  return std::to_string(*hc::granularity(*context, 0)) + " bytes";
}

}  // namespace hb::test
