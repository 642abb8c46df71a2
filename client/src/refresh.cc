// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "refresh.h"

#include <algorithm>
#include <vector>

#include "chunk_reader.h"
#include "client.h"
#include "clock.h"
#include "import_turn.h"

namespace hb::client {
namespace {

Error anew(const char* what) {
  return fail(HB_UNSUPPORTED, std::string(what) + " is not changed in place: close it and import it anew")
      .value();
}

class Refreshing {
 public:
  Refreshing(hb_import& imported, std::uint64_t deadline_ns)
      : imported_(imported),
        range_(*imported.range),
        session_(imported.lease.shared_session()),
        deadline_ns_(deadline_ns),
        reader_(session_, imported.client->stats(), deadline_ns) {}

  // `again`: the export changed once more meanwhile, and nothing was done.
  Result<Refreshed> run(bool& again) {
    again = false;
    asleep_ = imported_.asleep.load();
    auto asked = ask();
    if (!asked) return tl::unexpected(std::move(asked.error()));
    auto done = apply();
    if (done) {
      commit();
      return out_;
    }
    undo();
    again = done.error().status == HB_STALE;
    // What is mapped is as good as it was where all that is new lies behind it.
    if (!asleep_ && changed_.empty()) imported_.lease.watch(value_, true);
    done.error().not_sent = false;
    return tl::unexpected(std::move(done.error()));
  }

 private:
  Result<void> ask() {
    msg::Refresh question;
    question.lease_id = imported_.lease.id();
    question.have_version = imported_.grant.layout_version;
    auto reply = session_->call(FrameType::kRefresh, as_bytes(encoded(question)), {}, deadline_ns_);
    if (!reply) {
      if (reply.error().not_sent) reply.error().message += "; what was mapped stays readable, import it anew";
      reply.error().not_sent = false;
      return tl::unexpected(std::move(reply.error()));
    }
    const auto body = msg::decode<msg::RefreshReply>(reply->body);
    if (!body) return fail(malformed(body.error()));
    auto next = grant_of(*session_, body->grant);
    if (!next) return tl::unexpected(std::move(next.error()));
    next_ = std::move(*next);
    value_ = body->grant.validity_value;
    const auto words = session_->validity(deadline_ns_);
    if (!words) return tl::unexpected(words.error());
    const Grant& now = imported_.grant;
    if (!imported_.lease.watches((*words)->slot(body->grant.validity_slot)) || next_.offset != now.offset ||
        next_.first_chunk != now.first_chunk || next_.chunk_base != now.chunk_base ||
        next_.bytes < now.bytes || next_.chunk_count < now.chunk_count ||
        next_.handle_kind != now.handle_kind || !(next_.device == now.device))
      return broken_grant("a refreshed lease is of another range");
    for (const msg::ChunkRun& run : body->changed) {
      const std::uint64_t end = now.first_chunk + now.chunk_count;
      if (run.first >= end) continue;  // behind what is mapped: new anyway
      if (run.first < now.first_chunk || run.count == 0) return broken_grant("a run of no chunks");
      changed_.push_back({run.first, std::min(run.count, end - run.first)});
    }
    return {};
  }

  Result<void> apply() {
    if (next_.bytes > imported_.reserved_bytes())
      return fail(limit_error(
          HB_RANGE, "reserve_bytes", next_.bytes, imported_.reserved_bytes(),
          "the export has grown to " + std::to_string(next_.bytes) + " bytes from here, " +
              std::to_string(imported_.reserved_bytes()) +
              " bytes of addresses are held: import it anew, with reserve_bytes for what is still to come"));
    const Grant& now = imported_.grant;
    if (asleep_) {
      if (auto awake = range_.wake(); !awake) return awake;
      woken_ = true;
      return map_from(now.first_chunk, now.chunk_base);
    }
    if (auto added = map_from(now.first_chunk + now.chunk_count, now.offset + now.bytes); !added)
      return added;
    for (const msg::ChunkRun& run : changed_)
      if (auto replaced = replace(run); !replaced) return replaced;
    return {};
  }

  // All chunks from this one on.
  Result<void> map_from(std::uint64_t number, std::uint64_t position) {
    const std::uint64_t end = next_.first_chunk + next_.chunk_count;
    while (number < end) {
      auto page = reader_.fetch(imported_.lease, next_, number, end - number, position);
      if (!page) return tl::unexpected(std::move(page.error()));
      for (const PageChunk& chunk : page->chunks) {
        const auto part = part_of(next_, *page, chunk);
        if (!part) return tl::unexpected(part.error());
        if (auto mapped = range_.map(*part); !mapped) return mapped;
      }
      number += page->chunks.size();
      position = page->end;
    }
    if (position < next_.offset + next_.bytes) return broken_grant("its chunks end before its range");
    return {};
  }

