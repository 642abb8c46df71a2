// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Memory: allocations, exports with their chunks, and what is still being sent.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/ending.h"
#include "core/failure.h"
#include "core/quota.h"
#include "core/restoring.h"
#include "core/staging.h"

namespace hb::core {

namespace {

constexpr std::uint32_t kPage = record::Chunks::kPage;

// Pages of one kind by the slot of their export, in order.
using Pages = std::map<RecordKey, const record::Chunks*>;

Pages pages_in(const RecordSet& records, RecordKind kind) {
  Pages out;
  for (const auto& [key, record] : records.chunks)
    if (key.kind == kind) out.emplace(key, &record);
  return out;
}

// All pages that are there, however many the record says: false when they are others.
template <class Use>
bool each_page(const Pages& pages, RecordKind kind, std::uint32_t slot, std::uint64_t entries, Use use) {
  std::uint64_t seen = 0;
  std::uint32_t part = 0;
  for (auto page = pages.lower_bound({kind, slot, 0});
       page != pages.end() && page->first.kind == kind && page->first.slot == slot; ++page, ++part) {
    const std::size_t count = page->second->sizes.size();
    if (page->first.part != part || count == 0 || seen % kPage != 0) return false;
    seen += count;
    if (seen > entries || !use(*page->second)) return false;
  }
  return seen == entries;
}

// Counts a reference a chunk, as take_page() does.
bool chunks_of(Core& core, std::uint32_t account, const Pages& pages, RecordKind kind, std::uint32_t slot,
               std::uint64_t count, std::vector<Chunk>& out) {
  std::uint64_t start = 0;
  return each_page(pages, kind, slot, count, [&](const record::Chunks& page) {
    if (page.allocations.size() != page.sizes.size() || page.offsets.size() != page.sizes.size())
      return false;
    for (std::size_t i = 0; i < page.sizes.size(); ++i) {
      const AllocationId allocation{page.allocations[i]};
      if (core.allocations.find(allocation) == nullptr || page.sizes[i] > limits::kExportBytes - start)
        return false;
      add_chunk(core, account, allocation);
      out.push_back({allocation, page.offsets[i], page.sizes[i], start});
      start += page.sizes[i];
    }
    return true;
  });
}

bool life_of(const record::Life& record, ExportLife& life) {
  life.max_size = record.max_size;
  for (const record::Change& change : record.changes)
    life.changes.add(change.version, {change.first, change.count});
  life.changes.restore_forgotten(record.forgotten_changes);
  life.linger_ns = record.linger_ns;
  life.linger_end = record.linger_end;
  life.owner = process_of(record.owner);
  life.owner_session = SessionId{record.owner_session};
  life.owner_gid = record.owner_gid;
  life.ended_size = record.ended_size;
  life.ended_chunks = record.ended_chunks;
  life.suspended_size = record.suspended_size;
  life.step = record.step;
  for (const record::Departed& one : record.departed)
    life.departed.push_back({LeaseId{one.lease}, SessionId{one.session}, one.uid, one.gid,
                             process_of(one.process), one.acked_step});
  life.more_departed = record.more_departed;
  life.awaited = record.awaited;
  life.lost = record.lost;
  return record.departed.size() <= limits::kListEntries;
}

bool export_of(Core& core, const record::Export& record, Export& e) {
  e.layout_version = record.layout_version;
  e.created = record.created;
  e.ended = record.ended;
  e.order = record.order;
  e.scope = ScopeId{record.scope};
  if (!record.metadata.empty()) e.metadata = std::make_unique<const std::string>(record.metadata);
  e.generation = record.generation;
  e.owner_uid = record.owner_uid;
  e.acl = core.exports.acls().take(acl_of(record.acl));
  e.placement = core.exports.placements().take(placement_of(record.device, record.peers));
  e.kind = static_cast<HandleKind>(record.kind);
  if (record.life) {
    e.life = std::make_unique<ExportLife>();
    if (!life_of(*record.life, *e.life)) return false;
  }
  Access access = Access::kNone;
  if (record.access != 0 && !access_of(record.access, access)) return false;
  e.access = access;
  return enum_of(record.state, ExportState::kRevoked, e.state) && e.state != ExportState::kNew &&
         enum_of(record.lifetime, Lifetime::kPersist, e.lifetime) &&
         (e.state != ExportState::kSuspended || e.life != nullptr);
}

Misfit restore_export(Core& core, const RecordKey& key, const record::Export& record, const Pages& pages,
                      Recorder& recorder) {
  const std::uint32_t slot = key.slot;
  Export made;
  if (!export_of(core, record, made)) return text("export ", slot, " is damaged");
  if (core.accounts.find_scope(made.scope) == nullptr)
    core.accounts.add_scope(made.scope, text("scope-", made.scope.value), LimitSet::unlimited());
  const std::uint32_t account = core.accounts.take(made.scope, made.owner_uid);
  made.account = account;
  const bool asleep = made.state == ExportState::kSuspended;
  const std::uint64_t sizes = asleep ? record.life->suspended_chunks : 0;
  const bool restored = core.exports.restore(ExportId::of(slot, record.use), std::move(made), record.name,
                                             record.name_generation);
  core.accounts.drop_reference(account);  // the export has its own
  if (!restored) return text("export ", slot, " is in another's place, or bears its name");
  Export& e = core.exports.at(slot);
  if (asleep) {
    const bool whole = each_page(pages, RecordKind::kChunks, slot, sizes, [&](const record::Chunks& page) {
      e.life->suspended_sizes.insert(e.life->suspended_sizes.end(), page.sizes.begin(), page.sizes.end());
      return true;
    });
    if (!whole || record.chunks != 0) return text("pages of export ", slot, ", which sleeps, are missing");
  } else {
    std::vector<Chunk> chunks;
    if (!chunks_of(core, account, pages, RecordKind::kChunks, slot, record.chunks, chunks))
      return text("pages of export ", slot, " are missing or damaged");
    if (!chunks.empty()) settle_chunks(core, e, chunks);
    core.accounts.add(account, Resource::kChunks, chunks.size());
  }
  e.all_sealed = record.all_sealed;
  e.size_declared = record.size_declared;
  e.chunks_changed = false;
  recorder.note_pages(slot,
                      static_cast<std::uint32_t>(((asleep ? sizes : record.chunks) + kPage - 1) / kPage));
  if (is_current(e.state)) core.accounts.add(account, Resource::kExports, 1);
  if (e.state == ExportState::kStaging) {
    if (!record.session || !core.sessions.live(*record.session))
      return text("staging ", slot, " is nobody's");
    e.session = *record.session;
  } else if (record.session) {
    if (!core.sessions.live(*record.session)) return text("export ", slot, " is of no session");
    e.session = *record.session;
    link_front<&Export::of_session>(core.exports.table(), core.sessions.at(e.session).exports, slot);
  }
  core.awaited += e.life != nullptr && e.life->awaited ? 1 : 0;
  const bool timed = e.state == ExportState::kOrphaned || (e.life != nullptr && e.life->awaited);
  if (timed && e.life != nullptr && e.life->linger_end != kNever)
    e.life->linger_ticket = core.deadlines.insert(e.life->linger_end, {Deadline::Kind::kLinger, slot});
  return {};
}

}  // namespace

Misfit restore_allocations(Core& core, const RecordSet& records) {
  for (const auto& [key, record] : records.allocations) {
    Allocation entry;
    entry.handle = HandleId{record.handle};
    entry.size = record.size;
    entry.device = record.device;
    entry.inode = record.inode;
    entry.declared_by = SessionId{record.declared_by};
    entry.kind = static_cast<HandleKind>(record.kind);
    entry.mergeable = record.mergeable;
    entry.writable = record.writable;
    entry.sealed = record.sealed;
    entry.size_known = record.size_known;
    if (!core.allocations.restore(AllocationId::of(key.slot, record.use), entry))
      return text("allocation ", key.slot, " is in another's place, or there twice");
  }
  return {};
}

Misfit restore_exports(Core& core, const RecordSet& records, Recorder& recorder) {
  const Pages pages = pages_in(records, RecordKind::kChunks);
  std::vector<const std::pair<RecordKey, record::Export>*> ordered;
  for (const auto& entry : records.exports) ordered.push_back(&entry);
  std::sort(ordered.begin(), ordered.end(), [](const auto* a, const auto* b) {
    return std::tuple(a->second.order, a->second.created, a->first) <
           std::tuple(b->second.order, b->second.created, b->first);
  });
  for (const auto* entry : ordered)
    if (Misfit misfit = restore_export(core, entry->first, entry->second, pages, recorder); !misfit.empty())
      return misfit;
  return {};
}

Misfit restore_stagings(Core& core, const RecordSet& records, Recorder& recorder) {
  const Pages pages = pages_in(records, RecordKind::kStagedChunks);
  auto ordered = records.stagings;
  std::sort(ordered.begin(), ordered.end(),
            [](const auto& a, const auto& b) { return a.second.order < b.second.order; });
  for (const auto& [key, record] : ordered) {
    if (!core.sessions.live(record.session) || !core.exports.table().live(key.slot))
      return text("staging ", key.slot, " is nobody's");
    Session& session = core.sessions.at(record.session);
    auto staging = std::make_unique<Staging>();
    staging->exported = key.slot;
    staging->first = record.first;
    staging->metadata = record.metadata;
    staging->acl = core.exports.acls().take(acl_of(record.acl));
    staging->placement = core.exports.placements().take(placement_of(record.device, record.peers));
    staging->kind = static_cast<HandleKind>(record.kind);
    staging->max_size = record.max_size;
    staging->replace = record.replace;
    staging->linger_ns = record.linger_ns;
    staging->promises_write = record.promises_write;
    staging->total_chunks = record.total_chunks;
    staging->total_size = record.total_size;
    staging->handles_to_come = record.handles_to_come;
    if (!enum_of(record.change, ChangeRequest::Kind::kResume, staging->change) ||
        !enum_of(record.lifetime, Lifetime::kPersist, staging->lifetime) ||
        (record.max_access != 0 && !access_of(record.max_access, staging->max_access)) ||
        record.total_chunks > limits::kExportChunks || session.account == kNoSlot ||
        !chunks_of(core, session.account, pages, RecordKind::kStagedChunks, key.slot, record.chunks,
                   staging->chunks))
      return text("staging ", key.slot, " is damaged");
    for (const Chunk& chunk : staging->chunks) staging->bytes += chunk.size;
    const Promise promised = promise_of(*staging);
    charge_again(core, session, Resource::kStagings, promised.paged ? 1 : 0);
    charge_again(core, session, Resource::kExports, promised.new_export ? 1 : 0);
    charge_again(core, session, Resource::kChunks, promised.chunks);
    charge_again(core, session, Resource::kDescriptors, promised.descriptors);
    core.fds.promise(staging->handles_to_come);
    recorder.note_staging(record.session, key.slot, staging->chunks.size());
    session.stagings.push_back(std::move(staging));
  }
  return {};
}

}  // namespace hb::core
