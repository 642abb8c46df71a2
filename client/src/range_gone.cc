// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "range_gone.h"

#include "clock.h"
#include "exported_ranges.h"
#include "hipbroker/hipbroker.h"
#include "shareability.h"

namespace hb::client {

bool nothing_known_of(const void* ptr, std::uint64_t bytes) noexcept {
  const auto start = reinterpret_cast<std::uintptr_t>(ptr);
  const ExportedRanges* const ranges = ExportedRanges::find();
  return (ranges == nullptr || !ranges->may_overlap(start, bytes)) && !Shareability::may_know(start, bytes);
}

Result<WithdrawnCount> end_export(Client& client, ExportRecord& record, std::uint64_t deadline_ns) {
  const std::uint64_t id = record.id;
  // Of a lost session: no daemon has its memory, and it is not offered again.
  if (record.session()->is_lost()) {
    client.forget_export(id);
    return WithdrawnCount{};
  }
  auto count = withdraw_here(client, record, deadline_ns);
  if (count) return count;
  const hb_status status = count.error().status;
  const auto session = record.session();
  const bool ended = status == HB_GONE || status == HB_NOT_FOUND || session->is_lost();
  if (!ended) {
    session->cut("an export had to end at once and the daemon did not answer: " + count.error().message);
    count.error().message = "export " + std::to_string(id) + ": " + count.error().message +
                            "; the session was ended instead, with all its exports";
  }
  client.forget_export(id);
  if (ended) return WithdrawnCount{};
  return count;
}

Result<WithdrawnCount> range_gone(const void* ptr, std::uint64_t bytes) {
  const auto start = reinterpret_cast<std::uintptr_t>(ptr);
  Shareability::forget(start, bytes);
  WithdrawnCount sum;
  ExportedRanges* const ranges = ExportedRanges::find();
  if (ranges == nullptr || !ranges->may_overlap(start, bytes)) return sum;
  const std::uint64_t deadline_ns = after_ns(HB_RANGE_GONE_NS);
  const ExportedRanges::Over over = ranges->over(start, bytes);
  Result<WithdrawnCount> failure = sum;
  for (const auto& record : over.records) {
    // Without a client its session is closed, and the daemon has dropped what was exported through it.
    const auto client = record->client.lock();
    if (client == nullptr || !record->is_live()) continue;
    if (!record->covers(ptr, bytes)) continue;
    auto count = end_export(*client, *record, deadline_ns);
    if (count) {
      sum.exports += count->exports;
      sum.holders += count->holders;
    } else {
      failure = std::move(count);
    }
  }
  if (!failure) return failure;
  if (!ranges->wait_for(over, deadline_ns))
    return fail(HB_TIMEOUT,
                "another thread was still exporting this memory when the time was up; that export fails "
                "with HB_GONE as soon as it is made");
  return sum;
}

}  // namespace hb::client
