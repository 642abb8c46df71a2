// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Bodies of requests into the core's values. Every bound is checked before anything is built from the field.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "core/request.h"
#include "ipc/edge_error.h"
#include "wire/expected.h"
#include "wire/frame.h"

namespace hb::ipc {

struct HelloRequest {
  std::uint32_t lowest_version = 0;
  std::uint32_t highest_version = 0;
  std::string library;
  bool resumes = false;  // the client goes on with a daemon that was started again
};

// Keeps one message of each kind for reuse: parsing into it allocates nothing in the steady state. An error
// of status PROTO ends the session, any other is an answer.
class RequestReader {
 public:
  RequestReader();
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  // For the types the core answers. `fd_count` is that of the frame; `handles` of an export stays empty: what
  // the descriptors are is found out afterwards.
  [[nodiscard]] tl::expected<core::Request, EdgeError> read(FrameType type, std::span<const std::byte> body,
                                                            std::size_t fd_count);
  [[nodiscard]] tl::expected<HelloRequest, EdgeError> read_hello(std::span<const std::byte> body);
  [[nodiscard]] tl::expected<std::string, EdgeError> read_ping(std::span<const std::byte> body);

 private:
  struct Messages;
  std::unique_ptr<Messages> messages_;
};

}  // namespace hb::ipc
