// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// An export gets other chunks: more behind the last (append), others in the place of some (replace), all of
// them again after a sleep (resume). Each takes effect at once, as one new layout version, or leaves no
// trace.
#include <algorithm>
#include <utility>

#include "core/access_rules.h"
#include "core/awaiting.h"
#include "core/ending.h"
#include "core/event_table.h"
#include "core/export_rules.h"
#include "core/failure.h"
#include "core/lookup.h"
#include "core/page.h"
#include "core/quota.h"
#include "core/staging.h"
#include "core/validity_slots.h"
#include "core/verbs.h"
#include "wire/limits.h"

namespace hb::core {

namespace {

using Kind = ChangeRequest::Kind;

std::string_view verb(Kind kind) {
  return kind == Kind::kAppend ? "append" : kind == Kind::kReplace ? "replace" : "resume";
}

std::optional<Error> refuse_state(const Export& e, Kind kind) {
  if (kind == Kind::kResume) {
    if (e.state == ExportState::kSuspended) return std::nullopt;
    return failure(HB_INVALID, "the export is not suspended: there is nothing to resume");
  }
  if (e.state == ExportState::kSuspended)
    return failure(HB_SUSPENDED, "the export is asleep: resume it before you ", verb(kind), " chunks");
  return std::nullopt;
}

std::optional<Error> refuse_append(const Export& e, const ChangeRequest& request, std::uint32_t uid) {
  if (e.max_size() == 0)
    return failure(HB_UNSUPPORTED, "the export cannot grow: it was made without a maximum (max_bytes)");
  if (request.total_size > e.max_size() - e.size()) {
    Error error = failure(HB_RANGE, e.size(), " bytes and ", request.total_size,
                          " more are over the maximum of ", e.max_size(), " that the export was made with");
    error.what = "bytes";
    error.used = e.size() + request.total_size;
    error.limit = e.max_size();
    return error;
  }
  const std::uint64_t chunks = e.chunks.all().size();
  if (request.total_chunks > limits::kExportChunks - chunks)
    return over_bound("chunks", chunks + request.total_chunks, limits::kExportChunks, uid);
  return std::nullopt;
}

std::optional<Error> refuse_extent(const Export& e, const ChangeRequest& request, std::uint32_t uid) {
  const std::uint64_t chunks = e.chunks.all().size();
  switch (request.kind) {
    case Kind::kAppend:
      return refuse_append(e, request, uid);
    case Kind::kReplace:
      if (request.first < chunks && request.total_chunks <= chunks - request.first) return std::nullopt;
      return failure(HB_RANGE, "chunks ", request.first, " to ", request.first + request.total_chunks,
                     " are to be replaced, the export has ", chunks);
    case Kind::kResume:
      // Offered again to a broker that never knew its chunks.
      if (e.life->lost && e.life->suspended_sizes.empty() && request.total_size == e.life->suspended_size)
        return std::nullopt;
      if (request.total_chunks == e.life->suspended_sizes.size() &&
          request.total_size == e.life->suspended_size)
        return std::nullopt;
      return failure(HB_MISMATCH, "resumed with ", request.total_chunks, " chunks of ", request.total_size,
                     " bytes together, suspended with ", e.life->suspended_sizes.size(), " of ",
                     e.life->suspended_size, "; append after the resume to grow");
    case Kind::kNone:
      break;
  }
  return failure(HB_UNSUPPORTED, "kind of change ", static_cast<unsigned>(request.kind),
                 " is not known to this daemon");
}

Staging staging_for(const Export& e, std::uint32_t slot, const ChangeRequest& request) {
  Staging staging;
  staging.exported = slot;
  staging.change = request.kind;
  staging.first = request.kind == Kind::kReplace  ? request.first
                  : request.kind == Kind::kAppend ? e.chunks.all().size()
                                                  : 0;
  staging.kind = e.kind;
  staging.promises_write = e.access == Access::kReadWrite;
  staging.total_chunks = request.total_chunks;
  staging.total_size = request.total_size;
  return staging;
}

std::optional<Error> refuse(const Core& core, const Asker& asker, std::uint32_t slot,
                            const ChangeRequest& request, std::uint64_t descriptors) {
  const Export& e = core.exports.at(slot);
  const std::uint32_t uid = asker.session.principal.uid;
  if (request.kind == Kind::kAppend)
    if (auto refused = refuse_verb(core, asker.session.principal, Verb::kExport)) return refused;
  if (auto refused = refuse_state(e, request.kind)) return refused;
  if (staging_of(core, asker.session, request.id) != nullptr)
    return failure(HB_BUSY, "another change of export ", request.id.value, " is being sent");
  if (request.total_chunks == 0 || request.total_size == 0 || request.chunks.empty())
    return failure(HB_INVALID, "an empty change: ", request.total_chunks, " chunks, ", request.total_size,
                   " bytes announced, ", request.chunks.size(), " chunks sent");
  if (request.distinct_handles > request.total_chunks)
    return failure(HB_INVALID, request.distinct_handles, " descriptors announced for ", request.total_chunks,
                   " chunks; each must belong to a chunk");
  if (auto refused = refuse_extent(e, request, uid)) return refused;
  const Device& own = core.exports.placements().at(e.placement).device;
  if (!(request.device == own))
    return chunk_failure(HB_MIXED, staging_for(e, slot, request).first, "on device \"", request.device.uuid,
                         "\" at \"", request.device.pci, "\", the export is on \"", own.uuid, "\" at \"",
                         own.pci, "\"; all chunks of an export are on one device");
  const Staging staging = staging_for(e, slot, request);
  PageRules rules{e.kind, staging.promises_write,   request.total_chunks, request.total_size, 0,
                  0,      request.distinct_handles, staging.first};
  if (request.chunks.size() >= request.total_chunks) rules.handles = descriptors;
  if (auto refused = refuse_page(rules, request.chunks, request.handles)) return refused;
  if (auto refused = refuse_change_page(core, staging, 0, request.chunks, request.handles)) return refused;
  return core.fds.refuse("the change", core.fds_used(), descriptors);
}

void grow(Call& call, std::uint32_t slot) {
  Core& core = call.core;
  for (std::uint32_t lease = core.exports.at(slot).leases; lease != kNoSlot;
       lease = core.leases.at(lease).of_export.next) {
    const Lease& holder = core.leases.at(lease);
    if (!holder.follows) continue;
    if (holder.current)
      call.out.emplace_back(SetValidity{core.sessions.id_of(holder.session), holder.validity_slot,
                                        holder.validity_value | kGrownBit});
    tell_holder(call, lease, EventKind::kGrown);
  }
}

void replaced(Call& call, std::uint32_t slot, ChunkRun run) {
  Core& core = call.core;
  for (std::uint32_t lease = core.exports.at(slot).leases; lease != kNoSlot;
       lease = core.leases.at(lease).of_export.next) {
    const Lease& holder = core.leases.at(lease);
    const std::uint64_t first = std::max<std::uint64_t>(run.first, holder.first_chunk);
    const std::uint64_t end =
        std::min<std::uint64_t>(run.first + run.count, holder.first_chunk + holder.chunk_count);
    if (first >= end) continue;
    clear_word(call, lease);
    tell_holder(call, lease, EventKind::kReplaced, {first, end - first});
  }
}

}  // namespace

std::optional<Error> refuse_change_page(const Core& core, const Staging& staging, std::uint64_t received,
                                        const std::vector<NewChunk>& chunks,
                                        const std::vector<HandleFacts>& handles) {
  const Export& e = core.exports.at(staging.exported);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const std::uint64_t number = staging.first + received + i;
    if (e.all_sealed && !(staging.change == Kind::kResume && e.life->suspended_sizes.empty()) &&
        !handles[chunks[i].handle].sealed)
      return chunk_failure(HB_LEVEL, number,
                           "not sealed against writing, and every chunk of the export is: readers were "
                           "promised read-only level sealed");
    if (staging.change == Kind::kAppend) continue;
    if (staging.change == Kind::kResume && e.life->suspended_sizes.empty()) continue;
    const std::uint64_t before =
        staging.change == Kind::kReplace ? e.chunks.all()[number].size : e.life->suspended_sizes[number];
    if (chunks[i].size != before)
      return chunk_failure(HB_MISMATCH, number, "of ", chunks[i].size, " bytes takes the place of one of ",
                           before, "; sizes stay, so that importers can map it in place");
  }
  return std::nullopt;
}

