// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "stream.h"

#include "abi.h"

namespace hb::fakehip {
namespace {

Stream& of_device(std::map<int, std::unique_ptr<Stream>>& table, int ordinal, bool null_stream) {
  std::unique_ptr<Stream>& slot = table[ordinal];
  if (slot == nullptr) {
    slot = std::make_unique<Stream>();
    slot->ordinal = ordinal;
    slot->null_stream = null_stream;
  }
  return *slot;
}

}  // namespace

Stream* StreamTable::find(const void* stream, int ordinal) {
  const auto word = reinterpret_cast<std::uintptr_t>(stream);
  if (word <= 1) return &of_device(null_, ordinal, true);
  if (word == 2) return &of_device(per_thread_, ordinal, false);
  const auto found = made_.find(stream);
  return found == made_.end() ? nullptr : found->second.get();
}

const void* StreamTable::create(int ordinal, bool non_blocking) {
  auto stream = std::make_unique<Stream>();
  stream->ordinal = ordinal;
  stream->non_blocking = non_blocking;
  const void* out = stream.get();
  made_.emplace(out, std::move(stream));
  return out;
}

bool StreamTable::destroy(const void* stream) { return made_.erase(stream) == 1; }

const void* StreamTable::create_event() {
  auto event = std::make_shared<Event>();
  const void* out = event.get();
  events_.emplace(out, std::move(event));
  return out;
}

std::shared_ptr<Event> StreamTable::find_event(const void* event) const {
  const auto found = events_.find(event);
  return found == events_.end() ? nullptr : found->second;
}

bool StreamTable::destroy_event(const void* event) { return events_.erase(event) == 1; }

void StreamTable::submit(Stream& stream, Stream::Item item) {
  stream.queue.push_back(std::move(item));
  run_ready();
}

void StreamTable::set_busy(Stream& stream, bool busy) {
  stream.busy = busy;
  run_ready();
}

void StreamTable::set_all_busy(bool busy, int device_count) {
  for (int i = 0; i < device_count; ++i) of_device(null_, i, true).busy = busy;
  for (auto& [key, stream] : made_) stream->busy = busy;
  for (auto& [key, stream] : per_thread_) stream->busy = busy;
  run_ready();
}

bool StreamTable::device_idle(int ordinal) const {
  const auto all = [&](const auto& table) {
    for (const auto& [key, stream] : table)
      if (stream->ordinal == ordinal && !stream->idle()) return false;
    return true;
  };
  return all(made_) && all(null_) && all(per_thread_);
}

bool StreamTable::null_stream_idle(int ordinal) const {
  for (const auto& [key, stream] : made_)
    if (stream->ordinal == ordinal && !stream->non_blocking && !stream->idle()) return false;
  for (const auto& [key, stream] : per_thread_)
    if (stream->ordinal == ordinal && !stream->idle()) return false;
  const auto found = null_.find(ordinal);
  return found == null_.end() || found->second->idle();
}

Stream* StreamTable::capture_in_the_way(int thread_mode, int thread) {
  if (thread_mode == kCaptureRelaxed) return nullptr;
  for (auto& [key, stream] : made_) {
    if (!stream->capture_mode || *stream->capture_mode == kCaptureRelaxed) continue;
    if (stream->captured_by == thread) return stream.get();
    if (thread_mode == kCaptureGlobal && *stream->capture_mode == kCaptureGlobal) return stream.get();
  }
  return nullptr;
}

void StreamTable::run_ready() {
  for (bool moved = true; moved;) {
    moved = false;
    const auto pass = [&](auto& table) {
      for (auto& [key, stream] : table)
        while (!stream->busy && !stream->queue.empty()) {
          const Stream::Item& next = stream->queue.front();
          if (next.wait_for != nullptr && next.wait_for->reached < next.wait_until) break;
          const Stream::Item item = std::move(stream->queue.front());
          stream->queue.pop_front();
          if (item.run) item.run();
          moved = true;
        }
    };
    pass(null_);
    pass(made_);
    pass(per_thread_);
  }
}

}  // namespace hb::fakehip
