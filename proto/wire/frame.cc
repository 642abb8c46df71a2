// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "wire/frame.h"

#include "wire/limits.h"
#include "wire/little_endian.h"

namespace hb {
namespace {

constexpr std::byte kMagic0{'H'};
constexpr std::byte kMagic1{'B'};

}  // namespace

const char* frame_error_text(FrameError error) noexcept {
  switch (error) {
    case FrameError::kTooShort:
      return "the packet is shorter than a frame header of 24 bytes";
    case FrameError::kMagic:
      return "the packet does not begin with 'HB': the peer does not speak this protocol";
    case FrameError::kHeaderSize:
      return "the frame header announces a length below 24 bytes or past the end of the packet";
    case FrameError::kBodySize:
      return "the frame header announces another body length than the packet carries";
    case FrameError::kTooLong:
      return "the packet is longer than the limit of 65,536 bytes a frame";
    case FrameError::kFdCount:
      return "the frame header announces more than the limit of 253 descriptors a frame";
  }
  return "unknown frame error";
}
static_assert(limits::kFrameBytes == 65'536 && limits::kFrameFds == 253 && kFrameHeaderBytes == 24,
              "frame_error_text says these numbers");

tl::expected<FrameView, FrameError> decode_frame(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < kFrameHeaderBytes) return tl::unexpected(FrameError::kTooShort);
  if (bytes.size() > limits::kFrameBytes) return tl::unexpected(FrameError::kTooLong);
  const std::byte* at = bytes.data();
  if (at[0] != kMagic0 || at[1] != kMagic1) return tl::unexpected(FrameError::kMagic);

  const std::size_t header_bytes = load_le<std::uint8_t>(at + 2);
  if (header_bytes < kFrameHeaderBytes || header_bytes > bytes.size()) {
    return tl::unexpected(FrameError::kHeaderSize);
  }
  FrameView view;
  view.header.flags = load_le<std::uint8_t>(at + 3);
  view.header.type = static_cast<FrameType>(load_le<std::uint16_t>(at + 4));
  view.header.fd_count = load_le<std::uint16_t>(at + 6);
  view.header.request_id = load_le<std::uint64_t>(at + 8);
  if (load_le<std::uint32_t>(at + 16) != bytes.size() - header_bytes) {
    return tl::unexpected(FrameError::kBodySize);
  }
  if (view.header.fd_count > limits::kFrameFds) return tl::unexpected(FrameError::kFdCount);
  view.body = bytes.subspan(header_bytes);
  return view;
}

void encode_frame_header(std::span<std::byte, kFrameHeaderBytes> out, const FrameHeader& header,
                         std::uint32_t body_bytes) noexcept {
  std::byte* at = out.data();
  at[0] = kMagic0;
  at[1] = kMagic1;
  store_le<std::uint8_t>(at + 2, kFrameHeaderBytes);
  store_le<std::uint8_t>(at + 3, header.flags);
  store_le<std::uint16_t>(at + 4, static_cast<std::uint16_t>(header.type));
  store_le<std::uint16_t>(at + 6, header.fd_count);
  store_le<std::uint64_t>(at + 8, header.request_id);
  store_le<std::uint32_t>(at + 16, body_bytes);
  store_le<std::uint32_t>(at + 20, 0);
}

}  // namespace hb