Outcome apply_change(Call& call, const Staging& change) {
  Core& core = call.core;
  const std::uint32_t slot = change.exported;
  Export& e = core.exports.at(slot);
  const std::span<const Chunk> old = e.chunks.all();
  std::vector<Chunk> chunks(old.begin(), old.end());
  const ChunkRun run{change.first, change.chunks.size()};
  // Those who had not unmapped yet are named to who waits for them, of the sleep that ends here.
  if (change.change == Kind::kResume) answer_drains(call, slot, true);
  if (change.change == Kind::kReplace) {
    for (std::size_t i = 0; i < change.chunks.size(); ++i) {
      Chunk& place = chunks[change.first + i];
      drop_chunk(call, e.account, place.allocation);
      place.allocation = change.chunks[i].allocation;
      place.offset = change.chunks[i].offset;
    }
    give_back(core, e.account, Resource::kChunks, change.chunks.size());
  } else {
    const std::uint64_t start = e.chunks.bytes();
    for (Chunk chunk : change.chunks) {
      chunk.start += start;
      chunks.push_back(chunk);
    }
  }
  const bool was_sealed = e.all_sealed;
  // The memory that holders have mapped: the layout is the one that they know, and nobody is told.
  const bool as_before = change.change == Kind::kResume && e.life->lost;
  const bool never_known = as_before && e.life->suspended_sizes.empty();
  settle_chunks(core, e, chunks);
  e.all_sealed = e.all_sealed && (was_sealed || never_known);
  e.layout_version += as_before ? 0 : 1;
  Outcome outcome;
  switch (change.change) {
    case Kind::kAppend:
      grow(call, slot);
      break;
    case Kind::kReplace:
      core.exports.life_of(slot).changes.add(e.layout_version, run);
      replaced(call, slot, run);
      break;
    default: {
      core.exports.set_state(slot, ExportState::kLive);
      if (as_before) {
        stop_awaiting(call, slot);
        core.exports.life_of(slot).suspended_sizes = {};
      } else {
        core.exports.life_of(slot).changes.add(e.layout_version, run);
        wake(call, slot);
      }
      outcome.completed = slot;
      break;
    }
  }
  outcome.body = exported_reply(core, slot);
  outcome.after_close = change.change == Kind::kReplace;
  return outcome;
}