  Result<void> replace(const msg::ChunkRun& run) {
    std::uint64_t number = run.first;
    const std::size_t index = number - next_.first_chunk;
    std::uint64_t position = index == 0 ? next_.chunk_base : next_.offset + range_.part_at(index);
    while (number < run.first + run.count) {
      auto page = reader_.fetch(imported_.lease, next_, number, run.first + run.count - number, position);
      if (!page) return tl::unexpected(std::move(page.error()));
      for (const PageChunk& chunk : page->chunks) {
        const auto part = part_of(next_, *page, chunk);
        if (!part) return tl::unexpected(part.error());
        if (auto replaced = range_.replace(*part); !replaced) return replaced;
      }
      number += page->chunks.size();
      position = page->end;
    }
    return {};
  }

  void undo() noexcept {
    if (asleep_) {
      if (woken_) range_.sleep();
      return;
    }
    range_.undo_replaced();
    range_.cut(imported_.grant.bytes);
  }

  void commit() {
    range_.keep_replaced();
    Grant& now = imported_.grant;
    out_.layout_version = next_.layout_version;
    out_.bytes = next_.bytes;
    out_.old_bytes = now.bytes;
    out_.first_new_chunk = now.first_chunk + now.chunk_count;
    out_.new_chunks = next_.chunk_count - now.chunk_count;
    for (const msg::ChunkRun& run : changed_) out_.replaced_chunks += run.count;
    out_.woken = asleep_;
    if (asleep_) imported_.show();
    Stats::add(imported_.client->stats().mapped_bytes, asleep_ ? next_.bytes : next_.bytes - now.bytes);
    {
      const std::lock_guard guard(imported_.look);
      now.bytes = next_.bytes;
      now.generation = next_.generation;
      now.layout_version = next_.layout_version;
      now.export_bytes = next_.export_bytes;
      now.chunk_count = next_.chunk_count;
      now.object_bytes = next_.object_bytes;
      now.max_bytes = next_.max_bytes;
      now.level = next_.level;
      now.secret = next_.secret;
    }
    imported_.asleep.store(false);
    imported_.lease.watch(value_, false);
  }

  hb_import& imported_;
  ImportedRange& range_;
  const std::shared_ptr<Session> session_;
  const std::uint64_t deadline_ns_;
  ChunkReader reader_;
  bool asleep_ = false;
  bool woken_ = false;
  Grant next_;
  std::uint32_t value_ = 0;
  std::vector<msg::ChunkRun> changed_;
  Refreshed out_;
};

}  // namespace

Result<Refreshed> refresh_import(hb_import& imported, std::uint64_t deadline_ns) {
  if (imported.alias_of != nullptr) return fail(anew("an alias, which is the owner's own memory,"));
  std::uint64_t had_bytes = 0;
  std::uint64_t had_chunks = 0;
  {
    const std::lock_guard guard(imported.look);
    had_bytes = imported.grant.bytes;
    had_chunks = imported.grant.chunk_count;
  }
  ImportTurn turn(imported);
  if (auto taken = turn.take(deadline_ns); !taken) return tl::unexpected(std::move(taken.error()));
  Refreshed out;
  if (imported.lease.is_exact() && !imported.asleep.load()) {
    // Nothing to do, or another thread has just done it.
    out.layout_version = imported.grant.layout_version;
    out.bytes = imported.grant.bytes;
  } else {
    for (bool again = true; again;) {
      auto done = Refreshing(imported, deadline_ns).run(again);
      if (done) {
        out = *done;
        break;
      }
      if (!again) return done;
      if (now_ns() >= deadline_ns)
        return fail(HB_TIMEOUT, "the export was changed again and again while the import was refreshed: " +
                                    done.error().message);
    }
  }
  out.old_bytes = had_bytes;
  out.first_new_chunk = imported.grant.first_chunk + had_chunks;
  out.new_chunks = imported.grant.chunk_count - had_chunks;
  return out;
}

Result<void> unmap_import(hb_import& imported) {
  if (imported.alias_of != nullptr)
    return fail(HB_INVALID, "an alias is the owner's own memory: there is nothing to unmap, close it");
  ImportTurn turn(imported);
  if (auto taken = turn.take(kNoDeadline); !taken) return taken;
  if (!imported.asleep.exchange(true)) {
    imported.hide();
    imported.range->sleep();
    imported.client->stats().mapped_bytes.fetch_sub(imported.grant.bytes, std::memory_order_relaxed);
  }
  imported.lease.session().unmapped(imported.lease.id());
  return {};
}

}  // namespace hb::client
