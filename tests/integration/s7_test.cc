// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Job S7: two hundred exports and a hundred clients that acquire all the time, while the daemon is stopped or
// killed and started again twenty times.
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <set>
#include <thread>

#include "hipbroker/hipbroker.h"
#include "integration/restart_fixture.h"
#include "support/channel.h"
#include "support/role.h"

namespace hb::test {
namespace {

constexpr std::size_t kExports = 200;
constexpr std::size_t kPersistent = 50;
constexpr std::size_t kOwners = 4;
constexpr std::size_t kProcesses = 10;
constexpr std::size_t kClients = 10;  // of each
constexpr int kRestarts = 20;

std::string name_of(std::uint64_t number) { return "kv/" + std::to_string(number); }

// args: socket, first export, how many
HB_ROLE(s7_owner) {
  const std::uint64_t first = std::stoull(args.at(1));
  const std::uint64_t count = std::stoull(args.at(2));
  hb_error error = HB_ERROR_INIT;
  hb_client_options options = HB_CLIENT_OPTIONS_INIT;
  options.socket = args[0].c_str();
  hb_client* client = nullptr;
  if (hb_client_open(&options, &client, &error) != HB_OK) return 1;
  std::vector<hb_memory*> memories;
  std::vector<hb_export*> exports;
  for (std::uint64_t number = first; number < first + count; ++number) {
    hb_memory_options size = HB_MEMORY_OPTIONS_INIT;
    size.bytes = kPage;
    hb_memory* memory = nullptr;
    if (hb_memory_alloc(client, &size, &memory, &error) != HB_OK) return 2;
    memories.push_back(memory);
    for (std::uint64_t at = 0; at < kPage; at += sizeof number)
      std::memcpy(static_cast<char*>(hb_memory_ptr(memory)) + at, &number, sizeof number);
    const std::string name = name_of(number);
    hb_export_options what = HB_EXPORT_OPTIONS_INIT;
    what.name = name.c_str();
    what.ptr = hb_memory_ptr(memory);
    what.bytes = kPage;
    what.lifetime = number < kPersistent ? HB_LIFETIME_PERSIST : HB_LIFETIME_OWNER;
    hb_export* made = nullptr;
    if (hb_export_create(client, &what, &made, &error) != HB_OK) {
      std::fprintf(stderr, "%s\n", error.message);
      return 3;
    }
    exports.push_back(made);
  }
  send_message(kChannelFd, {{"ready", 1}});
  static_cast<void>(receive_message(kChannelFd, UINT64_MAX / 2));
  for (hb_export* one : exports) {
    hb_withdrawn withdrawn = HB_WITHDRAWN_INIT;
    if (hb_export_withdraw(one, HB_NO_DEADLINE, &withdrawn, &error) != HB_OK) {
      std::fprintf(stderr, "withdraw: %s\n", error.message);
      return 4;
    }
    hb_export_destroy(one);
  }
  for (hb_memory* one : memories) hb_memory_free(one);
  hb_client_close(client);
  return 0;
}

struct Loop {
  std::uint64_t acquires = 0;
  std::uint64_t wrong = 0;
  std::uint64_t longest_ns = 0;
  std::string failed;
};

void acquire_until(const std::atomic<bool>& end, const std::string& socket, std::uint64_t seed, Loop& out) {
  hb_error error = HB_ERROR_INIT;
  hb_client_options options = HB_CLIENT_OPTIONS_INIT;
  options.socket = socket.c_str();
  hb_client* client = nullptr;
  if (hb_client_open(&options, &client, &error) != HB_OK) {
    out.failed = std::string("open: ") + error.message;
    return;
  }
  for (std::uint64_t turn = seed; !end; ++turn) {
    const std::uint64_t number = turn * 7919 % kExports;
    const std::string name = name_of(number);
    hb_import_options what = HB_IMPORT_OPTIONS_INIT;
    what.name = name.c_str();
    what.deadline_ns = hb_deadline_in(20'000'000'000);
    hb_handles* handles = nullptr;
    const std::uint64_t before = now_ns();
    if (hb_handles_acquire(client, &what, &handles, &error) != HB_OK) {
      out.failed = name + ": " + error.message;
      break;
    }
    out.longest_ns = std::max(out.longest_ns, now_ns() - before);
    ++out.acquires;
    const void* memory = ::mmap(nullptr, kPage, PROT_READ, MAP_SHARED, hb_handles_fd(handles, 0), 0);
    if (memory == MAP_FAILED || std::memcmp(memory, &number, sizeof number) != 0) ++out.wrong;
    if (memory != MAP_FAILED) ::munmap(const_cast<void*>(memory), kPage);
    hb_handles_release(handles);
    ::poll(nullptr, 0, 10);  // a hundred times a second, all together more than that
  }
  hb_client_close(client);
}

// args: socket, seed
HB_ROLE(s7_clients) {
  std::atomic<bool> end{false};
  std::vector<Loop> loops(kClients);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kClients; ++i) {
    threads.emplace_back(
        [&, i] { acquire_until(end, args.at(0), std::stoull(args.at(1)) * 1000 + i * 37, loops[i]); });
  }
  send_message(kChannelFd, {{"ready", 1}});
  static_cast<void>(receive_message(kChannelFd, UINT64_MAX / 2));
  end = true;
  Message report{{"failed", ""}};
  std::uint64_t acquires = 0;
  std::uint64_t wrong = 0;
  std::uint64_t longest = 0;
  for (std::size_t i = 0; i < kClients; ++i) {
    threads[i].join();
    acquires += loops[i].acquires;
    wrong += loops[i].wrong;
    longest = std::max(longest, loops[i].longest_ns);
    if (!loops[i].failed.empty()) report.insert_or_assign("failed", loops[i].failed);
  }
  report.insert({{"acquires", acquires}, {"wrong", wrong}, {"longest", longest}});
  send_message(kChannelFd, report);
  return 0;
}

struct Child {
  UniqueFd channel;
  Process process;
};

class S7 : public RestartTest {
 protected:
  static Child start(const std::string& role, const std::vector<std::string>& args) {
    auto [channel, theirs] = channel_pair();
    std::vector<std::string> line{own_program(), "--role=" + role};
    line.insert(line.end(), args.begin(), args.end());
    Child child{std::move(channel), Process(line, ProcessOptions(), {{theirs.get(), kChannelFd}})};
    theirs.reset();
    EXPECT_TRUE(receive_message(child.channel.get(), kWatchdogNs)) << role << " is not ready";
    return child;
  }
  // Every export once: no name, generation or allocation twice.
  void expect_all_exports() {
    RawPeer admin = admin_peer();
    std::vector<pb::ExportInfo> all;
    pb::List question;
    do {
      const auto page = admin.call<pb::ListReply>(FrameType::kList, question);
      ASSERT_EQ(page.status, HB_OK);
      all.insert(all.end(), page.reply.exports().begin(), page.reply.exports().end());
      question.set_cursor(page.reply.next_cursor());
    } while (question.cursor() != 0);
    std::set<std::string> names;
    for (const pb::ExportInfo& info : all) {
      EXPECT_EQ(info.generation(), 1u) << info.name();
      EXPECT_EQ(info.state(), 1u) << info.name();
      EXPECT_TRUE(names.insert(info.name()).second) << info.name() << " is there twice";
    }
    EXPECT_EQ(names.size(), kExports);
    EXPECT_EQ(status().allocations(), kExports);
  }
};

// Whether every restart is by SIGKILL, or every other one.
class S7Restarts : public S7, public testing::WithParamInterface<bool> {};

TEST_P(S7Restarts, TwentyUnderLoad) {
  std::vector<Child> owners;
  for (std::size_t i = 0; i < kOwners; ++i) {
    owners.push_back(start("s7_owner", {daemon().socket(), std::to_string(i * (kExports / kOwners)),
                                        std::to_string(kExports / kOwners)}));
  }
  std::vector<Child> clients;
  for (std::size_t i = 0; i < kProcesses; ++i)
    clients.push_back(start("s7_clients", {daemon().socket(), std::to_string(i)}));
  const pb::StatusReply before = status();
  EXPECT_TRUE(before.restart_safe()) << before.restart_reason();
  for (int i = 0; i < kRestarts; ++i) {
    daemon().process().signal(GetParam() || i % 2 == 0 ? SIGKILL : SIGTERM);
    ASSERT_TRUE(daemon().process().wait());
    daemon().start();
    expect_all_exports();
  }
  std::uint64_t acquires = 0;
  std::uint64_t longest = 0;
  for (Child& child : clients) send_message(child.channel.get(), {{"end", 1}});
  for (Child& child : clients) {
    const auto report = receive_message(child.channel.get(), 3 * kWatchdogNs);
    ASSERT_TRUE(report);
    EXPECT_EQ(text_of(*report, "failed"), "");
    EXPECT_EQ(number_of(*report, "wrong"), 0u);
    acquires += number_of(*report, "acquires");
    longest = std::max(longest, number_of(*report, "longest"));
    const auto ended = child.process.wait();
    ASSERT_TRUE(ended);
    EXPECT_EQ(describe_exit(*ended), "exited with 0");
  }
  EXPECT_GT(acquires, kProcesses * kClients);
  expect_all_exports();
  const pb::StatusReply after = status();
  EXPECT_EQ(after.restarts(), static_cast<std::uint64_t>(kRestarts));
  EXPECT_EQ(after.leases(), 0u);
  EXPECT_TRUE(after.restart_safe()) << after.restart_reason();
  for (Child& child : owners) send_message(child.channel.get(), {{"end", 1}});
  for (Child& child : owners) {
    const auto ended = child.process.wait();
    ASSERT_TRUE(ended);
    EXPECT_EQ(describe_exit(*ended), "exited with 0");
  }
  std::printf("%llu acquires over %d restarts, the longest took %.0f ms\n",
              static_cast<unsigned long long>(acquires), kRestarts, static_cast<double>(longest) / 1e6);
  RecordProperty("longest_acquire_ms", std::to_string(longest / 1'000'000));
}
INSTANTIATE_TEST_SUITE_P(Twenty, S7Restarts, testing::Values(true, false), [](const auto& by_kill) {
  return std::string(by_kill.param ? "Killed" : "KilledAndStopped");
});

}  // namespace
}  // namespace hb::test
