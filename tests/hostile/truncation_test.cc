// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// More descriptors than the daemon has numbers for. The kernel closes the surplus inside recvmsg, and a
// socket that lingers makes that close wait for as long as its maker likes: not on the loop.
#include "hostile/hostile_fixture.h"
#include "support/fuse_file.h"
#include "support/lingering.h"

namespace hb::test {
namespace {

class Truncation : public HostileTest {
 protected:
  Truncation() : HostileTest(limited(64, 64)) {}
};

TEST_F(Truncation, ALingeringSocketInTheSurplus) {
  LingerTrap trap;
  RawPeer other = peer();
  RawPeer attacker = peer_as(kAttacker);
  std::uint64_t id = 0;
  while_stopped([&] { id = send_full_frame(attacker, trap.socket()); });
  expect_served(other, "while the surplus cannot be closed");
  // Others that send descriptors, too, and whoever comes anew.
  const UniqueFd memory = sealed_memfd(kPage, 3);
  const auto exported = other.export_fds("mine", {memory.get()});
  ASSERT_EQ(exported.status, HB_OK) << exported.error.message();
  ASSERT_EQ(other.acquire_name("mine").status, HB_OK);
  ASSERT_EQ(other.withdraw_id(exported.reply.export_id()).status, HB_OK);
  EXPECT_EQ(peer_as(2002).ping(), HB_OK);
  trap.end();
  const auto answer = attacker.await<pb::ExportReply>(id);
  EXPECT_EQ(answer.status, HB_NO_FDS) << answer.error.message();
  EXPECT_EQ(attacker.ping(), HB_OK);
  expect_baseline("after the surplus was closed", 2);
}

// Before a hello, in many sessions at once: the uid has its share of threads, the rest of it waits.
TEST_F(Truncation, ManyAtOnceBeforeAnyHello) {
  LingerTrap trap;
  RawPeer other = peer();
  std::vector<RawPeer> attackers;
  while_stopped([&] {
    for (int i = 0; i < 5; ++i) {
      attackers.push_back(connect_as(kAttacker));
      send_full_frame(attackers.back(), trap.socket());
    }
  });
  expect_served(other, "while five surpluses cannot be closed");
  attackers.erase(attackers.begin(), attackers.begin() + 2);  // some go meanwhile
  expect_served(other, "when two of them have gone");
  const UniqueFd memory = sealed_memfd(kPage, 3);
  EXPECT_EQ(other.export_fds("mine", {memory.get()}).status, HB_OK);
  trap.end();
  for (RawPeer& attacker : attackers) EXPECT_TRUE(attacker.ends());
  attackers.clear();
  other.disconnect();
  expect_baseline("after the surpluses were closed");
  expect_no_charges(0);
}

TEST_F(Truncation, AFuseFileInTheSurplus) {
  FuseFile fuse;
  RawPeer other = peer();
  RawPeer attacker = peer_as(kAttacker);
  while_stopped([&] {
    send_full_frame(attacker, fuse.open());
    fuse.hang();
  });
  expect_served(other, "while a file's server does not answer");
  fuse.end();
  EXPECT_EQ(attacker.ping(), HB_OK);
  expect_baseline("after the server has gone", 2);
}

}  // namespace
}  // namespace hb::test
