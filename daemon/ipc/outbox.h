// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Frames a session could not be sent yet, in order, bounded in bytes and descriptors. A frame names the
// handles it will carry by id: the store owns them until the frame is sent, and when one ends before that the
// frame turns into an answer that says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "core/ids.h"
#include "wire/unique_fd.h"

namespace hb::ipc {

// A descriptor of a frame. One frame may bring several grants, which differ in what they allow.
struct OutHandle {
  core::HandleId id;
  bool read_only = false;  // its read-only reopening, where there is one
  bool operator==(const OutHandle&) const = default;
};

// A frame on its way out. Borrowed for the length of a call.
struct OutFrame {
  std::uint64_t request_id = 0;
  std::span<const std::byte> bytes;  // header and body
  std::span<const OutHandle> handles;
};

struct QueuedFrame {
  std::uint64_t request_id = 0;
  std::vector<std::byte> bytes;
  std::vector<OutHandle> handles;
  std::vector<UniqueFd> owned;  // descriptors that only this frame holds

  [[nodiscard]] static QueuedFrame copy_of(const OutFrame& frame);
  [[nodiscard]] std::size_t fds() const { return handles.size() + owned.size(); }
};

class Outbox {
 public:
  // False = over limits::kOutboxBytes or kOutboxFds; the frame is dropped, the session has to end.
  [[nodiscard]] bool push(QueuedFrame frame);
  [[nodiscard]] bool empty() const { return frames_.empty(); }
  [[nodiscard]] const QueuedFrame& front() const { return frames_.front(); }
  void pop();
  void clear();

  // Every frame that carries one of `handles`, which are sorted, becomes gone(request id).
  using GoneFrame = std::function<std::vector<std::byte>(std::uint64_t request_id)>;
  void drop_handles(std::span<const core::HandleId> handles, const GoneFrame& gone);

  [[nodiscard]] std::size_t size() const { return frames_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t fds() const { return fds_; }

 private:
  std::deque<QueuedFrame> frames_;
  std::size_t bytes_ = 0;
  std::size_t fds_ = 0;
};

}  // namespace hb::ipc
