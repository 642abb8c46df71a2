// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/descriptor_store.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "os/notify_socket.h"
#include "support/fake_service_manager.h"
#include "support/memfd.h"

namespace hb::test {
namespace {

using os::DescriptorStore;

class Store : public testing::Test {
 protected:
  explicit Store(bool abstract = false)
      : manager_(dir_, {.store_max = 600, .tells_capacity = true, .abstract = abstract, .env = {}}) {
    ::setenv("NOTIFY_SOCKET", manager_.address().c_str(), 1);
    ::setenv("FDSTORE", "600", 1);
  }
  ~Store() override {
    EXPECT_EQ(manager_.violations(), std::vector<std::string>());
    for (const char* name : {"NOTIFY_SOCKET", "FDSTORE", "HIPBROKER_FD_STORE_MAX"}) ::unsetenv(name);
  }
  static std::vector<UniqueFd> files(std::size_t count) {
    std::vector<UniqueFd> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(plain_memfd(kPage));
    return out;
  }
  static std::vector<BorrowedFd> lent(const std::vector<UniqueFd>& fds) { return {fds.begin(), fds.end()}; }
  TempDir dir_;
  FakeServiceManager manager_;
};

class AbstractStore : public Store {
 protected:
  AbstractStore() : Store(true) {}
};

// Field report B07: FDPOLL=0 in each, no more than 253 in one, and a barrier behind the last.
TEST_F(Store, B07_ManyGoInMessagesOf253) {
  DescriptorStore store = DescriptorStore::of_environment();
  ASSERT_TRUE(store.available());
  EXPECT_EQ(store.entries_max(), 600u);
  const auto fds = files(600);
  ASSERT_TRUE(store.add("x", lent(fds)));
  ASSERT_TRUE(store.barrier(kWatchdogNs));
  EXPECT_EQ(manager_.stored(), 600u) << "all there once the barrier has returned";
  EXPECT_EQ(manager_.behind_barrier(), 0u);
  const auto messages = manager_.messages();
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(messages[0], "FDSTORE=1\nFDNAME=x\nFDPOLL=0");
  EXPECT_EQ(messages[3], "BARRIER=1");
  EXPECT_EQ(store.entries(), 600u);
}

TEST_F(Store, MoreThanItTakesIsRefusedWithBothNumbers) {
  DescriptorStore store = DescriptorStore::of_environment();
  store.count_inherited("node", 2);
  const auto fds = files(599);
  const auto refused = store.add("x", lent(fds));
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error(),
      "the descriptor store has 2 entries, 599 more than that exceed its 600 (FileDescriptorStoreMax=)");
  EXPECT_EQ(manager_.stored(), 0u);
  EXPECT_EQ(store.entries(), 2u);
}

TEST_F(Store, NamesThatWouldKeepTheUnitFromStartingAreRefused) {
  DescriptorStore store = DescriptorStore::of_environment();
  store.count_listener("broker");
  const auto fds = files(520);
  const std::string name(255, 'n');
  const auto refused = store.add(name, lent(fds));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().find("133127 bytes, the limit is 131057"), std::string::npos) << refused.error();
  const auto most = lent(fds);
  ASSERT_TRUE(store.add(name, std::span(most).first(500)));
  ASSERT_TRUE(store.remove(name));
  ASSERT_TRUE(store.add("n", lent(fds))) << "what was removed counts no more";
  ASSERT_TRUE(store.barrier(kWatchdogNs));
  EXPECT_EQ(manager_.stored(), 520u);
}

TEST_F(Store, NamesAreMadeSafe) {
  EXPECT_EQ(DescriptorStore::safe_name("a:b\nc\x7f\xc3\xa9 ~"), "a_b_c___ ~");
  EXPECT_EQ(DescriptorStore::safe_name(""), "_");
  EXPECT_EQ(DescriptorStore::safe_name(std::string(300, 'x')), std::string(255, 'x'));
  DescriptorStore store = DescriptorStore::of_environment();
  const UniqueFd file = plain_memfd(kPage);
  ASSERT_TRUE(store.add("a\nFDPOLL=1\nFDNAME=b:c", file));
  ASSERT_TRUE(store.remove("nothing of that name"));
  ASSERT_TRUE(store.barrier(kWatchdogNs));
  EXPECT_EQ(manager_.stored_names(), std::vector<std::string>{"a_FDPOLL=1_FDNAME=b_c"});
  ASSERT_TRUE(store.remove("a\nFDPOLL=1\nFDNAME=b:c"));
  ASSERT_TRUE(store.barrier(kWatchdogNs));
  EXPECT_EQ(manager_.stored(), 0u);
  EXPECT_EQ(store.entries(), 0u);
}

TEST_F(Store, ItsCapacityIsTheManagersWordOrTheUnits) {
  ::unsetenv("FDSTORE");
  DescriptorStore untold = DescriptorStore::of_environment();
  EXPECT_FALSE(untold.available());
  EXPECT_NE(untold.why_not().find("HIPBROKER_FD_STORE_MAX"), std::string::npos);
  const auto refused = untold.add("x", files(1)[0]);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), untold.why_not());
  ::setenv("HIPBROKER_FD_STORE_MAX", "12", 1);
  EXPECT_EQ(DescriptorStore::of_environment().entries_max(), 12u);
  ::setenv("FDSTORE", "7", 1);
  EXPECT_EQ(DescriptorStore::of_environment().entries_max(), 7u);
  ::setenv("FDSTORE", "-7", 1);
  EXPECT_EQ(DescriptorStore::of_environment().entries_max(), 12u);
  ::unsetenv("NOTIFY_SOCKET");
  const DescriptorStore none = DescriptorStore::of_environment();
  EXPECT_FALSE(none.available());
  EXPECT_NE(none.why_not().find("$NOTIFY_SOCKET is not set"), std::string::npos);
}

TEST_F(Store, AManagerThatReadsNothingDoesNotHoldTheCallerUp) {
  DescriptorStore store = DescriptorStore::of_environment();
  manager_.set_busy(true);
  const auto late = store.barrier(10'000'000);
  ASSERT_FALSE(late);
  EXPECT_NE(late.error().find("within 10 ms"), std::string::npos) << late.error();
  // Its queue is full after a few.
  tl::expected<void, std::string> sent;
  for (int i = 0; sent && i < 20'000; ++i) sent = os::notify_send("STATUS=x", {}, 1'000'000);
  ASSERT_FALSE(sent);
  EXPECT_NE(sent.error().find("EAGAIN"), std::string::npos) << sent.error();
  EXPECT_NE(sent.error().find("took nothing for 1 ms"), std::string::npos) << sent.error();
  manager_.set_busy(false);
  EXPECT_TRUE(store.barrier(kWatchdogNs));
}

TEST_F(AbstractStore, ASocketOfTheAbstractNamespace) {
  DescriptorStore store = DescriptorStore::of_environment();
  ASSERT_TRUE(store.add("x", files(1)[0]));
  ASSERT_TRUE(store.barrier(kWatchdogNs));
  EXPECT_EQ(manager_.stored(), 1u);
}

}  // namespace
}  // namespace hb::test
