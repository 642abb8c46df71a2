// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A daemon that is killed before any of its system calls. The test stands for PID 1: it has copies of the
// queues, and looks into them as the next daemon would.
#include <gtest/gtest.h>
#include <signal.h>

#include "os/notify_socket.h"
#include "support/role.h"
#include "unit/daemon/restart/parking_world.h"

namespace hb::test {
namespace {

using Ids = std::set<std::uint64_t>;

struct Deed {
  bool parks = true;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

// Queues are made, filled, put together (200 messages), and emptied from the middle and the front.
const std::vector<Deed>& deeds() {
  static const std::vector<Deed> all{{true, 1, 1},     {true, 2, 1},     {false, 1, 1},    {true, 500, 60},
                                     {true, 600, 300}, {false, 510, 20}, {false, 600, 50}, {true, 1000, 3},
                                     {false, 2, 1},    {false, 530, 90}, {true, 2000, 1}};
  return all;
}
constexpr std::uint64_t kBefore = 100'000;  // entries that lie there before the first deed
constexpr std::uint64_t kSingles = 195;

void apply(Ids& ids, const Deed& deed) {
  for (std::uint64_t id = deed.first; id < deed.first + deed.count; ++id) {
    if (deed.parks) {
      ids.insert(id);
    } else {
      ids.erase(id);
    }
  }
}

Ids ids_after(std::size_t done) {
  Ids ids;
  for (std::uint64_t id = kBefore; id < kBefore + kSingles; ++id) ids.insert(id);
  for (std::size_t i = 0; i < done; ++i) apply(ids, deeds()[i]);
  return ids;
}

// Dies before system call number `fatal` of the deeds.
HB_ROLE(parking_dies) {
  const std::size_t fatal = std::stoul(args.at(0));
  os::DescriptorStore store = os::DescriptorStore::of_environment();
  Holder holder;
  bool armed = false;
  std::size_t calls = 0;
  Parking::Options options{100'000};
  options.step = [&](const char*) {
    if (armed && calls++ == fatal) ::raise(SIGKILL);
  };
  Parking parking(store, options, holder.lookup());
  for (std::uint64_t id = kBefore; id < kBefore + kSingles; ++id) {
    if (!parking.park(holder.make(id, 1))) return 2;
  }
  armed = true;
  for (std::size_t i = 0; i < deeds().size(); ++i) {
    if (!os::notify_send("STATUS=done " + std::to_string(i) + ";")) return 3;
    const Deed& deed = deeds()[i];
    if (deed.parks) {
      if (!parking.park(holder.make(deed.first, deed.count))) return 4;
      continue;
    }
    std::vector<ParkedEntry> out;
    for (std::uint64_t id = deed.first; id < deed.first + deed.count; ++id) out.push_back(handle(id));
    if (!parking.unpark(out).empty()) return 5;
    for (const ParkedEntry& entry : out) holder.drop(entry.id);
  }
  static_cast<void>(os::notify_send("STATUS=done " + std::to_string(deeds().size()) + ";"));
  return 0;
}

class ParkingCrash : public ParkingTest {
 protected:
  // How many deeds were done when it ended.
  std::size_t deeds_done() {
    EXPECT_TRUE(store_.barrier(kWatchdogNs)) << "the manager has read all that was sent";
    std::size_t done = 0;
    for (const std::string& message : manager_.messages()) {
      if (message.rfind("STATUS=done ", 0) == 0) done = std::stoul(message.substr(12));
    }
    return done;
  }
};

TEST_F(ParkingCrash, AtAnySystemCallNothingIsLostAndNothingComesBack) {
  bool ended = false;
  std::size_t kills = 0;
  for (std::size_t fatal = 0; !ended; fatal += fatal > 12 && fatal < 195 ? 19 : 1) {
    for (const std::string& name : manager_.stored_names()) manager_.lose(name);
    manager_.start({own_program(), "--role=parking_dies", std::to_string(fatal)});
    const auto status = manager_.process().wait();
    ASSERT_TRUE(status);
    ended = WIFEXITED(*status);
    if (ended) {
      ASSERT_EQ(WEXITSTATUS(*status), 0);
    } else {
      ++kills;
    }
    const std::size_t done = deeds_done();
    const Ids before = ids_after(done);
    Ids after = before;
    if (done < deeds().size()) apply(after, deeds()[done]);
    NextDaemon next(manager_);
    ASSERT_TRUE(next.each_is_its_own()) << "call " << fatal;
    for (const std::uint64_t id : before) {
      ASSERT_TRUE(next.ids.count(id) != 0 || after.count(id) == 0) << id << " is lost at call " << fatal;
    }
    for (const std::uint64_t id : next.ids) {
      ASSERT_TRUE(before.count(id) != 0 || after.count(id) != 0) << id << " came back at call " << fatal;
    }
    // What the records of the next daemon know is what is left, once, and the one after finds the same.
    ASSERT_TRUE(
        next.parking.drop_unknown([&](const ParkedEntry& e) { return before.count(e.id) != 0; }).empty());
    Ids want;
    std::set_intersection(next.ids.begin(), next.ids.end(), before.begin(), before.end(),
                          std::inserter(want, want.end()));
    ASSERT_EQ(next.parking.in_flight(), want.size());
    NextDaemon last(manager_);
    ASSERT_TRUE(last.each_is_its_own());
    ASSERT_EQ(last.ids, want);
    if (done == deeds().size()) {
      EXPECT_EQ(next.ids, ids_after(done));
    }
  }
  EXPECT_GT(kills, 30u);
}

}  // namespace
}  // namespace hb::test
