// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "chunk_sender.h"

#include "hipbroker/hipbroker.h"

namespace hb::client {
namespace {

// Ends a half-sent export unless told that it is whole.
class Staging {
 public:
  Staging(Session& session, std::uint64_t id) : session_(session), id_(id) {}
  ~Staging() {
    if (!whole_) session_.abort_export(id_);
  }
  void keep() { whole_ = true; }

 private:
  Session& session_;
  std::uint64_t id_;
  bool whole_ = false;
};

Result<Reply> send_more(Session& session, const ExportPlan& plan, std::uint64_t id, const ExportPage& page,
                        std::uint64_t deadline_ns, Late late) {
  const auto fds = open_page(plan, page);
  if (!fds) return tl::unexpected(fds.error());
  const std::vector<msg::Chunk> chunks = wire_chunks(plan, page);
  msg::ExportChunks message;
  message.export_id = id;
  message.first = page.first;
  message.chunks = chunks;
  auto reply =
      session.call(FrameType::kExportChunks, as_bytes(encoded(message)), fds->numbers, deadline_ns, late);
  if (!reply) reply.error().not_sent = false;  // the pages before it are lost with their session
  return reply;
}

}  // namespace

std::vector<msg::Chunk> wire_chunks(const ExportPlan& plan, const ExportPage& page) {
  std::vector<msg::Chunk> chunks(page.count);
  for (std::size_t i = 0; i < page.count; ++i) {
    const ChunkRef& chunk = plan.chunks[page.first + i];
    chunks[i].handle = page.handle_of[i];
    chunks[i].offset = chunk.offset;
    chunks[i].size = chunk.bytes;
    chunks[i].object_size = chunk.object_bytes;
  }
  return chunks;
}

Result<PageFds> open_page(const ExportPlan& plan, const ExportPage& page) {
  PageFds out;
  out.numbers = page.fds;
  if (!out.numbers.empty()) return out;
  for (std::size_t i = 0; i < page.count; ++i) {
    auto made = plan.source->export_chunk(plan.chunks[page.first + i].index);
    if (!made) return tl::unexpected(std::move(made.error()));
    out.numbers.push_back(made->get());
    out.made.push_back(std::move(*made));
  }
  return out;
}

std::uint32_t kind_of_plan(const ExportPlan& plan) {
  return plan.handle_kind != 0 ? plan.handle_kind : plan.source->handle_kind();
}

Result<SentReply> send_rest(Session& session, const ExportPlan& plan, Reply first, std::uint64_t deadline_ns,
                            Late late) {
  SentReply sent;
  const auto read = [&](Reply reply) -> Result<void> {
    sent.reply = std::move(reply);
    auto body = msg::decode<msg::ExportReply>(sent.reply.body);
    if (!body) return fail(malformed(body.error()));
    sent.body = *body;
    return {};
  };
  if (auto readable = read(std::move(first)); !readable) return tl::unexpected(std::move(readable.error()));
  Staging staging(session, sent.body.export_id);
  for (std::size_t i = 1; i < plan.pages.size(); ++i) {
    auto reply = send_more(session, plan, sent.body.export_id, plan.pages[i], deadline_ns, late);
    if (!reply) return tl::unexpected(std::move(reply.error()));
    if (auto readable = read(std::move(*reply)); !readable)
      return tl::unexpected(std::move(readable.error()));
  }
  if (!sent.body.complete || sent.body.key.size() != sizeof(KeyBytes) ||
      sent.body.secret.size() != sizeof(Secret))
    return fail(HB_PROTO, "the daemon took all chunks of the export and did not complete it");
  staging.keep();
  return sent;
}

std::vector<AddressSpan> spans_of(const ExportRequest& request) {
  if (request.ptr != nullptr) return {{reinterpret_cast<std::uintptr_t>(request.ptr), request.bytes}};
  std::vector<AddressSpan> spans;
  for (const hb_hip_handle& handle : request.handles)
    spans.push_back({reinterpret_cast<std::uintptr_t>(handle.base), handle.bytes});
  return spans;
}

ExportParts parts_of(const ExportRequest& request, const ExportPlan& plan, std::uint64_t offset) {
  if (request.ptr != nullptr)
    return {{offset, request.bytes, request.ptr, plan.memory, plan.memory != nullptr}};
  ExportParts parts;
  for (const hb_hip_handle& handle : request.handles) {
    parts.push_back({offset, handle.bytes, handle.base, {}, false});
    offset += handle.bytes;
  }
  return parts;
}

}  // namespace hb::client
