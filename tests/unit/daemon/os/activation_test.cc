// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What a service manager hands over: a program of this test takes it, and tells what it took.
#include "os/activation.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstdlib>

#include "os/notify_socket.h"
#include "support/fake_service_manager.h"
#include "support/memfd.h"
#include "support/role.h"

namespace hb::test {
namespace {

bool is_ours(std::string_view name) { return name == "node" || name == "records"; }

bool closes_on_exec(const UniqueFd& fd) { return (::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) != 0; }

std::string taken() {
  auto inherited = os::take_inherited(is_ours);
  if (!inherited) return "error: " + inherited.error();
  std::string text = "took";
  bool safe = true;
  for (const auto& [name, fd] :
       {std::pair("broker", &inherited->broker), std::pair("admin", &inherited->admin)}) {
    if (!*fd) continue;
    text += std::string(" ") + name;
    safe = safe && closes_on_exec(*fd) && (::fcntl(fd->get(), F_GETFL) & O_NONBLOCK) != 0;
  }
  for (const auto& [name, fds] : inherited->stored) {
    for (const UniqueFd& fd : fds) {
      std::uint64_t number = 0;
      static_cast<void>(!::pread(fd.get(), &number, sizeof number, 0));
      text += " " + name + "=" + std::to_string(number);
      safe = safe && closes_on_exec(fd);
    }
  }
  for (const os::Inherited::Surplus& one : inherited->surplus) {
    text += " surplus " + one.name;
    safe = safe && closes_on_exec(one.fd);
  }
  safe = safe && std::getenv("LISTEN_FDS") == nullptr && std::getenv("LISTEN_FDNAMES") == nullptr;
  return text + (safe ? "." : ", and a child would inherit it.");
}

// What it took is closed: the census of a role, which looks for what is left open, would miss that.
HB_ROLE(takes_inherited) { ::_exit(os::notify_send("STATUS=" + taken()) ? 0 : 1); }

class Activation : public testing::Test {
 protected:
  void hand_over(const std::string& name, std::uint64_t number) {
    manager_.hand_over(name, sealed_memfd(kPage, number));
  }
  std::string start() {
    manager_.start({own_program(), "--role=takes_inherited"});
    EXPECT_TRUE(manager_.wait_for("STATUS="));
    const auto status = manager_.process().wait();
    EXPECT_TRUE(status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0);
    return manager_.messages().at(0).substr(7);
  }
  TempDir dir_;
  FakeServiceManager manager_{dir_};
};

TEST_F(Activation, NothingIsHandedOver) { EXPECT_EQ(start(), "took."); }

TEST_F(Activation, ListenersAndStoredDescriptorsInAnyOrder) {
  manager_.listen("admin", dir_ / "admin.sock");
  hand_over("records", 2);
  hand_over("left over", 3);
  manager_.listen("broker", dir_ / "broker.sock");
  hand_over("node", 1);
  for (std::uint32_t seed = 1; seed < 8; ++seed) {
    manager_.shuffle(seed);
    EXPECT_EQ(start(), "took broker admin node=1 records=2 surplus left over.");
  }
}

TEST_F(Activation, AStoredNameMayComeTwiceAndOneMayBeMissing) {
  hand_over("records", 5);
  hand_over("records", 5);
  EXPECT_EQ(start(), "took records=5 records=5.");
}

TEST_F(Activation, ASecondListenerOfOneName) {
  manager_.listen("broker", dir_ / "1.sock");
  manager_.listen("broker", dir_ / "2.sock");
  EXPECT_EQ(start(), "error: activated descriptor 4 \"broker\": a second one of this name");
}

TEST_F(Activation, AListenerOfAnotherType) {
  manager_.listen("broker", dir_ / "1.sock", SOCK_STREAM);
  EXPECT_EQ(start(),
            "error: activated descriptor 3 \"broker\": not a listening SOCK_SEQPACKET unix socket "
            "(ListenSequentialPacket=)");
}

TEST_F(Activation, AStoredDescriptorUnderTheNameOfAListener) {
  hand_over("admin", 1);
  EXPECT_EQ(start(),
            "error: activated descriptor 3 \"admin\": not a listening SOCK_SEQPACKET unix socket "
            "(ListenSequentialPacket=)");
}

// Clients of that socket would wait for ever.
TEST_F(Activation, AListenerOfAnotherName) {
  manager_.listen("brokr", dir_ / "1.sock");
  EXPECT_EQ(start(),
            "error: activated descriptor 3 \"brokr\": expected FileDescriptorName=broker or "
            "FileDescriptorName=admin");
}

}  // namespace
}  // namespace hb::test
