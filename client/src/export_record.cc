// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "export_record.h"

#include <algorithm>
#include <mutex>

#include "fork_guard.h"

namespace hb::client {

KeyBytes ExportRecord::subkey(std::uint64_t offset, std::uint64_t length) const {
  KeyFields fields = decode_key(key);
  fields.offset += offset;
  fields.length = length;
  return encode_key(fields, secret);
}

std::shared_ptr<Session> ExportRecord::session() const {
  const std::lock_guard guard(lock_);
  return session_;
}

void ExportRecord::set_session(std::shared_ptr<Session> session) {
  const std::lock_guard guard(lock_);
  session_.swap(session);
}

std::string ExportRecord::token() const {
  const std::lock_guard guard(lock_);
  return token_;
}

void ExportRecord::set_token(msg::Bytes token) {
  if (token.empty()) return;
  std::string text(reinterpret_cast<const char*>(token.data()), token.size());
  const std::lock_guard guard(lock_);
  token_.swap(text);
  returns_.store(terms_known, std::memory_order_release);
}

void ExportRecord::end(std::string why) {
  {
    const std::lock_guard guard(lock_);
    if (why_ended_.empty()) why_ended_.swap(why);
  }
  withdrawn.store(true, std::memory_order_release);
}

std::string ExportRecord::why_ended() const {
  const std::lock_guard guard(lock_);
  return why_ended_;
}

std::shared_ptr<const ExportRecord::Layout> ExportRecord::layout() const {
  const std::lock_guard guard(lock_);
  return layout_;
}

void ExportRecord::set_layout(std::shared_ptr<const Layout> layout,
                              std::vector<ExportedRanges::Ticket> ranges) {
  const std::lock_guard guard(lock_);
  layout_.swap(layout);
  // Withdrawn meanwhile: then nothing has to be found any more.
  if (!withdrawn.load(std::memory_order_acquire)) ranges_.swap(ranges);
}

void ExportRecord::set_version(std::uint64_t version) {
  auto same = std::make_shared<Layout>(*layout());
  same->version = version;
  std::shared_ptr<const Layout> next = std::move(same);
  const std::lock_guard guard(lock_);
  layout_.swap(next);
}

void ExportRecord::forget_ranges() noexcept {
  std::vector<ExportedRanges::Ticket> ranges;
  const std::lock_guard guard(lock_);
  ranges_.swap(ranges);
}

bool ExportRecord::covers(const void* start, std::uint64_t bytes) const {
  const auto at = reinterpret_cast<std::uintptr_t>(start);
  const auto now = layout();
  return now != nullptr && std::any_of(now->parts.begin(), now->parts.end(), [&](const ExportPart& part) {
           if (part.library_memory && part.memory.expired()) return false;
           return part.ptr != nullptr && part.span().overlaps(at, bytes);
         });
}

bool ExportRecord::uses(const Memory& memory) const {
  const auto now = layout();
  return now != nullptr && std::any_of(now->parts.begin(), now->parts.end(), [&](const ExportPart& part) {
           return part.memory.lock().get() == &memory;
         });
}

ExportRegistry& ExportRegistry::get() {
  static auto* registry = new ExportRegistry;  // never destroyed: static destructors may still close handles
  return *registry;
}

void ExportRegistry::add(const std::shared_ptr<ExportRecord>& record) {
  const std::lock_guard guard(process_lock());
  records_.insert_or_assign({record->broker, record->id}, record);
}

void ExportRegistry::remove(const ExportRecord& record) {
  const std::lock_guard guard(process_lock());
  records_.erase({record.broker, record.id});
}

std::shared_ptr<ExportRecord> ExportRegistry::by_id(const BrokerId& broker, std::uint64_t id) const {
  const std::lock_guard guard(process_lock());
  const auto found = records_.find({broker, id});
  return found == records_.end() ? nullptr : found->second.lock();
}

std::shared_ptr<ExportRecord> ExportRegistry::by_name(const BrokerId& broker, const std::string& name,
                                                      std::uint32_t owner_uid) const {
  // Destroying the last reference takes the lock's memory elsewhere: keep candidates until it is free.
  std::vector<std::shared_ptr<ExportRecord>> seen;
  const std::lock_guard guard(process_lock());
  for (const auto& [id, weak] : records_) {
    auto record = weak.lock();
    if (record == nullptr) continue;
    if (id.first == broker && record->name == name && record->owner_uid == owner_uid && record->is_live())
      return record;
    seen.push_back(std::move(record));
  }
  return nullptr;
}

}  // namespace hb::client
