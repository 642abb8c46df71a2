// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The kernel lets a uid without privileges have so many descriptors in flight as its soft RLIMIT_NOFILE:
// what is parked counts, and answers to clients count with it.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "os/notify_socket.h"
#include "support/role.h"
#include "unit/daemon/restart/parking_world.h"

namespace hb::test {
namespace {

constexpr std::uint32_t kUid = 53'001;  // nobody else's: the count is the uid's, whichever test it is of
constexpr std::uint64_t kLimit = 2048;

int tell(const std::string& text) { return os::notify_send("STATUS=" + text) ? 0 : 9; }

// One file under many ids.
std::vector<ToPark> same(const UniqueFd& fd, std::uint64_t first, std::uint64_t count) {
  std::vector<ToPark> out;
  for (std::uint64_t id = first; id < first + count; ++id) out.push_back({handle(id), fd});
  return out;
}

// args: the limit that the owner gives.
HB_ROLE(parking_until_refused) {
  os::DescriptorStore store = os::DescriptorStore::of_environment();
  const UniqueFd fd = numbered(1);
  Parking parking(store, {std::stoul(args.at(0))}, [&fd](const ParkedEntry&) { return BorrowedFd(fd); });
  std::uint64_t id = 1;
  for (;; id += 50) {
    const auto parked = parking.park(same(fd, id, 50));
    if (parked) continue;
    static_cast<void>(tell("refused at " + std::to_string(parking.in_flight()) + ": " + parked.error()));
    break;
  }
  // Taking out works at the limit too: there is no room for the copy that would come first.
  const std::uint64_t before = parking.in_flight();
  std::vector<ParkedEntry> lost;
  for (std::uint64_t out = 10; out < id; out += 300) {
    const std::vector<ParkedEntry> one{handle(out)};
    for (const ParkedEntry& entry : parking.unpark(one)) lost.push_back(entry);
    if (parking.is_parked(one[0])) return 4;
  }
  return tell("then " + std::to_string(before - parking.in_flight()) + " out, " +
              std::to_string(lost.size()) + " lost;");
}

class ParkingLimit : public ParkingTest {
 protected:
  std::string run(std::uint64_t limit) {
    ProcessOptions options;
    options.uid = kUid;
    options.nofile = kLimit;
    manager_.start({own_program(), "--role=parking_until_refused", std::to_string(limit)}, options);
    const auto status = manager_.process().wait();
    EXPECT_TRUE(status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0);
    EXPECT_TRUE(manager_.wait_for("lost;"));
    std::string all;
    for (const std::string& message : manager_.messages()) {
      if (message.rfind("STATUS=", 0) == 0) all += message + "\n";
    }
    return all;
  }
};

TEST_F(ParkingLimit, BelowTheOwnersLimitItStopsByItself) {
  if (!may_change_uid()) return;
  const std::string said = run(kLimit * 3 / 4);
  EXPECT_NE(said.find("refused at 1250: 1250 descriptors are parked, 50 more and 253 kept free for rewriting "
                      "make 1553, the limit is 1536"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("then 5 out, 0 lost;"), std::string::npos) << said;
}

TEST_F(ParkingLimit, AtTheKernelsLimitItSaysSoAndStillTakesOut) {
  if (!may_change_uid()) return;
  const std::string said = run(100'000);
  EXPECT_NE(said.find("ETOOMANYREFS"), std::string::npos) << said;
  EXPECT_NE(said.find("raise LimitNOFILE="), std::string::npos) << said;
  EXPECT_NE(said.find(" out, 0 lost;"), std::string::npos) << said;
}

}  // namespace
}  // namespace hb::test
