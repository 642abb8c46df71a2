// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// docs/lifecycle.md against the code: every pair of states, and every way gone by requests that lead it, with
// what holders are told.
#include <gmock/gmock.h>

#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <utility>

#include "core/export_state.h"
#include "unit/core/broker_driver.h"

namespace hb::test {
namespace {

using namespace core;

using Way = std::pair<std::string, std::string>;

// "| `from` | `to` | by | `told` |" of the page's first table.
std::map<Way, std::string> documented() {
  std::map<Way, std::string> ways;
  std::ifstream page(HB_LIFECYCLE_DOC);
  const auto word = [](const std::string& cell) {
    const std::size_t from = cell.find('`');
    const std::size_t to = cell.find('`', from + 1);
    return to == std::string::npos ? std::string() : cell.substr(from + 1, to - from - 1);
  };
  for (std::string line; std::getline(page, line) && !line.starts_with("## ");) {
    if (!line.starts_with("| `")) continue;
    std::vector<std::string> cells;
    std::istringstream in(line.substr(1));
    for (std::string cell; std::getline(in, cell, '|');) cells.push_back(cell);
    if (cells.size() == 4) ways[{word(cells[0]), word(cells[1])}] = word(cells[3]);
  }
  return ways;
}

std::string event_name(EventKind kind) {
  switch (kind) {
    case EventKind::kSuspended:
      return "suspended";
    case EventKind::kResumed:
      return "resumed";
    case EventKind::kWithdrawn:
      return "withdrawn";
    case EventKind::kRevoked:
      return "revoked";
    case EventKind::kOwnerDied:
      return "owner-died";
    case EventKind::kGone:
      return "gone";
    case EventKind::kClaimed:
      return "claimed";
    default:
      return "another";
  }
}

TEST(Lifecycle, ThePageAndTheCodeAgreeOnEveryPair) {
  const std::map<Way, std::string> ways = documented();
  std::size_t allowed = 0;
  for (const ExportState from : kExportStates)
    for (const ExportState to : kExportStates) {
      EXPECT_EQ(ways.contains({std::string(state_name(from)), std::string(state_name(to))}),
                may_follow(from, to))
          << state_name(from) << " to " << state_name(to);
      allowed += may_follow(from, to) ? 1 : 0;
    }
  EXPECT_EQ(ways.size(), allowed) << "the page names a state that there is not";
}

// One export named "kv" with a holder, and requests that lead it.
class Life : public BrokerDriver {
 public:
  SessionId owner = connect(1000);
  SessionId other = connect(1000);  // of the same uid
  SessionId holder = connect(1001);
  Exported out;

  void make(Lifetime lifetime = Lifetime::kOwner) {
    ExportRequest request = simple("kv");
    request.acl = {uid_reads(1001)};
    request.lifetime = lifetime;
    request.linger_ns = lifetime == Lifetime::kLinger ? kSecond : 0;
    out = exported(owner, std::move(request));
    acquired(holder, by_name("kv", 1000));
  }
  void suspend() { done(owner, SuspendRequest{out.id, 0}); }
  void resume() {
    ExportRequest again = simple("");
    ChangeRequest change;
    change.id = out.id;
    change.kind = ChangeRequest::Kind::kResume;
    change.total_chunks = 1;
    change.total_size = again.total_size;
    change.distinct_handles = 1;
    change.chunks = std::move(again.chunks);
    change.handles = std::move(again.handles);
    done(owner, std::move(change));
  }
  void orphan() {
    make(Lifetime::kLinger);
    leave();
  }
  void leave() { disconnect(owner); }
  void withdraw() { done(owner, WithdrawRequest{out.id, false, 0}); }
  void revoke() { done(other, RevokeRequest{out.id, 0}); }
  void claim() { done(other, ClaimRequest{NameRef{"kv", {}}, Lifetime::kOwner, 0}); }
  void replace() {
    ExportRequest next = simple("kv");
    next.replace = true;
    exported(other, std::move(next));
  }
  // What the holder has not been told yet.
  std::string told() {
    std::string names;
    const ReplyBody body = ask(holder, TakeEventsRequest{});
    for (const Event& event : std::get<EventsTaken>(body).events)
      names += (names.empty() ? "" : " ") + event_name(event.kind);
    return names;
  }
  std::string state() {
    const ReplyBody body = ask(holder, ShowRequest{out.id, 0});
    if (status_of(body) != HB_OK) return error_of(body).message;
    return std::string(state_name(static_cast<ExportState>(std::get<Shown>(body).info.state)));
  }