Outcome change(Call& call, Asker& asker, ChangeRequest& request) {
  Core& core = call.core;
  const std::uint64_t descriptors = std::max<std::uint64_t>(request.distinct_handles, request.handles.size());
  const auto slot = find_own(core, asker, request.id);
  std::optional<Error> refused;
  if (!slot) refused = slot.error();
  if (!refused) refused = refuse(core, asker, *slot, request, descriptors);
  const bool paged = request.total_chunks > request.chunks.size();
  Promise made{paged, false, request.total_chunks, descriptors};
  if (!refused) refused = promise(core, asker.session, made);
  if (refused) {
    close_all(call, request.handles);
    return std::move(*refused);
  }
  auto staging = std::make_unique<Staging>(staging_for(core.exports.at(*slot), *slot, request));
  refused = take_page(call, asker, request.chunks, request.handles, staging->chunks, staging->bytes);
  made.descriptors -= request.handles.size();
  if (refused) {
    break_promise(core, asker.session, made);
    return std::move(*refused);
  }
  if (!paged) {
    break_promise(core, asker.session, {false, false, 0, made.descriptors});
    return apply_change(call, *staging);
  }
  staging->handles_to_come = made.descriptors;
  core.fds.promise(staging->handles_to_come);
  asker.session.stagings.push_back(std::move(staging));
  return progress(core, *asker.session.stagings.back());
}

}  // namespace hb::core
