// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What a line of the log is about, for whoever does something when it comes: each has a MESSAGE_ID in the
// journal and an entry in systemd/hipbroker.catalog that says what to do. An id is never given to another
// one.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace hb::observe {

enum class Message : std::uint8_t {
  kNone,  // a detail, without an id
  kServes,
  kStopping,
  kCannotServe,
  kDescriptorsShort,
  kConnectionRefused,
  kSessionFault,
  kPolicyKept,
  kPolicyRemark,
  kStateBroken,
  kScopeNotServed,
  kScopeDirectoryStays,
  kSandboxIncomplete,
  kSandboxOff,
  kRunsAsRoot,
  kUnreadableLater,
  kLinesLost,
  kWentOn,
  kNotRestartSafe,
  kRestoreRemark,
  kRecordsLost,
};

struct MessageText {
  Message message;
  std::string_view name;
  std::string_view id;  // 32 hexadecimal digits
};

// All but kNone, in the order of the enumeration.
[[nodiscard]] std::span<const MessageText> all_messages();
// Empty for kNone.
[[nodiscard]] std::string_view message_id(Message message);

}  // namespace hb::observe
