// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "wire/frame.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "wire/limits.h"

namespace hb::test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes make_frame(const FrameHeader& header, std::size_t body_bytes) {
  Bytes bytes(kFrameHeaderBytes + body_bytes, std::byte{0x5a});
  encode_frame_header(std::span(bytes).first<kFrameHeaderBytes>(), header,
                      static_cast<std::uint32_t>(body_bytes));
  return bytes;
}

FrameError error_of(const Bytes& bytes) {
  const auto decoded = decode_frame(bytes);
  EXPECT_FALSE(decoded.has_value());
  return decoded ? FrameError{0xff} : decoded.error();
}

TEST(Frame, LayoutIsTheDocumentedOne) {
  const Bytes bytes = make_frame({FrameType::kAcquire, kFlagReply, 0x00fd, 0x1122334455667788}, 3);
  const std::array<unsigned char, kFrameHeaderBytes> expected = {
      'H',  'B',  24,   1,    5,    0,    0xfd, 0,  // magic, header bytes, flags, type, descriptors
      0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 3, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(std::memcmp(bytes.data(), expected.data(), expected.size()), 0);
}

TEST(Frame, RoundTrip) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 500; ++round) {
    const FrameHeader header{static_cast<FrameType>(random() & 0xffff), static_cast<std::uint8_t>(random()),
                             static_cast<std::uint16_t>(random() % (limits::kFrameFds + 1)), random()};
    const std::size_t body = random() % 4096;
    const Bytes bytes = make_frame(header, body);
    const auto view = decode_frame(bytes);
    ASSERT_TRUE(view.has_value());
    EXPECT_EQ(view->header.type, header.type);
    EXPECT_EQ(view->header.flags, header.flags);
    EXPECT_EQ(view->header.fd_count, header.fd_count);
    EXPECT_EQ(view->header.request_id, header.request_id);
    EXPECT_EQ(view->body.data(), bytes.data() + kFrameHeaderBytes);
    EXPECT_EQ(view->body.size(), body);
  }
}

TEST(Frame, EmptyBody) {
  const Bytes bytes = make_frame({FrameType::kStatus, 0, 0, 1}, 0);
  const auto view = decode_frame(bytes);
  ASSERT_TRUE(view.has_value());
  EXPECT_TRUE(view->body.empty());
}

TEST(Frame, LongerHeaderOfANewerPeerIsSkipped) {
  Bytes bytes = make_frame({FrameType::kPing, 0, 0, 9}, 5);
  bytes.insert(bytes.begin() + kFrameHeaderBytes, 8, std::byte{0xee});
  bytes[2] = std::byte{32};
  const auto view = decode_frame(bytes);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->body.size(), 5u);
  EXPECT_EQ(view->body[0], std::byte{0x5a});
}

TEST(Frame, ReservedFieldIsIgnored) {
  Bytes bytes = make_frame({FrameType::kPing, 0, 0, 9}, 1);
  bytes[20] = bytes[23] = std::byte{0xff};
  EXPECT_TRUE(decode_frame(bytes).has_value());
}

TEST(Frame, EveryTruncationIsRefused) {
  const Bytes whole = make_frame({FrameType::kExport, 0, 1, 1}, 40);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(error_of(cut), size < kFrameHeaderBytes ? FrameError::kTooShort : FrameError::kBodySize)
        << size;
  }
}

TEST(Frame, TrailingByteIsRefused) {
  Bytes bytes = make_frame({FrameType::kPing, 0, 0, 1}, 4);
  bytes.push_back(std::byte{0});
  EXPECT_EQ(error_of(bytes), FrameError::kBodySize);
}

TEST(Frame, WrongMagic) {
  for (const std::size_t at : {0u, 1u}) {
    Bytes bytes = make_frame({FrameType::kPing, 0, 0, 1}, 4);
    bytes[at] ^= std::byte{1};
    EXPECT_EQ(error_of(bytes), FrameError::kMagic);
  }
}

TEST(Frame, HeaderLengthOutOfBounds) {
  for (const int length : {0, 23, 29, 255}) {
    Bytes bytes = make_frame({FrameType::kPing, 0, 0, 1}, 4);
    bytes[2] = static_cast<std::byte>(length);
    EXPECT_EQ(error_of(bytes), FrameError::kHeaderSize) << length;
  }
}

TEST(Frame, BodyLengthNearTheTopDoesNotWrap) {
  Bytes bytes = make_frame({FrameType::kPing, 0, 0, 1}, 4);
  for (std::size_t i = 16; i < 20; ++i) bytes[i] = std::byte{0xff};
  EXPECT_EQ(error_of(bytes), FrameError::kBodySize);
}

TEST(Frame, SizeLimit) {
  EXPECT_TRUE(decode_frame(make_frame({}, limits::kFrameBytes - kFrameHeaderBytes)).has_value());
  EXPECT_EQ(error_of(make_frame({}, limits::kFrameBytes - kFrameHeaderBytes + 1)), FrameError::kTooLong);
}

TEST(Frame, DescriptorLimit) {
  EXPECT_TRUE(decode_frame(make_frame({FrameType::kExport, 0, 253, 1}, 0)).has_value());
  EXPECT_EQ(error_of(make_frame({FrameType::kExport, 0, 254, 1}, 0)), FrameError::kFdCount);
}

TEST(Frame, EveryErrorHasItsOwnText) {
  std::vector<std::string> texts;
  for (int error = 0; error <= static_cast<int>(FrameError::kFdCount); ++error) {
    texts.emplace_back(frame_error_text(static_cast<FrameError>(error)));
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (std::size_t j = i + 1; j < texts.size(); ++j) EXPECT_NE(texts[i], texts[j]);
  }
}

}  // namespace
}  // namespace hb::test
