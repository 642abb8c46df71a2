// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "observe/message.h"

#include <array>
#include <cstddef>

namespace hb::observe {
namespace {

constexpr std::array<MessageText, 20> kMessages{{
    {Message::kServes, "serves", "cd73adb59be64c0baa279e920902ee2f"},
    {Message::kStopping, "stopping", "8f022eacabf649fa8e155a99c535a910"},
    {Message::kCannotServe, "cannot-serve", "fe7b3df198e64ad28416448cb276f28e"},
    {Message::kDescriptorsShort, "descriptors-short", "e1405795cb924fbe87a10f262494fc28"},
    {Message::kConnectionRefused, "connection-refused", "152a0fb1f8dd48e7a4f6f79c54db4dbe"},
    {Message::kSessionFault, "session-fault", "4d7ed9beeb5d440bbdef970e53c4a129"},
    {Message::kPolicyKept, "policy-kept", "9c6b191c57244701ae31a1095c2f79fc"},
    {Message::kPolicyRemark, "policy-remark", "9322be56fef44dee8454e5c350e431de"},
    {Message::kStateBroken, "state-broken", "c1bbbc3a0595498eaeeb68226415dace"},
    {Message::kScopeNotServed, "scope-not-served", "2add6ab7156d4ac89479ffeb735934bd"},
    {Message::kScopeDirectoryStays, "scope-directory-stays", "4387648aa5ae4e2fa84b3da8c9f79513"},
    {Message::kSandboxIncomplete, "sandbox-incomplete", "09061af9eb214e10a9975f38d1221104"},
    {Message::kSandboxOff, "sandbox-off", "702e5775276c4693a4aae5c6bcc0a736"},
    {Message::kRunsAsRoot, "runs-as-root", "8a9f0c0da3794fa285b23c70145057f4"},
    {Message::kUnreadableLater, "unreadable-later", "b0a2a42e250d407aa48ef1d8404ec2d1"},
    {Message::kLinesLost, "lines-lost", "4d028b1686684b9b8e8e20a72c2e75f4"},
    {Message::kWentOn, "went-on", "0a291fbe9c4b4e35a0bd7ba19a1391fb"},
    {Message::kNotRestartSafe, "not-restart-safe", "6040504f7937482bb5d54821d5d073bf"},
    {Message::kRestoreRemark, "restore-remark", "13a6b9b84a584d1e963e05f9f041a0ed"},
    {Message::kRecordsLost, "records-lost", "2c3a77ececa94ab0be458bebf66d6858"},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kMessages.size(); ++i)
    if (static_cast<std::size_t>(kMessages[i].message) != i + 1) return false;
  return kMessages.size() == static_cast<std::size_t>(Message::kRecordsLost);
}
static_assert(in_order());

}  // namespace

std::span<const MessageText> all_messages() { return kMessages; }

std::string_view message_id(Message message) {
  if (message == Message::kNone) return {};
  return kMessages.at(static_cast<std::size_t>(message) - 1).id;
}

}  // namespace hb::observe
