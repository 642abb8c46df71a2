// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "import.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "client.h"
#include "interval_map.h"
#include "succession.h"
#include "wire/limits.h"

namespace hb::client {
namespace {

// Maps page after page into one range.
class Mapper {
 public:
  Mapper(hb_import& imported, void* address) : imported_(imported), address_(address) {}

  Result<void> take(const Grant& grant, const GrantPage& page) {
    if (page.first) imported_.range.reset();
    for (const PageChunk& chunk : page.chunks) {
      auto part = part_of(grant, page, chunk);
      if (!part) return tl::unexpected(std::move(part.error()));
      if (imported_.range == nullptr)
        if (auto begun = begin(grant, page, part->object.offset); !begun) return begun;
      if (auto mapped = imported_.range->map(*part); !mapped) return mapped;
    }
    return {};
  }

 private:
  // Of whole objects, as GPU memory is mapped.
  static Result<std::uint64_t> object_bytes(const Grant& grant, const GrantPage& page) {
    const std::string all = "the objects of its " + std::to_string(grant.chunk_count) + " chunks";
    if (grant.object_bytes > limits::kExportBytes)
      return fail(limit_error(HB_RANGE, "bytes", grant.object_bytes, limits::kExportBytes,
                              all + " have together " + std::to_string(grant.object_bytes) +
                                  " bytes; at most " + std::to_string(limits::kExportBytes) +
                                  " can be mapped side by side"));
    if (grant.object_bytes != 0) return grant.object_bytes;
    // A daemon from before this field. What later pages bring cannot be known.
    if (page.chunks.size() < grant.chunk_count)
      return fail(HB_UNSUPPORTED, "the daemon is too old to tell how large " + all +
                                      " are, and one page brings " + std::to_string(page.chunks.size()) +
                                      " of them: update hipbrokerd, or import fewer chunks at a time");
    std::uint64_t sum = 0;
    for (const PageChunk& chunk : page.chunks) {
      const off_t size = ::lseek(page.fds[chunk.handle].get(), 0, SEEK_END);
      sum += size > 0 ? static_cast<std::uint64_t>(size) : chunk.object_offset + chunk.bytes;
    }
    return sum;
  }

  Result<void> begin(const Grant& grant, const GrantPage& page, std::uint64_t first_offset) {
    Provider* const mapper = provider_of(grant.handle_kind, grant.device);
    if (mapper == nullptr)
      return fail(HB_UNSUPPORTED, "handle kind " + std::to_string(grant.handle_kind) +
                                      " cannot be mapped by this library; acquire the descriptors instead");
    if (imported_.key.mapping == Mapping::kExternal && grant.device.empty())
      return fail(HB_INVALID, "HB_MAP_EXTERNAL is for GPU memory; this is host memory");
    RangeRequest range;
    range.bytes = grant.bytes;
    range.first_offset = first_offset;
    range.address = address_;
    range.writable = (imported_.key.access & HB_ACCESS_READ_WRITE) == HB_ACCESS_READ_WRITE;
    range.handle_kind = grant.handle_kind;
    range.reserve_bytes = imported_.key.reserve_bytes;
    if (range.reserve_bytes == 0 && grant.follows && grant.max_bytes > grant.offset)
      range.reserve_bytes = grant.max_bytes - grant.offset;
    if (!grant.device.empty()) {
      range.owner = grant.device;
      range.peers = imported_.key.peers;
      range.exporter_peers = grant.peers;
      range.mapping = imported_.key.mapping;
      range.host = imported_.key.host;
      range.chunks = grant.chunk_count;
      const auto whole = object_bytes(grant, page);
      if (!whole) return tl::unexpected(whole.error());
      range.object_bytes = *whole;
    }
    auto begun = mapper->begin_import(range);
    if (!begun) return tl::unexpected(std::move(begun.error()));
    imported_.range = std::move(*begun);
    return {};
  }