 private:
  void done(SessionId session, Request request) {
    const ReplyBody body = ask(session, std::move(request));
    EXPECT_EQ(status_of(body), HB_OK) << error_of(body).message;
  }
};

TEST(Lifecycle, EveryWayIsGoneAndTellsWhatThePageSays) {
  struct Step {
    std::function<void(Life&)> before;
    std::function<void(Life&)> then;
  };
  const auto live = [](Life& life) { life.make(); };
  const auto asleep = [](Life& life) {
    life.make(Lifetime::kLinger);
    life.suspend();
  };
  const auto orphaned = [](Life& life) { life.orphan(); };
  const std::map<Way, Step> steps{
      {{"live", "suspended"}, {live, [](Life& life) { life.suspend(); }}},
      {{"live", "orphaned"},
       {[](Life& life) { life.make(Lifetime::kLinger); }, [](Life& life) { life.leave(); }}},
      {{"live", "gone"}, {live, [](Life& life) { life.leave(); }}},
      {{"live", "withdrawn"}, {live, [](Life& life) { life.withdraw(); }}},
      {{"live", "revoked"}, {live, [](Life& life) { life.revoke(); }}},
      {{"suspended", "live"}, {asleep, [](Life& life) { life.resume(); }}},
      {{"suspended", "gone"}, {asleep, [](Life& life) { life.leave(); }}},
      {{"suspended", "withdrawn"}, {asleep, [](Life& life) { life.withdraw(); }}},
      {{"suspended", "revoked"}, {asleep, [](Life& life) { life.revoke(); }}},
      {{"orphaned", "live"}, {orphaned, [](Life& life) { life.claim(); }}},
      {{"orphaned", "gone"}, {orphaned, [](Life& life) { life.advance(kSecond); }}},
      {{"orphaned", "withdrawn"}, {orphaned, [](Life& life) { life.replace(); }}},
      {{"orphaned", "revoked"}, {orphaned, [](Life& life) { life.revoke(); }}},
  };
  for (const auto& [way, told] : documented()) {
    if (way.first == "new" || way.first == "staging") continue;  // nobody holds it yet: below
    const auto step = steps.find(way);
    if (step == steps.end()) {
      ADD_FAILURE() << way.first << " to " << way.second << " is gone by no test";
      continue;
    }
    Life life;
    step->second.before(life);
    EXPECT_EQ(life.state(), way.first);
    static_cast<void>(life.told());
    step->second.then(life);
    EXPECT_EQ(life.state(), way.second) << "from " << way.first;
    EXPECT_EQ(life.told(), told) << way.first << " to " << way.second;
  }
}

TEST(Lifecycle, PagesAreStagingUntilTheLast) {
  Life life;
  ExportRequest first = life.chunked("kv", 1, 4096);
  first.total_chunks = 2;
  first.total_size = 2 * 4096;
  first.distinct_handles = 2;
  const Exported begun = life.exported(life.owner, std::move(first));
  EXPECT_FALSE(begun.complete);
  EXPECT_EQ(life.counters().exports, 0u);
  EXPECT_EQ(status_of(life.ask(life.other, by_name("kv"))), HB_NOT_FOUND);
  ExportRequest last = life.chunked("", 1, 4096);
  const ReplyBody body =
      life.ask(life.owner, ExportChunksRequest{begun.id, 1, std::move(last.chunks), std::move(last.handles)});
  ASSERT_EQ(status_of(body), HB_OK);
  EXPECT_TRUE(std::get<Exported>(body).complete);
  EXPECT_EQ(status_of(life.ask(life.other, by_name("kv"))), HB_OK);
}

}  // namespace
}  // namespace hb::test
