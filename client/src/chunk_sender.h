// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Chunks on their way to the daemon, page by page: of a new export, or of one that changes.
#pragma once

#include <vector>

#include "export_plan.h"
#include "export_record.h"
#include "session.h"

namespace hb::client {

// What a page sends: borrowed, or made for it and closed after it.
struct PageFds {
  std::vector<UniqueFd> made;
  std::vector<int> numbers;
};
[[nodiscard]] Result<PageFds> open_page(const ExportPlan& plan, const ExportPage& page);
[[nodiscard]] std::vector<msg::Chunk> wire_chunks(const ExportPlan& plan, const ExportPage& page);
// Known once a page is open.
[[nodiscard]] std::uint32_t kind_of_plan(const ExportPlan& plan);

struct SentReply {
  Reply reply;  // `body` points into it
  msg::ExportReply body;
};
// What comes after the first page and its answer. Complete, or the daemon is told to forget all of it.
[[nodiscard]] Result<SentReply> send_rest(Session& session, const ExportPlan& plan, Reply first,
                                          std::uint64_t deadline_ns, Late late);

// Where it lies in this process, as far as known: before it is planned, and of what became of it, with its
// first byte at `offset` of the export.
[[nodiscard]] std::vector<AddressSpan> spans_of(const ExportRequest& request);
[[nodiscard]] ExportParts parts_of(const ExportRequest& request, const ExportPlan& plan,
                                   std::uint64_t offset);

}  // namespace hb::client
