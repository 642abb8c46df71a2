// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "export_change.h"

#include <algorithm>
#include <mutex>
#include <numeric>

#include "chunk_sender.h"
#include "handle_kind.h"
#include "looking.h"
#include "range_gone.h"

namespace hb::client {
namespace {

using Kind = msg::Change::Kind;
using Layout = ExportRecord::Layout;

// In an export: no alias is looked for there.
constexpr std::uint64_t kNowhere = std::uint64_t{1} << 62;

const char* kind_name(std::uint32_t kind) {
  return kind == HB_KIND_MEMFD ? "a memfd" : kind == HB_KIND_DMABUF ? "a dma-buf" : "a driver's descriptor";
}

Error mixed(std::uint64_t chunk, const std::string& why) {
  Error error;
  error.status = HB_MIXED;
  error.chunk = static_cast<std::int64_t>(chunk);
  error.message = "chunk " + std::to_string(chunk) + " " + why;
  return error;
}

Result<void> check_same(const ExportRecord& record, const ExportPlan& plan, std::uint64_t first) {
  if (record.handle_kind == 0) return {};  // the daemon looks
  if (!(plan.device == record.device)) {
    const auto where = [](const DeviceId& device) {
      return device.empty() ? std::string("host memory") : "on " + device.text();
    };
    return fail(mixed(first, "is " + where(plan.device) + ", the export is " + where(record.device) +
                                 "; all chunks of an export are on one device"));
  }
  for (std::size_t i = 0; i < plan.chunks.size(); ++i) {
    const BorrowedFd fd = plan.chunks[i].fd;
    const std::uint32_t kind = fd.get() >= 0 && plan.source == nullptr ? kind_of(fd) : kind_of_plan(plan);
    if (kind != record.handle_kind)
      return fail(mixed(first + i, std::string("is ") + kind_name(kind) + ", the export is of " +
                                       kind_name(record.handle_kind) +
                                       "s; all chunks of an export are of one kind"));
    if (plan.source != nullptr) break;  // of one allocation all are of one kind
  }
  return {};
}

// Side by side in memory of the library's own, two parts are one: an alias may lie over both.
void join(ExportParts& parts) {
  for (std::size_t i = 1; i < parts.size();) {
    ExportPart& before = parts[i - 1];
    const ExportPart& part = parts[i];
    const bool one = part.library_memory && before.library_memory &&
                     part.memory.lock() == before.memory.lock() && before.ptr != nullptr &&
                     static_cast<const char*>(before.ptr) + before.bytes == part.ptr &&
                     before.offset + before.bytes == part.offset;
    if (one) {
      before.bytes += part.bytes;
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

// Without the bytes [offset, offset + bytes) of the export.
ExportParts without(const ExportParts& parts, std::uint64_t offset, std::uint64_t bytes) {
  ExportParts out;
  const std::uint64_t end = offset + bytes;
  for (const ExportPart& part : parts) {
    const std::uint64_t last = part.offset + part.bytes;
    if (part.offset < offset) {
      out.push_back(part);
      out.back().bytes = std::min(last, offset) - part.offset;
    }
    if (last > end) {
      const std::uint64_t cut = end > part.offset ? end - part.offset : 0;
      out.push_back(part);
      out.back().offset += cut;
      out.back().bytes -= cut;
      if (part.ptr != nullptr) out.back().ptr = static_cast<const char*>(part.ptr) + cut;
    }
  }
  return out;
}

std::vector<AddressSpan> spans_of(const ExportParts& parts) {
  std::vector<AddressSpan> spans;
  for (const ExportPart& part : parts) spans.push_back(part.span());
  return spans;
}

struct Change {
  Kind kind = Kind::kNone;
  std::uint64_t first = 0;   // chunk whose place is taken, or the next one
  std::uint64_t offset = 0;  // of it inside the export
};

struct Sent {
  std::uint64_t version = 0;
  std::string token;
};

Result<Sent> send(Session& session, const ExportRecord& record, const Change& change,
                  const ExportRequest& source, const ExportPlan& plan) {
  const auto fds = open_page(plan, plan.pages[0]);
  if (!fds) return tl::unexpected(fds.error());
  if (auto same = check_same(record, plan, change.first); !same) return tl::unexpected(same.error());
  const std::vector<msg::Chunk> chunks = wire_chunks(plan, plan.pages[0]);
  msg::Change message;
  message.export_id = record.id;
  message.kind = change.kind;
  message.first = change.kind == Kind::kReplace ? change.first : 0;
  message.total_chunks = plan.chunks.size();
  message.total_size = plan.bytes;
  message.distinct_handles = plan.handles;
  message.chunks = chunks;
  message.device = {plan.device.uuid, plan.device.pci, plan.device.partition};
  auto reply = session.call(FrameType::kChange, as_bytes(encoded(message)), fds->numbers, source.deadline_ns);
  if (!reply) {
    // Its first page may be on its way: half a change must not keep the next one out.
    if (reply.error().status == HB_TIMEOUT) session.abort_export(record.id);
    return tl::unexpected(std::move(reply.error()));
  }
  // Never kExport: the answer that comes late would end the whole export.
  auto done = send_rest(session, plan, std::move(*reply), source.deadline_ns, Late::kIgnore);
  if (!done) return tl::unexpected(std::move(done.error()));
  const msg::Bytes token = done->body.token;
  return Sent{done->body.layout_version,
              std::string(reinterpret_cast<const char*>(token.data()), token.size())};
}

Layout changed(const Layout& now, const Change& change, const ExportRequest& source, const ExportPlan& plan) {
  Layout next = change.kind == Kind::kResume ? Layout() : now;
  const ExportParts fresh = parts_of(source, plan, change.offset);
  if (change.kind == Kind::kReplace) {
    next.parts = without(now.parts, change.offset, plan.bytes);
    next.sources = without(now.sources, change.offset, plan.bytes);
  } else {
    next.bytes += plan.bytes;
    if (change.kind == Kind::kResume || next.chunks_known)
      for (const ChunkRef& chunk : plan.chunks) next.chunk_bytes.push_back(chunk.bytes);
  }
  next.parts.insert(next.parts.end(), fresh.begin(), fresh.end());
  std::sort(next.parts.begin(), next.parts.end(),
            [](const ExportPart& a, const ExportPart& b) { return a.offset < b.offset; });
  join(next.parts);
  next.sources.push_back(source_of(source, plan, change.offset));
  std::sort(next.sources.begin(), next.sources.end(),
            [](const ExportSource& a, const ExportSource& b) { return a.offset < b.offset; });
  return next;
}

// It may have been done, or be done yet: from now on hb_range_gone knows of that memory as well.
void watch_too(Client& client, const std::shared_ptr<ExportRecord>& record, const ExportRequest& source,
               const ExportPlan& plan) {
  auto next = std::make_shared<Layout>(*record->layout());
  for (const ExportPart& part : parts_of(source, plan, kNowhere)) next->parts.push_back(part);
  std::vector<ExportedRanges::Ticket> ranges;
  ranges.push_back(ExportedRanges::announce(spans_of(next->parts), client.mark()));
  static_cast<void>(ranges[0].publish(record));
  record->set_layout(std::move(next), std::move(ranges));
}

Result<void> apply(Client& client, const std::shared_ptr<ExportRecord>& record, const Change& change,
                   const ExportRequest& source) {
  // Announced before the first question about it, so that memory given back meanwhile is noticed.
  auto fresh = ExportedRanges::announce(spans_of(source), client.mark());
  const auto plan = plan_export(source);
  if (!plan) return tl::unexpected(plan.error());
  const auto sent = send(*record->session(), *record, change, source, *plan);
  if (!sent) {
    if (sent.error().status == HB_TIMEOUT) watch_too(client, record, source, *plan);
    return tl::unexpected(sent.error());
  }
  record->set_token(as_bytes(sent->token));
  auto next = std::make_shared<Layout>(changed(*record->layout(), change, source, *plan));
  next->version = sent->version;
  // The new addresses are found by the ticket that was announced; what is left of the old ones by one anew.
  std::vector<ExportedRanges::Ticket> ranges;
  ranges.push_back(ExportedRanges::announce(spans_of(next->parts), client.mark()));
  static_cast<void>(ranges[0].publish(record));
  record->set_layout(std::move(next), std::move(ranges));
  record->suspended.store(false);
  if (fresh.publish(record)) return {};
  static_cast<void>(end_export(client, *record, after_ns(HB_RANGE_GONE_NS)));
  return fail(HB_GONE,
              "the memory was given back (hb_range_gone) while it was being added: the export was withdrawn");
}

// Nobody waits: two changes at once have no order that either could rely on. An export that is on its way
// back to the daemon is brought there first; so it is where the daemon is found to have gone.
template <class Change>
auto in_turn(Client& client, ExportRecord& record, std::uint64_t deadline_ns, Change&& change)
    -> decltype(change()) {
  constexpr int kAttempts = 4;
  for (int attempt = 1;; ++attempt) {
    if (const auto session = client.session_of(record, deadline_ns, Client::Part::kWhole); !session)
      return tl::unexpected(session.error());
    const std::unique_lock lock(record.change, std::try_to_lock);
    if (!lock.owns_lock())
      return fail(HB_BUSY, "another thread is changing export " + std::to_string(record.id) + " just now");
    if (auto live = check_live(record); !live) return tl::unexpected(std::move(live.error()));
    auto done = change();
    if (done || !done.error().not_sent || attempt == kAttempts) return done;
  }
}

}  // namespace

Result<void> append_export(Client& client, const std::shared_ptr<ExportRecord>& record,
                           const ExportRequest& source) {
  return in_turn(client, *record, source.deadline_ns, [&]() -> Result<void> {
    const auto now = record->layout();
    return apply(client, record, {Kind::kAppend, now->chunk_bytes.size(), now->bytes}, source);
  });
}

Result<void> replace_export(Client& client, const std::shared_ptr<ExportRecord>& record,
                            std::uint64_t first_chunk, const ExportRequest& source) {
  return in_turn(client, *record, source.deadline_ns, [&]() -> Result<void> {
    const auto now = record->layout();
    if (!now->chunks_known) return apply(client, record, {Kind::kReplace, first_chunk, kNowhere}, source);
    if (first_chunk >= now->chunk_bytes.size())
      return fail(limit_error(HB_RANGE, "chunks", first_chunk, now->chunk_bytes.size(),
                              "chunk " + std::to_string(first_chunk) + " is to be replaced, the export has " +
                                  std::to_string(now->chunk_bytes.size())));
    const auto at = now->chunk_bytes.begin();
    const std::uint64_t offset =
        std::accumulate(at, at + static_cast<std::ptrdiff_t>(first_chunk), std::uint64_t{0});
    return apply(client, record, {Kind::kReplace, first_chunk, offset}, source);
  });
}

Result<void> resume_export(Client& client, const std::shared_ptr<ExportRecord>& record,
                           const ExportRequest& source) {
  return in_turn(client, *record, source.deadline_ns, [&] {
    return apply(client, record, {Kind::kResume, 0, 0}, source);
  });
}

Result<Suspended> suspend_export(Client& client, ExportRecord& record, std::uint64_t wait_ns,
                                 std::uint64_t deadline_ns, std::unique_ptr<hb_holders>* left) {
  msg::Suspend message;
  message.export_id = record.id;
  message.wait_ns = wait_ns;
  return in_turn(client, record, deadline_ns, [&]() -> Result<Suspended> {
    auto reply = record.session()->call(FrameType::kSuspend, as_bytes(encoded(message)), {}, deadline_ns);
    if (!reply) return tl::unexpected(std::move(reply.error()));
    const auto body = msg::decode<msg::WithdrawReply>(reply->body);
    if (!body) return fail(malformed(body.error()));
    // What becomes of the memory is no longer the export's business.
    auto asleep = std::make_shared<Layout>(*record.layout());
    asleep->version = body->layout_version;
    asleep->parts.clear();
    asleep->sources.clear();
    record.set_layout(std::move(asleep), {});
    record.suspended.store(true);
    if (left != nullptr) {
      auto named = holders_left(client, *body, deadline_ns);
      if (!named) return tl::unexpected(std::move(named.error()));
      *left = std::move(*named);
    }
    return Suspended{body->layout_version, body->holder_count};
  });
}

}  // namespace hb::client