  hb_import& imported_;
  void* address_;
};

Result<std::unique_ptr<hb_import>> make_import(const std::shared_ptr<Client>& client,
                                               const ImportRequest& request) {
  AcquireRequest wanted;
  wanted.target = request.key.target;
  wanted.access = request.key.access;
  wanted.offset = request.key.offset;
  wanted.bytes = request.key.bytes;
  wanted.demand_level = request.key.demand_level;
  wanted.wait = request.wait;
  wanted.deadline_ns = request.deadline_ns;
  return map_grant(client, request.key, request.address,
                   [&](const PageSink& sink) { return acquire(*client, wanted, sink); });
}

Result<std::shared_ptr<ExportRecord>> find_own(Client& client, const AcquireTarget& target,
                                               std::uint64_t deadline_ns) {
  std::shared_ptr<ExportRecord> record;
  if (target.key) {
    const KeyFields fields = decode_key(*target.key);
    record = ExportRegistry::get().by_id(fields.broker, fields.export_id);
    if (record != nullptr) {
      if (fields.generation != record->generation)
        return fail(HB_STALE, "the key names generation " + std::to_string(fields.generation) +
                                  ", the export is at " + std::to_string(record->generation));
      if (!key_is_authentic(*target.key, record->secret))
        return fail(HB_NOT_FOUND, "the key is not one of this export");
    }
  } else {
    auto session = client.session(deadline_ns);
    if (!session) return tl::unexpected(std::move(session.error()));
    BrokerId broker{};
    std::memcpy(broker.data(), (*session)->hello().broker_id.data(), broker.size());
    record = ExportRegistry::get().by_name(broker, target.name,
                                           target.owner_uid.value_or((*session)->hello().uid));
  }
  // It may have ended, and its record with it: the daemon remembers what became of its key.
  const auto is_of_this_daemon = [&] {
    const auto session = client.session(deadline_ns);
    if (!session) return false;
    const msg::Bytes here = (*session)->hello().broker_id;
    return std::memcmp(decode_key(*target.key).broker.data(), here.data(), here.size()) == 0;
  };
  if (record == nullptr && target.key && is_of_this_daemon()) {
    AcquireRequest look;
    look.target = target;
    look.access = HB_ACCESS_READ;
    look.bytes = HB_WHOLE;
    look.deadline_ns = deadline_ns;
    if (auto there = wait_until_acquirable(client, look); !there)
      return tl::unexpected(std::move(there.error()));
  }
  if (record == nullptr)
    return fail(HB_INVALID,
                "alias: no client of this process exports that; import it without alias for a mapping");
  if (!record->is_live()) return fail(HB_GONE, "alias: the export has ended");
  return record;
}

struct Place {
  void* ptr = nullptr;
  std::shared_ptr<Memory> memory;
};
// Where the owner has these bytes side by side.
Result<Place> place_of(const ExportRecord::Layout& layout, std::uint64_t offset, std::uint64_t bytes) {
  for (const ExportPart& part : layout.parts) {
    if (offset < part.offset || offset - part.offset >= part.bytes) continue;
    if (bytes > part.bytes - (offset - part.offset))
      return fail(HB_UNSUPPORTED, "alias: the owner does not have these bytes side by side: those from " +
                                      std::to_string(part.offset + part.bytes) +
                                      " on were added or replaced; import it without alias for a mapping");
    auto memory = part.memory.lock();
    if (memory == nullptr && part.ptr != nullptr)
      return fail(HB_INVALID,
                  "alias: the owner has freed the memory, or it is not the library's own and could be freed "
                  "under an alias");
    if (memory == nullptr) break;
    return Place{static_cast<char*>(const_cast<void*>(part.ptr)) + (offset - part.offset), std::move(memory)};
  }
  return fail(HB_INVALID, "alias: it was exported from descriptors, there is no pointer of the owner");
}

Result<hb_import*> open_alias(const std::shared_ptr<Client>& client, const ImportRequest& request) {
  auto record = find_own(*client, request.key.target, request.deadline_ns);
  if (!record) return tl::unexpected(std::move(record.error()));
  if ((*record)->suspended.load()) return fail(HB_SUSPENDED, "alias: the export is asleep");
  const auto layout = (*record)->layout();
  const KeyFields whole = decode_key((*record)->key);
  KeyFields part = request.key.target.key ? decode_key(*request.key.target.key) : whole;
  const std::uint64_t begin = part.offset - whole.offset;  // of the target inside what was exported
  if (part.length == UINT64_MAX && begin < layout->bytes) part.length = layout->bytes - begin;
  const std::uint64_t offset = request.key.offset;
  if (part.offset < whole.offset || begin > layout->bytes || part.length > layout->bytes - begin ||
      offset >= part.length || (request.key.bytes != HB_WHOLE && request.key.bytes > part.length - offset) ||
      request.key.bytes == 0)
    return fail(limit_error(HB_RANGE, "offset", offset, part.length,
                            "offset " + std::to_string(offset) +
                                " and the bytes from there do not lie inside " + std::to_string(part.length) +
                                " bytes"));
  const std::uint64_t bytes = request.key.bytes == HB_WHOLE ? part.length - offset : request.key.bytes;
  auto lies = place_of(*layout, begin + offset, bytes);
  if (!lies) return tl::unexpected(std::move(lies.error()));
  const std::shared_ptr<Memory> memory = lies->memory;
  auto imported = std::make_unique<hb_import>();
  imported->client = client;
  imported->key = request.key;
  Grant& grant = imported->grant;
  grant.offset = part.offset + offset;
  grant.bytes = bytes;
  grant.export_id = (*record)->id;
  grant.generation = (*record)->generation;
  grant.layout_version = layout->version;
  grant.export_bytes = layout->bytes;
  grant.follows = (*record)->grows();
  grant.owner_uid = (*record)->owner_uid;
  grant.access = request.key.access;
  grant.handle_kind = memory->allocation().handle_kind();
  grant.device = memory->allocation().device();
  std::vector<PeerGrant> peers = memory->allocation().peers();
  for (const PeerGrant& peer : peers) grant.peers.push_back(peer.device);
  imported->ordinal = memory->allocation().ordinal();
  imported->peers = peer_list(peers);
  grant.broker = (*record)->broker;
  grant.secret = (*record)->secret;
  imported->ptr = lies->ptr;
  imported->alias_of = std::move(*record);
  imported->alias_memory = memory;
  return imported.release();
}

}  // namespace

Result<std::unique_ptr<hb_import>> map_grant(const std::shared_ptr<Client>& client, const ImportKey& key,
                                             void* address, const GrantSource& source) {
  auto imported = std::make_unique<hb_import>();
  imported->client = client;
  imported->key = key;
  Mapper mapper(*imported, address);
  auto acquired = source([&](const Grant& grant, const GrantPage& page) { return mapper.take(grant, page); });
  if (!acquired) return tl::unexpected(std::move(acquired.error()));
  imported->grant = std::move(acquired->grant);
  imported->lease = std::move(acquired->lease);
  imported->ptr = imported->range->ptr();
  imported->ordinal = imported->range->ordinal();
  imported->peers = peer_list(imported->range->peers());
  imported->show();
  Stats::add(client->stats().imports);
  Stats::add(client->stats().mapped_bytes, imported->grant.bytes);
  // Last: from here on events find it.
  if (imported->lease.session().leases().give(imported->lease.id(), imported.get()))
    client->events().settle();
  return imported;
}

Result<ImportedRange::Part> part_of(const Grant& grant, const GrantPage& page, const PageChunk& chunk) {
  const std::uint64_t low = std::max(chunk.start, grant.offset);
  const std::uint64_t high = std::min(chunk.start + chunk.bytes, grant.offset + grant.bytes);
  if (low >= high)
    return fail(HB_PROTO, "chunk " + std::to_string(chunk.number) + " lies outside of the range granted");
  const std::uint64_t inside = low - chunk.start;
  ImportedRange::Part part;
  part.object = {page.fds[chunk.handle], chunk.object_offset + inside, high - low};
  part.at = low - grant.offset;
  part.chunk = chunk.number;
  part.object_bytes = chunk.object_offset + chunk.bytes;
  part.whole_bytes = chunk.object_bytes;
  return part;
}

std::uint64_t ImportKey::hash() const {
  std::uint64_t value =
      offset * 0x9e3779b97f4a7c15u ^ bytes ^ (static_cast<std::uint64_t>(access) << 8 | demand_level);
  if (target.key) {
    // The MAC alone tells keys apart.
    std::uint64_t mac = 0;
    std::memcpy(&mac, target.key->data() + 48, sizeof mac);
    return value ^ mac;
  }
  return value ^ std::hash<std::string>{}(target.name) ^
         (static_cast<std::uint64_t>(target.owner_uid.value_or(0)) << 32);
}

Result<hb_import*> open_import(const std::shared_ptr<Client>& client, const ImportRequest& request) {
  const bool by_ticket = request.key.target.key && is_ticket(*request.key.target.key);
  if (request.alias && by_ticket)
    return fail(HB_INVALID, "alias: a ticket pins memory for another process; the owner has its own pointer");
  if (request.alias) return open_alias(client, request);
  if (request.key.mapping == Mapping::kExternal || by_ticket) {
    // External: of the device that is current now, never what another thread mapped for its own. A ticket
    // works once, and who presents it again has to learn that.
    auto made = make_import(client, request);
    if (!made) return tl::unexpected(std::move(made.error()));
    return made->release();
  }
  return client->imports().get(request.key, request.address, request.deadline_ns,
                               [&] { return make_import(client, request); });
}

void close_import(hb_import* imported) noexcept {
  if (imported->alias_of != nullptr) {
    delete imported;
    return;
  }
  if (!imported->client->is_here()) {
    // A forked child: locks may be held by threads that it does not have. Its copy of the mapping goes.
    if (--imported->uses == 0) imported->range.reset();
    return;
  }
  const std::shared_ptr<Client> client = imported->client;  // outlives the call below
  client->imports().give_back(imported);
}

}  // namespace hb::client

