// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/notify.h"

#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

#include "os/descriptor_store.h"
#include "os/notify_socket.h"
#include "support/fake_service_manager.h"

namespace hb::test {
namespace {

class Notify : public testing::Test {
 protected:
  Notify() { ::setenv("NOTIFY_SOCKET", manager_.address().c_str(), 1); }
  ~Notify() override {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) ::unsetenv(name);
  }
  std::vector<std::string> told() {
    EXPECT_TRUE(os::DescriptorStore(1).barrier(kWatchdogNs));
    auto messages = manager_.messages();
    messages.pop_back();
    return messages;
  }
  static std::string failure() {
    const auto sent = os::notify_send("READY=1");
    return sent ? "sent" : sent.error();
  }
  TempDir dir_;
  FakeServiceManager manager_{dir_};
};

TEST_F(Notify, WhatTheManagerHears) {
  os::notify_ready("serves");
  os::notify_status("one\nREADY=1\r2");
  os::notify_reloading();
  os::notify_watchdog();
  os::notify_stopping();
  const auto messages = told();
  ASSERT_EQ(messages.size(), 5u);
  EXPECT_EQ(messages[0], "READY=1\nSTATUS=serves");
  EXPECT_EQ(messages[1], "STATUS=one READY=1 2");
  EXPECT_EQ(messages[3], "WATCHDOG=1");
  EXPECT_EQ(messages[4], "STOPPING=1");
  const std::string before = "RELOADING=1\nMONOTONIC_USEC=";
  ASSERT_EQ(messages[2].rfind(before, 0), 0u) << messages[2];
  const std::uint64_t us = std::stoull(messages[2].substr(before.size()));
  EXPECT_LE(us, now_ns() / 1000);
  EXPECT_GT(us + kWatchdogNs / 1000, now_ns() / 1000);
}

TEST_F(Notify, WithoutAManagerNothingHappens) {
  ::unsetenv("NOTIFY_SOCKET");
  EXPECT_FALSE(os::notify_wanted());
  EXPECT_EQ(failure(), "sent");
  os::notify_ready("serves");
  ::setenv("NOTIFY_SOCKET", "", 1);
  EXPECT_FALSE(os::notify_wanted());
  EXPECT_EQ(failure(), "sent");
}

TEST_F(Notify, ASocketThatIsNoneIsNamed) {
  ::setenv("NOTIFY_SOCKET", "relative", 1);
  EXPECT_EQ(failure(), "$NOTIFY_SOCKET \"relative\": neither a path nor @name");
  ::setenv("NOTIFY_SOCKET", ("/" + std::string(200, 'x')).c_str(), 1);
  EXPECT_NE(failure().find("201 bytes, the limit is 107"), std::string::npos) << failure();
  ::setenv("NOTIFY_SOCKET", (dir_ / "nobody").c_str(), 1);
  EXPECT_NE(failure().find("ENOENT"), std::string::npos) << failure();
  ::setenv("NOTIFY_SOCKET", manager_.address().c_str(), 1);
  const std::vector<BorrowedFd> many(254, BorrowedFd::of_caller(0));
  const auto refused = os::notify_send("FDSTORE=1", many);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().find("254 descriptors in one message, the limit is 253"), std::string::npos);
}

TEST_F(Notify, TheWatchdogIsOfThisProcessOrOfNone) {
  EXPECT_FALSE(os::watchdog_interval_ns());
  ::setenv("WATCHDOG_USEC", "2000000", 1);
  EXPECT_EQ(os::watchdog_interval_ns(), 2'000'000'000u);
  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  EXPECT_EQ(os::watchdog_interval_ns(), 2'000'000'000u);
  ::setenv("WATCHDOG_PID", std::to_string(::getppid()).c_str(), 1);
  EXPECT_FALSE(os::watchdog_interval_ns());
  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  ::setenv("WATCHDOG_USEC", "often", 1);
  EXPECT_FALSE(os::watchdog_interval_ns());
}

}  // namespace
}  // namespace hb::test
