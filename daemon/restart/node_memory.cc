// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// All numbers little-endian, by the machines this runs on.
//
//    0  "HBNODE\0\0"   8  u32 format  12  u32 0  16  broker id  32  master secret  48  u64 checksum of 0..47
//  128  u64 epoch, with check
//  1024 and 2048: what is kept, twice: u64 sequence, u64 bytes, the bytes, and u64 checksum of sequence,
//  bytes and kept bytes at 16
#include "restart/node_memory.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "restart/checksum.h"
#include "restart/record_layout.h"

namespace hb::restart {
namespace {

using layout::load;
using layout::store;

constexpr char kMagic[8] = {'H', 'B', 'N', 'O', 'D', 'E', 0, 0};
constexpr std::size_t kEpochAt = 128;
constexpr std::size_t kKeptAt[2] = {1024, 2048};
constexpr std::size_t kKeptHead = 24;

struct Page {
  char magic[8];
  std::uint32_t format;
  std::uint32_t zero;
  BrokerId broker;
  Secret master;
  std::uint64_t checksum;
};
static_assert(sizeof(Page) == 56 && offsetof(Page, checksum) == 48);

std::uint64_t checksum_of(const Page& page) {
  return checksum(std::as_bytes(std::span(&page, 1)).first(offsetof(Page, checksum)));
}

std::uint64_t checksum_of_kept(std::uint64_t sequence, std::span<const std::byte> bytes) {
  const std::array<std::uint64_t, 2> head{sequence, bytes.size()};
  return checksum(std::as_bytes(std::span(head)), bytes);
}

}  // namespace

tl::expected<NodeMemory, std::string> NodeMemory::open(os::MemoryRegion region, const NodeIdentity& fresh) {
  if (region.size() < kBytes) {
    return tl::unexpected("the node's memory has " + std::to_string(region.size()) + " bytes, " +
                          std::to_string(kBytes) + " are needed");
  }
  NodeMemory node;
  node.region_ = std::move(region);
  const auto page = node.region_.bytes().first(kBytes);
  if (std::all_of(page.begin(), page.end(), [](std::byte b) { return b == std::byte{0}; })) {
    node.make_anew(fresh);
  } else if (node.why_ = node.read_identity(); !node.why_.empty()) {
    node.origin_ = Origin::kBroken;
    node.make_anew(fresh);
  } else {
    node.origin_ = Origin::kAdopted;
    node.read_kept();
  }
  ++node.epoch_;
  store(node.region_.bytes().data() + kEpochAt, with_check(node.epoch_));
  return node;
}

void NodeMemory::make_anew(const NodeIdentity& fresh) {
  std::byte* at = region_.bytes().data();
  // What begins with the magic is whole, or its checksum is wrong: either way the next start sees it.
  std::memset(at, 0, kBytes);
  store(at + kEpochAt, with_check(0));
  Page page{};
  std::copy(std::begin(kMagic), std::end(kMagic), page.magic);
  page.format = kFormat;
  page.broker = fresh.broker;
  page.master = fresh.master;
  page.checksum = checksum_of(page);
  std::memcpy(at + sizeof kMagic, reinterpret_cast<const std::byte*>(&page) + sizeof kMagic,
              sizeof page - sizeof kMagic);
  store(at, load<std::uint64_t>(reinterpret_cast<const std::byte*>(&page)));
  identity_ = fresh;
  epoch_ = 0;
}

std::string NodeMemory::read_identity() {
  const std::byte* at = region_.bytes().data();
  const Page page = load<Page>(at);
  if (std::memcmp(page.magic, kMagic, sizeof kMagic) != 0) {
    return "the node's memory is something else: it does not begin with HBNODE";
  }
  if (page.format != kFormat) {
    return "the node's memory has format " + std::to_string(page.format) + ", this daemon reads " +
           std::to_string(kFormat);
  }
  if (page.checksum != checksum_of(page)) return "the node's memory is broken (checksum)";
  const auto epoch = without_check(load<std::uint64_t>(at + kEpochAt));
  if (!epoch) return "the node's memory is broken (epoch)";
  identity_ = {page.broker, page.master};
  epoch_ = *epoch;
  return {};
}

void NodeMemory::read_kept() {
  for (const std::size_t where : kKeptAt) {
    const std::byte* at = region_.bytes().data() + where;
    const auto sequence = load<std::uint64_t>(at);
    const auto bytes = load<std::uint64_t>(at + 8);
    if (sequence <= sequence_ || bytes > kKeptBytes) continue;
    const std::span<const std::byte> kept(at + kKeptHead, bytes);
    if (load<std::uint64_t>(at + 16) != checksum_of_kept(sequence, kept)) continue;
    sequence_ = sequence;
    kept_.assign(kept.begin(), kept.end());
  }
}

bool NodeMemory::keep(std::span<const std::byte> bytes) {
  if (bytes.size() > kKeptBytes || !region_) return false;
  // Into the half that does not hold what counts now.
  const std::uint64_t sequence = sequence_ + 1;
  std::byte* at = region_.bytes().data() + kKeptAt[sequence % 2];
  step();
  store<std::uint64_t>(at, sequence);
  step();
  store<std::uint64_t>(at + 8, bytes.size());
  step();
  if (!bytes.empty()) std::memcpy(at + kKeptHead, bytes.data(), bytes.size());
  step();
  store(at + 16, checksum_of_kept(sequence, bytes));
  step();
  sequence_ = sequence;
  kept_.assign(bytes.begin(), bytes.end());
  return true;
}

}  // namespace hb::restart