hb_import::~hb_import() {
  // Before the addresses are free for others.
  if (range == nullptr || map_start == nullptr) return;
  hide();
  client->stats().mapped_bytes.fetch_sub(grant.bytes, std::memory_order_relaxed);
}

std::uint64_t hb_import::reserved_bytes() const {
  if (range == nullptr) return grant.bytes;
  const hb::client::ImportedRange::Span held = range->mapped();
  return held.bytes - static_cast<std::uint64_t>(static_cast<const char*>(range->ptr()) -
                                                 static_cast<const char*>(held.start));
}

void hb_import::show() {
  using namespace hb::client;
  Interval entry;
  const ImportedRange::Span mapped = range->mapped();
  entry.start = reinterpret_cast<std::uintptr_t>(mapped.start);
  entry.bytes = mapped.bytes;
  entry.origin = Origin::kImported;
  ImportOrigin from;
  from.export_id = grant.export_id;
  from.generation = grant.generation;
  from.owner_uid = grant.owner_uid;
  from.host_granted = range->host_granted();
  from.device = grant.device;
  entry.from = std::make_shared<const ImportOrigin>(std::move(from));
  interval = IntervalMap::get().add(std::move(entry));
  map_start = mapped.start;
}

void hb_import::hide() noexcept {
  hb::client::IntervalMap::get().remove(map_start, interval);
  map_start = nullptr;
}
