// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "reoffer.h"

#include <algorithm>

#include "exported_ranges.h"
#include "reattach.h"

namespace hb::client {
namespace {

// A daemon that ends the session whenever it is asked does not know the question.
constexpr int kSessionsEnded = 2;

// What may be otherwise in a while, here or in the daemon.
bool passes(hb_status status) {
  return status == HB_BUSY || status == HB_NO_FDS || status == HB_NO_MEMORY || status == HB_QUOTA ||
         status == HB_SUSPENDED || status == HB_TIMEOUT;
}

std::vector<msg::Device> wire_devices(const std::vector<DeviceId>& devices) {
  std::vector<msg::Device> out;
  for (const DeviceId& device : devices) out.push_back({device.uuid, device.pci, device.partition});
  return out;
}

std::vector<AddressSpan> spans_of(const ExportParts& parts) {
  std::vector<AddressSpan> spans;
  for (const ExportPart& part : parts)
    if (part.ptr != nullptr) spans.push_back(part.span());
  return spans;
}

}  // namespace

Reoffering::Step Reoffering::step(const std::shared_ptr<Session>& session, ProcessMark mark,
                                  std::uint64_t deadline_ns) {
  if (session_ != session) {
    session_ = session;
    at_ = At::kAsking;
  }
  // Two threads never send chunks of one export.
  const std::unique_lock lock(record_->change, std::try_to_lock);
  if (!lock.owns_lock()) {
    trouble_ = fail(HB_BUSY, "another thread is changing it just now").value();
    return Step::kLater;
  }
  auto ranges = ExportedRanges::announce(spans_of(record_->layout()->parts), mark);
  // Withdrawn, or its memory was given back: whoever does that now waits for the end of `ranges`.
  if (!record_->is_live()) return give_up(fail(HB_GONE, "it was withdrawn").value());
  const Step done = at_ == At::kAsking ? ask(deadline_ns) : send(deadline_ns);
  if (done == Step::kGone || (record_->is_live() && ranges.publish(record_))) return done;
  // It ended while the daemon was taking it.
  return give_up(fail(HB_GONE, "it was withdrawn, or its memory given back").value());
}

Reoffering::Step Reoffering::ask(std::uint64_t deadline_ns) {
  if (!is_of(*session_, record_->broker))
    return give_up(fail(HB_GONE,
                        "the daemon that came is another broker, which knows neither its key nor its token: "
                        "nothing of what the one before it kept was left")
                       .value());
  const auto layout = record_->layout();
  const ExportTerms& terms = record_->terms;
  std::vector<msg::AclEntry> acl;
  for (const hb_acl_entry& entry : terms.acl)
    acl.push_back({static_cast<msg::AclEntry::Kind>(entry.kind), entry.id, entry.access});
  const std::vector<msg::Device> peers = wire_devices(terms.peers);
  const std::string token = record_->token();
  msg::Reoffer message;
  message.export_id = record_->id;
  message.generation = record_->generation;
  message.token = as_bytes(token);
  message.name = record_->name;
  message.metadata = as_bytes(terms.metadata);
  message.handle_kind = record_->handle_kind;
  message.device = {record_->device.uuid, record_->device.pci, record_->device.partition};
  message.acl = acl;
  message.peers = peers;
  message.lifetime = terms.lifetime;
  message.linger_ns = terms.linger_ns;
  message.access = terms.access;
  message.max_size = record_->max_bytes;
  message.layout_version = layout->version;
  message.size = layout->bytes;
  const auto reply = session_->call(FrameType::kReoffer, as_bytes(encoded(message)), {}, deadline_ns);
  if (!reply) return after(reply.error());
  const auto body = msg::decode<msg::ExportReply>(reply->body);
  if (!body) return give_up(malformed(body.error()));
  if (body->export_id != record_->id || body->generation != record_->generation)
    return give_up(fail(HB_PROTO, "the daemon took it as export " + std::to_string(body->export_id) +
                                      " of generation " + std::to_string(body->generation))
                       .value());
  record_->set_session(session_);
  record_->set_token(body->token);
  // It has its descriptors; or its owner had put it to sleep, and so it stays.
  if (body->received_chunks != 0 || record_->suspended.load()) return back(*body);
  if (auto planned = plan(); !planned) return after(std::move(planned.error()));
  at_ = At::kSending;
  plan_ = page_ = 0;
  sent_ = 0;
  return Step::kMore;
}

Result<void> Reoffering::plan() {
  const auto layout = record_->layout();
  plans_.clear();
  chunks_ = bytes_ = handles_ = 0;
  for (const ExportSource& source : layout->sources) {
    auto planned = plan_again(source);
    if (!planned) return tl::unexpected(std::move(planned.error()));
    if (source.offset != bytes_) break;  // a hole: the sum below tells
    for (const ChunkRef& chunk : planned->chunks) {
      if (chunks_ >= layout->chunk_bytes.size() || chunk.bytes != layout->chunk_bytes[chunks_])
        return fail(HB_MISMATCH, "its chunk " + std::to_string(chunks_) + " has " +
                                     std::to_string(chunk.bytes) + " bytes by now");
      ++chunks_;
    }
    bytes_ += planned->bytes;
    handles_ += planned->handles;
    plans_.push_back(std::move(*planned));
  }
  if (bytes_ == layout->bytes && chunks_ == layout->chunk_bytes.size()) return {};
  return fail(HB_MISMATCH, "of its " + std::to_string(layout->bytes) + " bytes " + std::to_string(bytes_) +
                               " are known here by where they came from");
}

Reoffering::Step Reoffering::send(std::uint64_t deadline_ns) {
  const ExportPlan& from = plans_[plan_];
  const ExportPage& page = from.pages[page_];
  const auto fds = open_page(from, page);
  if (!fds) return after(fds.error());
  const std::vector<msg::Chunk> chunks = wire_chunks(from, page);
  std::string frame;
  if (sent_ == 0) {
    msg::Change message;
    message.export_id = record_->id;
    message.kind = msg::Change::Kind::kResume;
    message.total_chunks = chunks_;
    message.total_size = bytes_;
    message.distinct_handles = handles_;
    message.chunks = chunks;
    message.device = {from.device.uuid, from.device.pci, from.device.partition};
    frame = encoded(message);
  } else {
    msg::ExportChunks message;
    message.export_id = record_->id;
    message.first = sent_;
    message.chunks = chunks;
    frame = encoded(message);
  }
  const auto reply = session_->call(sent_ == 0 ? FrameType::kChange : FrameType::kExportChunks,
                                    as_bytes(frame), fds->numbers, deadline_ns);
  if (!reply) {
    // What came of the page is not known: from the start, once half of it cannot be in the way.
    if (!session_->is_lost()) session_->abort_export(record_->id);
    return after(reply.error());
  }
  sent_ += page.count;
  if (++page_ == from.pages.size()) {
    page_ = 0;
    ++plan_;
  }
  if (plan_ < plans_.size()) return Step::kMore;
  const auto body = msg::decode<msg::ExportReply>(reply->body);
  if (!body) return give_up(malformed(body.error()));
  if (!body->complete) {
    session_->abort_export(record_->id);
    return give_up(fail(HB_PROTO, "the daemon took all its chunks and did not complete it").value());
  }
  return back(*body);
}

Reoffering::Step Reoffering::back(const msg::ExportReply& last) {
  plans_.clear();
  record_->set_token(last.token);
  const auto before = record_->layout();
  if (last.layout_version != 0 && last.layout_version != before->version)
    record_->set_version(last.layout_version);
  return Step::kBack;
}

Reoffering::Step Reoffering::after(Error error) {
  at_ = At::kAsking;
  plans_.clear();
  if (session_->is_lost()) {
    if (!error.not_sent && ++ended_under_it_ >= kSessionsEnded) return give_up(std::move(error));
    trouble_ = std::move(error);
    return Step::kLater;
  }
  if (!passes(error.status)) return give_up(std::move(error));
  trouble_ = std::move(error);
  return Step::kLater;
}

Reoffering::Step Reoffering::give_up(Error error) {
  // Where the daemon has taken it and cannot be given its memory, it must not wait for that.
  if (record_->session() == session_ && !session_->is_lost()) {
    session_->abort_export(record_->id);
    session_->withdraw_unheard(record_->id);
  }
  plans_.clear();
  trouble_ = std::move(error);
  return Step::kGone;
}

}  // namespace hb::client
