// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/recorder.h"

#include <algorithm>
#include <utility>

namespace hb::core {

namespace {

constexpr std::uint32_t kPage = record::Chunks::kPage;

std::uint32_t pages_for(std::uint64_t chunks) {
  return static_cast<std::uint32_t>((chunks + kPage - 1) / kPage);
}

void fill(record::Chunks& out, std::span<const Chunk> chunks) {
  out.allocations.clear();
  out.offsets.clear();
  out.sizes.clear();
  for (const Chunk& chunk : chunks) {
    out.allocations.push_back(chunk.allocation.value);
    out.offsets.push_back(chunk.offset);
    out.sizes.push_back(chunk.size);
  }
}

template <class T>
std::span<const T> page_of(std::span<const T> all, std::uint32_t page) {
  const std::size_t first = std::size_t{page} * kPage;
  return all.subspan(first, std::min<std::size_t>(kPage, all.size() - first));
}

constexpr std::uint32_t kStep = 4096;  // floors move by so much
std::uint32_t step_above(std::uint32_t use) { return use | (kStep - 1); }

}  // namespace

void Recorder::watch(Core& core) {
  core.sessions.watch();
  core.exports.table().watch();
  core.allocations.table().watch();
  core.leases.watch();
  core.tickets.table().watch();
  core.groups.table().watch();
  core.waits.table().watch();
}

void Recorder::note_pages(std::uint32_t export_slot, std::uint32_t pages) {
  if (pages_.size() <= export_slot) pages_.resize(export_slot + 1, 0);
  pages_[export_slot] = pages;
}

void Recorder::note_staging(std::uint32_t session_slot, std::uint32_t export_slot, std::uint64_t chunks) {
  staged_[session_slot].push_back({export_slot, chunks});
}

void Recorder::write(Core& core, RecordSink& sink) {
  const Core& read = core;
  // Before what is new: an id must not be given out again that only the memory of this process knows.
  write_floors(read, sink);
  core.allocations.table().take_touched([&](std::uint32_t slot) {
    const RecordKey key{RecordKind::kAllocation, slot};
    const auto& table = read.allocations.table();
    if (table.live(slot)) return sink.put(key, record_of(table.at(slot), table.id_of(slot).use()));
    sink.drop(key);
  });
  core.exports.table().take_touched([&](std::uint32_t slot) { write_export(core, slot, sink); });
  core.sessions.take_touched([&](std::uint32_t slot) { write_session(core, slot, sink); });
  core.leases.take_touched([&](std::uint32_t slot) {
    const RecordKey key{RecordKind::kLease, slot};
    if (read.leases.live(slot))
      return sink.put(key, record_of(read.leases.at(slot), read.leases.id_of(slot).use()));
    sink.drop(key);
  });
  core.tickets.table().take_touched([&](std::uint32_t slot) {
    const RecordKey key{RecordKind::kTicket, slot};
    const auto& table = read.tickets.table();
    if (table.live(slot)) return sink.put(key, record_of(table.at(slot), table.id_of(slot).use()));
    sink.drop(key);
  });
  core.groups.table().take_touched([&](std::uint32_t slot) {
    const RecordKey key{RecordKind::kGroup, slot};
    const auto& table = read.groups.table();
    if (table.live(slot) && table.at(slot).phase != GroupPhase::kGathering)
      return sink.put(key, record_of(table.at(slot), table.id_of(slot).use()));
    sink.drop(key);
  });
  core.waits.table().take_touched([&](std::uint32_t slot) {
    const RecordKey key{RecordKind::kWait, slot};
    const auto* drain =
        read.waits.table().live(slot) ? std::get_if<DrainWait>(&read.waits.at(slot).what) : nullptr;
    if (drain == nullptr) return sink.drop(key);
    const Wait& wait = read.waits.at(slot);
    sink.put(key, record::Wait{wait.session, wait.request_id, wait.frame_type, wait.deadline, drain->exported,
                               drain->unmapped, drain->exports});
  });
}

void Recorder::write_floors(const Core& core, RecordSink& sink) {
  record::Floors now;
  now.sessions = step_above(core.sessions.highest_use());
  now.exports = step_above(core.exports.table().highest_use());
  now.allocations = step_above(core.allocations.table().highest_use());
  now.leases = step_above(core.leases.highest_use());
  now.tickets = step_above(core.tickets.table().highest_use());
  now.groups = step_above(core.groups.table().highest_use());
  now.export_slots = step_above(core.exports.table().slots());
  if (now == floors_) return;
  floors_ = now;
  sink.put({RecordKind::kFloors, 0}, now);
}

void Recorder::write_session(Core& core, std::uint32_t slot, RecordSink& sink) {
  const Core& read = core;
  const RecordKey key{RecordKind::kSession, slot};
  write_stagings(read, slot, sink);
  if (!read.sessions.live(slot)) {
    sink.drop(key);
    for (std::uint32_t place = 0; place < limits::kRememberedAnswers; ++place)
      sink.drop({RecordKind::kAnswer, slot, place});
    return;
  }
  record_into(read, slot, session_);
  sink.put(key, session_);
  AnswerLog& answers = core.sessions.scratch(slot).answers;
  for (std::uint32_t changed = answers.take_changed(); changed != 0; changed &= changed - 1) {
    const auto place = static_cast<std::uint32_t>(std::countr_zero(changed));
    sink.put({RecordKind::kAnswer, slot, place}, record_of(answers.at(place)));
  }
  // The slot may have been another session's a moment ago.
  for (auto place = static_cast<std::uint32_t>(answers.size()); place < limits::kRememberedAnswers; ++place)
    sink.drop({RecordKind::kAnswer, slot, place});
}

void Recorder::drop_staging(const Staged& staged, RecordSink& sink) {
  sink.drop({RecordKind::kStaging, staged.exported});
  for (std::uint32_t page = 0; page < pages_for(staged.chunks); ++page)
    sink.drop({RecordKind::kStagedChunks, staged.exported, page});
}

void Recorder::write_stagings(const Core& core, std::uint32_t session_slot, RecordSink& sink) {
  const auto known = staged_.find(session_slot);
  static const std::vector<std::unique_ptr<Staging>> kNone;
  const auto& own = core.sessions.live(session_slot) ? core.sessions.at(session_slot).stagings : kNone;
  if (known == staged_.end() && own.empty()) return;
  std::vector<Staged> before = known == staged_.end() ? std::vector<Staged>() : std::move(known->second);
  std::vector<Staged> now;
  for (std::size_t order = 0; order < own.size(); ++order) {
    const Staging& staging = *own[order];
    Staged staged{staging.exported, 0};
    const auto same = std::find_if(before.begin(), before.end(),
                                   [&](const Staged& one) { return one.exported == staging.exported; });
    if (same != before.end()) {
      // Fewer than before: it is another one.
      if (same->chunks > staging.chunks.size())
        drop_staging(*same, sink);
      else
        staged = *same;
      before.erase(same);
    }
    for (std::uint32_t page = static_cast<std::uint32_t>(staged.chunks / kPage);
         page < pages_for(staging.chunks.size()); ++page) {
      fill(chunks_, page_of(std::span<const Chunk>(staging.chunks), page));
      sink.put({RecordKind::kStagedChunks, staging.exported, page}, chunks_);
    }
    staged.chunks = staging.chunks.size();
    sink.put({RecordKind::kStaging, staging.exported}, record_of(core, staging, session_slot, order));
    now.push_back(staged);
  }
  for (const Staged& gone : before) drop_staging(gone, sink);
  if (now.empty())
    staged_.erase(session_slot);
  else
    staged_[session_slot] = std::move(now);
}

void Recorder::write_pages(const Export& e, std::uint32_t slot, RecordSink& sink) {
  const bool asleep = e.state == ExportState::kSuspended;
  const std::span<const Chunk> chunks = e.chunks.all();
  const std::uint32_t pages = pages_for(asleep ? e.life->suspended_sizes.size() : chunks.size());
  if (pages_.size() <= slot) pages_.resize(slot + 1, 0);
  for (std::uint32_t page = pages; page < pages_[slot]; ++page) sink.drop({RecordKind::kChunks, slot, page});
  pages_[slot] = pages;
  for (std::uint32_t page = 0; page < pages; ++page) {
    if (asleep) {
      fill(chunks_, {});
      const auto sizes = page_of(std::span<const std::uint64_t>(e.life->suspended_sizes), page);
      chunks_.sizes.assign(sizes.begin(), sizes.end());
    } else {
      fill(chunks_, page_of(chunks, page));
    }
    sink.put({RecordKind::kChunks, slot, page}, chunks_);
  }
}

void Recorder::write_export(Core& core, std::uint32_t slot, RecordSink& sink) {
  const Core& read = core;
  const RecordKey key{RecordKind::kExport, slot};
  if (!read.exports.table().live(slot)) {
    sink.drop(key);
    for (std::uint32_t page = 0; slot < pages_.size() && page < pages_[slot]; ++page)
      sink.drop({RecordKind::kChunks, slot, page});
    if (slot < pages_.size()) pages_[slot] = 0;
    return;
  }
  const Export& e = read.exports.at(slot);
  if (e.chunks_changed) {
    write_pages(e, slot, sink);
    core.exports.table().scratch(slot).chunks_changed = false;
  }
  record_into(read, slot, export_);
  sink.put(key, export_);
}

}  // namespace hb::core
