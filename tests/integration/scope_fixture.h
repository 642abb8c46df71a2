// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A daemon with scopes, and raw sessions in any of them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/fixture.h"
#include "support/memfd.h"

namespace hb::test {

class ScopeTest : public DaemonTest {
 protected:
  explicit ScopeTest(DaemonOptions options = with_everything_allowed()) : DaemonTest(std::move(options)) {}

  static DaemonOptions with_everything_allowed() {
    DaemonOptions options;
    options.policy = "[[rule]]\nallow = \"all\"\n";
    return options;
  }

  using Amounts = std::vector<std::pair<std::string, std::uint64_t>>;
  [[nodiscard]] static pb::ScopeAdd question(const std::string& name,
                                             const std::vector<std::uint32_t>& uids = {},
                                             const Amounts& total = {}, const Amounts& each = {}) {
    pb::ScopeAdd wanted;
    wanted.set_name(name);
    for (const std::uint32_t uid : uids) wanted.add_uids(uid);
    const auto fill = [](auto* out, const Amounts& amounts) {
      for (const auto& [resource, limit] : amounts) {
        pb::Amount* amount = out->Add();
        amount->set_resource(resource);
        amount->set_limit(limit);
      }
    };
    fill(wanted.mutable_total(), total);
    fill(wanted.mutable_each(), each);
    return wanted;
  }
  RawAnswer<pb::ScopeAddReply> add(const pb::ScopeAdd& wanted) {
    RawPeer admin = admin_peer();
    return admin.call<pb::ScopeAddReply>(FrameType::kScopeAdd, wanted);
  }
  // Its directory; the test fails where it cannot be made.
  std::string made(const pb::ScopeAdd& wanted) {
    const auto answer = add(wanted);
    EXPECT_EQ(answer.status, HB_OK) << answer.error.message();
    return answer.reply.directory();
  }
  RawAnswer<pb::ScopeRemoveReply> remove(const std::string& name) {
    RawPeer admin = admin_peer();
    pb::ScopeRemove wanted;
    wanted.set_name(name);
    return admin.call<pb::ScopeRemoveReply>(FrameType::kScopeRemove, wanted);
  }
  std::vector<pb::ScopeInfo> listed() {
    RawPeer admin = admin_peer();
    std::vector<pb::ScopeInfo> out;
    pb::ScopeList wanted;
    do {
      const auto page = admin.call<pb::ScopeListReply>(FrameType::kScopeList, wanted);
      EXPECT_EQ(page.status, HB_OK) << page.error.message();
      out.insert(out.end(), page.reply.scopes().begin(), page.reply.scopes().end());
      wanted.set_cursor(page.reply.next_cursor());
    } while (wanted.cursor() != 0);
    return out;
  }
  // A session in the scope of this directory.
  RawPeer peer_in(const std::string& directory) {
    RawPeer peer(directory + "/broker.sock");
    const auto answer = peer.hello();
    EXPECT_EQ(answer.status, HB_OK) << answer.error.message();
    return peer;
  }
};

}  // namespace hb::test
