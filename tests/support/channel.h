// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Words between a test and its helper processes: one SOCK_SEQPACKET packet a message, each a list of
// name=value. Either side sees the death of the other as the end.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <type_traits>

#include "support/wait.h"
#include "wire/unique_fd.h"

namespace hb::test {

// A value of a message; numbers are written in decimal.
struct Value {
  std::string text;
  Value(const char* t) : text(t) {}             // NOLINT(google-explicit-constructor)
  Value(std::string t) : text(std::move(t)) {}  // NOLINT(google-explicit-constructor)
  template <class T, std::enable_if_t<std::is_integral_v<T> || std::is_enum_v<T>, int> = 0>
  Value(T number) : text(std::to_string(number)) {}  // NOLINT(google-explicit-constructor)
};
using Message = std::map<std::string, Value>;

[[nodiscard]] std::string encode_message(const Message& message);
[[nodiscard]] Message decode_message(const std::string& text);

[[nodiscard]] std::string text_of(const Message& message, const std::string& name,
                                  const std::string& fallback = {});
[[nodiscard]] std::uint64_t number_of(const Message& message, const std::string& name,
                                      std::uint64_t fallback = 0);
[[nodiscard]] bool has(const Message& message, const std::string& name);

// Borrow `fd`. False, or none, when the other side is gone (or silent until the limit).
bool send_message(int fd, const Message& message);
[[nodiscard]] std::optional<Message> receive_message(int fd, std::uint64_t limit_ns);

// A connected pair: the first stays here, the second is inherited.
[[nodiscard]] std::pair<UniqueFd, UniqueFd> channel_pair();

[[nodiscard]] std::string to_hex(const std::string& bytes);
[[nodiscard]] std::string from_hex(const std::string& text);

}  // namespace hb::test
