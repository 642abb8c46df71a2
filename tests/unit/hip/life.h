// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Memory that grows, changes and sleeps, on both sides of an export, as the tests of its life drive it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "hipbroker/hipbroker.h"
#include "providers/hip/provider.h"
#include "unit/hip/fixture.h"

namespace hb::test {

inline Env assumed(Env more) {
  more["HIPBROKER_PROBE"] = "assume";
  more["HIPBROKER_SYSFS_ROOT"] = "/nonexistent";
  return more;
}

inline std::unique_ptr<client::Allocation> own_memory(std::uint64_t chunks, std::uint64_t reserved,
                                                      client::HostAccess host = client::HostAccess::kNone) {
  client::AllocateRequest request;
  request.bytes = chunks * kChunk;
  request.chunk_bytes = kChunk;
  request.reserve_bytes = reserved * kChunk;
  request.host = host;
  request.peers.all = true;
  auto made = hc::HipProvider().allocate(request);
  EXPECT_TRUE(made) << text_of(made);
  return made ? std::move(*made) : nullptr;
}

// An import and the descriptors it is made of, which an importer of the daemon would get anew each time.
class Importer {
 public:
  Importer(const client::Allocation& from, std::uint64_t reserved,
           client::HostAccess host = client::HostAccess::kNone) {
    client::RangeRequest request;
    request.bytes = from.bytes();
    request.writable = true;
    request.handle_kind = HB_KIND_DMABUF;
    request.owner = from.device();
    request.peers.all = true;
    request.host = host;
    request.chunks = from.chunk_count();
    request.object_bytes = from.bytes();
    request.reserve_bytes = reserved * kChunk;
    auto begun = hc::HipProvider().begin_import(request);
    EXPECT_TRUE(begun) << text_of(begun);
    range_ = std::move(*begun);
  }

  // A part as wide as a whole chunk of `from`, to be mapped as the `number`th.
  client::ImportedRange::Part part(const client::Allocation& from, std::size_t index, std::size_t number) {
    auto descriptor = from.export_chunk(index);
    EXPECT_TRUE(descriptor) << text_of(descriptor);
    descriptors_.push_back(std::move(*descriptor));
    client::ImportedRange::Part part;
    part.object = {descriptors_.back(), 0, kChunk};
    part.at = number * kChunk;
    part.chunk = number;
    part.object_bytes = part.whole_bytes = kChunk;
    return part;
  }
  // All chunks of `from` that are not mapped yet.
  client::Result<void> map(const client::Allocation& from) {
    for (; mapped_ < from.chunk_count(); ++mapped_)
      if (auto done = range_->map(part(from, mapped_, mapped_)); !done) return done;
    return {};
  }
  void sleep() {
    range_->sleep();
    mapped_ = 0;
    descriptors_.clear();
  }
  void cut(std::size_t chunks) {
    range_->cut(chunks * kChunk);
    mapped_ = std::min(mapped_, chunks);
  }
  void drop_descriptors() { descriptors_.clear(); }
  [[nodiscard]] client::ImportedRange& range() { return *range_; }
  [[nodiscard]] char* at(std::size_t chunk) { return static_cast<char*>(range_->ptr()) + chunk * kChunk; }

 private:
  std::unique_ptr<client::ImportedRange> range_;
  std::vector<UniqueFd> descriptors_;
  std::size_t mapped_ = 0;
};

inline void write_mark(const Hip& hip, void* at, char mark) {
  EXPECT_EQ(hip.hipMemcpy(at, &mark, 1, fh::kCopyHostToDevice), fh::kSuccess);
}

// What every device reads there; 0: they differ, or one may not.
inline char read_mark(const Hip& hip, const void* at) {
  char first = 0;
  for (int device = 0; device < 4; ++device) {
    char mark = 0;
    EXPECT_EQ(hip.hipSetDevice(device), fh::kSuccess);
    if (hip.hipMemcpy(&mark, at, 1, fh::kCopyDeviceToHost) != fh::kSuccess) first = mark = 0;
    if (device == 0) first = mark;
    if (mark != first) first = 0;
  }
  EXPECT_EQ(hip.hipSetDevice(0), fh::kSuccess);
  static_cast<void>(hip.hipGetLastError());
  return first;
}

}  // namespace hb::test
