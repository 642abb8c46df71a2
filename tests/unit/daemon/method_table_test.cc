// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/method_table.h"

#include <gtest/gtest.h>

#include <set>

namespace hb::test {
namespace {

using ipc::find_method;

TEST(MethodTable, EveryRequestTypeHasItsRow) {
  for (std::uint16_t type = 1; type <= static_cast<std::uint16_t>(FrameType::kAuditRead); ++type) {
    const ipc::Method* method = find_method(static_cast<FrameType>(type));
    ASSERT_NE(method, nullptr) << type;
    EXPECT_EQ(method->type, static_cast<FrameType>(type));
    const bool carries = method->type == FrameType::kExport || method->type == FrameType::kExportChunks ||
                         method->type == FrameType::kChange;
    EXPECT_EQ(method->allows_fds, carries) << method->name;
    EXPECT_EQ(method->needs_hello, method->type != FrameType::kHello) << method->name;
    const std::set<FrameType> admin{FrameType::kStatus,    FrameType::kScopeAdd, FrameType::kScopeRemove,
                                    FrameType::kScopeList, FrameType::kReload,   FrameType::kCheckPolicy,
                                    FrameType::kQuotaSet,  FrameType::kAuditRead};
    EXPECT_EQ(method->admin_only, admin.contains(method->type)) << method->name;
    const std::set<FrameType> mutating{FrameType::kExport,  FrameType::kExportChunks, FrameType::kExportAbort,
                                       FrameType::kAcquire, FrameType::kRelease,      FrameType::kWithdraw,
                                       FrameType::kChange,  FrameType::kRevoke,       FrameType::kSuspend,
                                       FrameType::kClaim,   FrameType::kMakeTicket,   FrameType::kDropTicket,
                                       FrameType::kPublish, FrameType::kJoin};
    EXPECT_EQ(method->mutating, mutating.contains(method->type)) << method->name;
    const std::set<FrameType> one_way{FrameType::kExportAbort, FrameType::kRelease, FrameType::kCancel,
                                      FrameType::kUnmapped,    FrameType::kAckStep, FrameType::kLeave};
    EXPECT_EQ(method->one_way, one_way.contains(method->type)) << method->name;
  }
}

TEST(MethodTable, UnknownTypes) {
  for (const unsigned type : {0u, 44u, 77u, 0xffffu})
    EXPECT_EQ(find_method(static_cast<FrameType>(type)), nullptr);
}

}  // namespace
}  // namespace hb::test
