// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/outbox.h"

#include <algorithm>
#include <utility>

#include "wire/limits.h"

namespace hb::ipc {

QueuedFrame QueuedFrame::copy_of(const OutFrame& frame) {
  QueuedFrame queued;
  queued.request_id = frame.request_id;
  queued.bytes.assign(frame.bytes.begin(), frame.bytes.end());
  queued.handles.assign(frame.handles.begin(), frame.handles.end());
  return queued;
}

bool Outbox::push(QueuedFrame frame) {
  if (bytes_ + frame.bytes.size() > limits::kOutboxBytes) return false;
  if (fds_ + frame.fds() > limits::kOutboxFds) return false;
  bytes_ += frame.bytes.size();
  fds_ += frame.fds();
  frames_.push_back(std::move(frame));
  return true;
}

void Outbox::pop() {
  bytes_ -= frames_.front().bytes.size();
  fds_ -= frames_.front().fds();
  frames_.pop_front();
}

void Outbox::clear() {
  frames_.clear();
  bytes_ = 0;
  fds_ = 0;
}

void Outbox::drop_handles(std::span<const core::HandleId> handles, const GoneFrame& gone) {
  for (QueuedFrame& frame : frames_) {
    const bool ended =
        std::any_of(frame.handles.begin(), frame.handles.end(), [&handles](const OutHandle& carried) {
          return std::binary_search(handles.begin(), handles.end(), carried.id);
        });
    if (!ended) continue;
    bytes_ -= frame.bytes.size();
    fds_ -= frame.fds();
    // Smaller than what it replaces in every way that is bounded.
    QueuedFrame replacement;
    replacement.request_id = frame.request_id;
    replacement.bytes = gone(frame.request_id);
    frame = std::move(replacement);
    bytes_ += frame.bytes.size();
  }
}

}  // namespace hb::ipc
