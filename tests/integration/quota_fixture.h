// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A daemon with quotas, and sessions of any uid in this process.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <string>
#include <thread>

#include "support/fixture.h"
#include "support/memfd.h"

namespace hb::test {

inline const std::string kEverythingAllowed = "[[rule]]\nallow = \"all\"\n";

inline DaemonOptions with_quotas(const std::string& quotas) {
  DaemonOptions options;
  options.policy = kEverythingAllowed + quotas;
  return options;
}

class QuotaTest : public DaemonTest {
 protected:
  using DaemonTest::DaemonTest;

  // The kernel tells who a thread was when it connected. Before its hello.
  RawPeer connect_as(std::uint32_t uid) {
    std::optional<RawPeer> made;
    // The system call, not glibc's function: that one changes every thread.
    std::thread([&] {
      const auto id = static_cast<long>(uid);
      if (::syscall(SYS_setresgid, id, id, id) == 0 && ::syscall(SYS_setresuid, id, id, id) == 0)
        made.emplace(daemon().socket());
    }).join();
    if (!made) throw std::runtime_error("these tests need root, to take on other uids");
    return std::move(*made);
  }
  RawPeer peer_as(std::uint32_t uid) {
    RawPeer made = connect_as(uid);
    const auto answer = made.hello();
    EXPECT_EQ(answer.status, HB_OK) << answer.error.message();
    return made;
  }

  struct Use {
    std::uint64_t used = 0;
    std::uint64_t limit = 0;
  };
  // By resource; empty: it has no account.
  std::map<std::string, Use> account_of(std::uint32_t uid, const std::string& scope = "main") {
    RawPeer admin = admin_peer();
    std::map<std::string, Use> out;
    pb::QuotaList question;
    do {
      const auto page = admin.call<pb::QuotaListReply>(FrameType::kQuotaList, question);
      EXPECT_EQ(page.status, HB_OK) << page.error.message();
      for (const pb::Account& account : page.reply.accounts())
        if (!account.whole_scope() && account.uid() == uid && account.scope() == scope)
          for (const pb::Amount& amount : account.amounts())
            out[amount.resource()] = {amount.used(), amount.limit()};
      question.set_cursor(page.reply.next_cursor());
    } while (question.cursor() != 0);
    return out;
  }
  std::uint64_t used(std::uint32_t uid, const std::string& resource) {
    auto account = account_of(uid);
    return account[resource].used;
  }

  RawAnswer<pb::QuotaSetReply> set_quota(std::optional<std::uint32_t> uid,
                                         const std::vector<std::pair<std::string, std::uint64_t>>& limits,
                                         bool clear = false, const std::string& scope = {}) {
    RawPeer admin = admin_peer();
    pb::QuotaSet wanted;
    wanted.set_scope(scope);
    if (uid) wanted.set_uid(*uid);
    wanted.set_clear(clear);
    for (const auto& [resource, limit] : limits) {
      pb::Amount* amount = wanted.add_limits();
      amount->set_resource(resource);
      amount->set_limit(limit);
    }
    return admin.call<pb::QuotaSetReply>(FrameType::kQuotaSet, wanted);
  }

  pb::ReloadReply reload_with(const std::string& quotas) {
    write_file(daemon().policy_file(), kEverythingAllowed + quotas);
    RawPeer admin = admin_peer();
    const auto answer = admin.call<pb::ReloadReply>(FrameType::kReload, pb::Reload());
    EXPECT_EQ(answer.status, HB_OK) << answer.error.message();
    EXPECT_EQ(answer.reply.errors_size(), 0) << answer.reply.errors(0);
    return answer.reply;
  }
};

// QUOTA, with all that tells what is to be done.
template <class Answer>
void expect_quota(const Answer& answer, const std::string& what, std::uint64_t used, std::uint64_t limit,
                  std::uint32_t uid) {
  EXPECT_EQ(answer.status, HB_QUOTA) << answer.error.message();
  EXPECT_EQ(answer.error.what(), what);
  EXPECT_EQ(answer.error.used(), used);
  EXPECT_EQ(answer.error.limit(), limit);
  EXPECT_EQ(answer.error.who(), "uid " + std::to_string(uid));
  for (const std::string& part : {what, std::to_string(used), std::to_string(limit), std::to_string(uid)})
    EXPECT_THAT(answer.error.message(), testing::HasSubstr(part));
  // And the way out.
  EXPECT_THAT(answer.error.message(), testing::HasSubstr("; "));
}

}  // namespace hb::test
