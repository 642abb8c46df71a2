// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the conductor and its actors say to each other: one packet, fields by name.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "wire/unique_fd.h"

namespace hb::selftest {

class Message {
 public:
  Message() = default;
  Message(std::initializer_list<std::pair<const std::string, std::string>> fields) : fields_(fields) {}

  [[nodiscard]] bool has(const std::string& name) const { return fields_.contains(name); }
  [[nodiscard]] std::string text(const std::string& name) const;  // "" when absent
  [[nodiscard]] std::uint64_t number(const std::string& name, std::uint64_t otherwise = 0) const;
  void set(const std::string& name, std::string value) { fields_[name] = std::move(value); }
  void set(const std::string& name, std::uint64_t value) { fields_[name] = std::to_string(value); }

  [[nodiscard]] std::string packed() const;
  [[nodiscard]] static Message unpacked(const std::string& packet);

 private:
  std::map<std::string, std::string> fields_;
};

[[nodiscard]] bool send_message(const UniqueFd& socket, const Message& message);
// From now on SIGINT and SIGTERM end waiting, so that what was started is ended and removed.
void stop_on_signals();
[[nodiscard]] bool interrupted();

// None at the end of the other side, after such a signal, or at the deadline (nanoseconds of
// CLOCK_MONOTONIC).
[[nodiscard]] std::optional<Message> receive_message(const UniqueFd& socket, std::uint64_t deadline_ns);

}  // namespace hb::selftest
