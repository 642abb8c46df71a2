// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Any bytes through decode_frame. What it accepts must lie inside the input, keep the limits, and come
// back the same from encode_frame_header.
#include <vector>

#include "require.h"
#include "wire/frame.h"
#include "wire/limits.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::span input(reinterpret_cast<const std::byte*>(data), size);
  const auto view = hb::decode_frame(input);
  if (!view) {
    HB_REQUIRE(hb::frame_error_text(view.error()) != nullptr);
    return 0;
  }
  HB_REQUIRE(size <= hb::limits::kFrameBytes);
  HB_REQUIRE(view->header.fd_count <= hb::limits::kFrameFds);
  HB_REQUIRE(view->body.data() >= input.data() + hb::kFrameHeaderBytes);
  HB_REQUIRE(view->body.data() + view->body.size() == input.data() + size);

  std::vector<std::byte> again(hb::kFrameHeaderBytes);
  hb::encode_frame_header(std::span(again).first<hb::kFrameHeaderBytes>(), view->header,
                          static_cast<std::uint32_t>(view->body.size()));
  again.insert(again.end(), view->body.begin(), view->body.end());
  const auto second = hb::decode_frame(again);
  HB_REQUIRE(second.has_value());
  HB_REQUIRE(second->header.type == view->header.type && second->header.flags == view->header.flags &&
             second->header.fd_count == view->header.fd_count &&
             second->header.request_id == view->header.request_id &&
             second->body.size() == view->body.size());
  return 0;
}
