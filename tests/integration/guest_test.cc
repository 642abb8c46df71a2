// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The library as a guest in a process that forks, takes signals, has threads and a protobuf of its own.
#include <signal.h>
#include <sys/wait.h>

#include <google/protobuf/stubs/common.h>

#include <atomic>
#include <memory>
#include <set>
#include <thread>

#include "integration/memory_fixture.h"

namespace hb::test {
namespace {

// In this very process, which has no GPU.
class Guest : public DaemonTest {
 protected:
  struct Close {
    void operator()(hb_client* c) const { hb_client_close(c); }
    void operator()(hb_import* i) const { hb_import_close(i); }
    void operator()(hb_export* e) const { hb_export_destroy(e); }
  };
  using Client = std::unique_ptr<hb_client, Close>;
  using Import = std::unique_ptr<hb_import, Close>;
  using Export = std::unique_ptr<hb_export, Close>;

  Client open() {
    hb_client_options options = HB_CLIENT_OPTIONS_INIT;
    const std::string path = daemon().socket();
    options.socket = path.c_str();
    hb_client* client = nullptr;
    hb_error error = HB_ERROR_INIT;
    EXPECT_EQ(hb_client_open(&options, &client, &error), HB_OK) << error.message;
    return Client(client);
  }
  static hb_status import_name(hb_client* client, const char* name, Import& out, bool wait = false) {
    hb_import_options options = HB_IMPORT_OPTIONS_INIT;
    options.name = name;
    options.wait = wait ? 1 : 0;
    hb_import* made = nullptr;
    const hb_status status = hb_import_open(client, &options, &made, nullptr);
    out.reset(made);
    return status;
  }
  static hb_status export_fd(hb_client* client, const char* name, int fd, Export& out) {
    const hb_chunk chunk{fd, 0, kPage};
    hb_export_options options = HB_EXPORT_OPTIONS_INIT;
    options.name = name;
    options.chunks = &chunk;
    options.chunk_count = 1;
    hb_export* made = nullptr;
    const hb_status status = hb_export_create(client, &options, &made, nullptr);
    out.reset(made);
    return status;
  }
  static void* pointer(const Import& imported) {
    hb_import_info info = HB_IMPORT_INFO_INIT;
    hb_import_get_info(imported.get(), &info);
    return info.ptr;
  }
  static hb_stats stats(const Client& client) {
    hb_stats out{};
    out.size = sizeof out;
    hb_client_get_stats(client.get(), &out);
    return out;
  }
};

TEST_F(Guest, B17_OneMappingForAllImportsAndOneUnmap) {
  RawPeer owner = peer();
  const UniqueFd memory = sealed_memfd(kPage, 4);
  ASSERT_EQ(owner.export_fds("x", {memory.get()}).status, HB_OK);
  Client client = open();
  Import first, second, third;
  std::atomic<int> ready{0};
  const auto together = [&](Import& out) {
    ++ready;
    while (ready < 2) std::this_thread::yield();
    EXPECT_EQ(import_name(client.get(), "x", out), HB_OK);
  };
  std::thread a([&] { together(first); });
  std::thread b([&] { together(second); });
  a.join();
  b.join();
  ASSERT_EQ(import_name(client.get(), "x", third), HB_OK);
  EXPECT_EQ(pointer(first), pointer(second));
  EXPECT_EQ(pointer(first), pointer(third));
  EXPECT_EQ(stats(client).mapped_bytes, kPage);
  const auto leases = [&] { return owner.list().reply.exports(0).leases(); };
  EXPECT_EQ(leases(), 1u);
  first.reset();
  second.reset();
  EXPECT_EQ(pattern_error(pointer(third), kPage, 4), "");
  EXPECT_EQ(stats(client).mapped_bytes, kPage);
  EXPECT_EQ(leases(), 1u);
  third.reset();
  EXPECT_EQ(stats(client).mapped_bytes, 0u);
  EXPECT_TRUE(poll_until([&] { return leases() == 0; }));
}

TEST_F(Guest, EightThreadsAndOneThatWaits) {
  Client client = open();
  const UniqueFd memory = sealed_memfd(kPage, 6);
  std::atomic<bool> waiting_done{false};
  std::thread waiter([&] {
    Import imported;
    EXPECT_EQ(import_name(client.get(), "late", imported, true), HB_OK);
    EXPECT_EQ(pattern_error(pointer(imported), kPage, 6), "");
    waiting_done = true;
  });
  RawPeer admin = admin_peer();
  ASSERT_TRUE(poll_until([&] { return admin.status().reply.waits() == 1; }));
  std::vector<std::thread> workers;
  for (int t = 0; t < 7; ++t)
    workers.emplace_back([&, t] {
      const std::string name = "worker/" + std::to_string(t);
      for (int i = 0; i < 100; ++i) {
        Export exported;
        ASSERT_EQ(export_fd(client.get(), name.c_str(), memory.get(), exported), HB_OK);
        Import imported;
        ASSERT_EQ(import_name(client.get(), name.c_str(), imported), HB_OK);
        ASSERT_EQ(pattern_error(pointer(imported), kPage, 6), "");
        hb_list* list = nullptr;
        ASSERT_EQ(hb_list_exports(client.get(), name.c_str(), HB_NO_DEADLINE, &list, nullptr), HB_OK);
        EXPECT_EQ(hb_list_count(list), 1u);
        hb_list_free(list);
        ASSERT_EQ(hb_export_withdraw(exported.get(), HB_NO_DEADLINE, nullptr, nullptr), HB_OK);
        EXPECT_EQ(hb_import_is_current(imported.get()), 0);
      }
    });
  for (std::thread& worker : workers) worker.join();
  EXPECT_FALSE(waiting_done);
  Export late;
  EXPECT_EQ(export_fd(client.get(), "late", memory.get(), late), HB_OK);
  waiter.join();
  EXPECT_EQ(stats(client).exports, 701u);
}

// This program is a user of libprotobuf itself (raw_peer.h) and of the library, which carries another codec:
// both work, in turns, in one process.
TEST_F(Guest, BesideAProtobufOfTheProcessItself) {
  Client client = open();
  RawPeer other = peer();
  const UniqueFd memory = sealed_memfd(kPage, 2);
  for (int i = 0; i < 50; ++i) {
    const std::string name = "n/" + std::to_string(i) + "/end";
    ASSERT_EQ(other.export_fds(name, {memory.get()}).status, HB_OK);
    Import imported;
    ASSERT_EQ(import_name(client.get(), name.c_str(), imported), HB_OK);
    ASSERT_EQ(pattern_error(pointer(imported), kPage, 2), "");
    pb::ListReply list = other.list(name).reply;
    ASSERT_GE(list.exports_size(), 1);
    pb::ListReply copy;
    ASSERT_TRUE(copy.ParseFromString(list.SerializeAsString()));
    EXPECT_EQ(copy.exports(0).name(), name);
  }
  ::google::protobuf::ShutdownProtobufLibrary();
  EXPECT_EQ(hb_ping(client.get(), HB_NO_DEADLINE, nullptr, nullptr), HB_OK);
}

class GuestProcess : public EveryMemory {};
HB_EVERY_MEMORY(GuestProcess);

TEST_P(GuestProcess, UnderAThousandSignalsASecond) {
  Actor producer = actor();
  Actor consumer = actor();
  producer.ok("timer", {{"hz", 1000}});
  consumer.ok("timer", {{"hz", 1000}});
  for (int i = 0; i < 5; ++i) {
    producer.ok("alloc", {{"bytes", 4 << 20}, {"chunk", 16'384}});
    producer.ok("fill", {{"mem", "m"}, {"seed", i}});
    consumer.start("import", {{"name", "kv"}, {"wait", 1}, {"access", HB_ACCESS_READ_WRITE}});
    producer.ok("export", {{"mem", "m"}, {"name", "kv"}});
    const Answer imported = consumer.finish();
    ASSERT_EQ(imported.status, HB_OK) << imported;
    consumer.ok("check", {{"import", "i"}, {"seed", i}});
    consumer.ok("acquire", {{"name", "kv"}});
    EXPECT_EQ(consumer.call("wait_name", {{"name", "never"}, {"timeout_ms", 30}}).status, HB_TIMEOUT);
    consumer.ok("release");
    consumer.ok("close_import");
    producer.ok("withdraw");
    producer.ok("destroy");
    producer.ok("free");
  }
  EXPECT_GT(producer.ok("timer", {{"hz", 0}}).number("ticks"), 0u);
  EXPECT_GT(consumer.ok("timer", {{"hz", 0}}).number("ticks"), 30u);
  producer.leave();
  consumer.leave();
}

TEST_P(GuestProcess, AForkedChildIsInertAndTheParentsSessionLivesOn) {
  Actor producer = actor();
  Actor consumer = actor();
  producer.ok("alloc", {{"bytes", 4 * unit()}});
  producer.ok("fill", {{"mem", "m"}, {"seed", 1}});
  const std::string key = producer.ok("export", {{"mem", "m"}, {"name", "kv"}}).text("key");
  consumer.ok("import", {{"name", "kv"}});
  consumer.ok("acquire", {{"name", "kv"}});
  const Message forked[] = {
      {{"do", "ping"}},
      {{"do", "list"}},
      {{"do", "import"}, {"import", "x"}, {"name", "kv"}},
      {{"do", "import"}, {"import", "x"}, {"key", key}},
      {{"do", "acquire"}, {"handles", "x"}, {"name", "kv"}},
      {{"do", "wait_name"}, {"name", "kv"}},
      {{"do", "alloc"}, {"mem", "x"}, {"bytes", kPage}},
      {{"do", "info"}},
      {{"do", "withdraw"}, {"all", 1}},
  };
  for (const Message& m : forked) {
    const Answer answer = consumer.call("in_child", m);
    EXPECT_EQ(answer.status, HB_FORKED) << text_of(m, "do") << ": " << answer;
    EXPECT_EQ(answer.number("child_status"), 0u);
  }
  EXPECT_EQ(producer.call("in_child", {{"do", "withdraw"}}).status, HB_FORKED);
  EXPECT_EQ(producer.call("in_child", {{"do", "export"}, {"export", "x"}, {"mem", "m"}}).status, HB_FORKED);
  // Mappings stay usable (a GPU's are its parent's: the runtime refuses a child), and destroying says nothing
  // to the daemon.
  if (!on_gpu()) consumer.ok("in_child", {{"do", "check"}, {"import", "i"}, {"seed", 1}});
  EXPECT_EQ(consumer.ok("in_child", {{"do", "close_import"}}).number("child_status"), 0u);
  EXPECT_EQ(consumer.ok("in_child", {{"do", "release"}}).number("child_status"), 0u);
  EXPECT_EQ(consumer.ok("in_child", {{"do", "close"}}).number("child_status"), 0u);
  EXPECT_EQ(producer.ok("in_child", {{"do", "destroy"}}).number("child_status"), 0u);
  EXPECT_EQ(producer.ok("in_child", {{"do", "close"}}).number("child_status"), 0u);
  EXPECT_EQ(producer.ok("who").number("count"), 2u);
  consumer.ok("ping");
  consumer.ok("check", {{"import", "i"}, {"seed", 1}});
  EXPECT_EQ(consumer.ok("current").number("current"), 1u);
  EXPECT_EQ(producer.ok("withdraw").number("exports"), 1u);
  consumer.leave();
  producer.leave();
}

// The child that opens a client of its own is a session of its own.
TEST_P(GuestProcess, AForkedChildMayOpenItsOwnClient) {
  Actor producer = actor();
  producer.ok("objects");
  producer.ok("export", {{"fds", "f"}, {"name", "kv"}});
  const Answer opened =
      producer.ok("in_child", {{"do", "open"}, {"client", "mine"}, {"socket", daemon().socket()}});
  EXPECT_EQ(opened.number("child_status"), 0u);
  producer.ok("ping");
  EXPECT_EQ(producer.ok("list").number("count"), 1u);
}

TEST_P(GuestProcess, StartsNoThreadAndTouchesNoSignal) {
  const auto threads = [](pid_t pid) {
    const std::string text = read_file("/proc/" + std::to_string(pid) + "/status");
    return text.substr(text.find("Threads:"), text.find('\n', text.find("Threads:")) - text.find("Threads:"));
  };
  const auto signals = [](pid_t pid) {
    const std::string text = read_file("/proc/" + std::to_string(pid) + "/status");
    const std::size_t from = text.find("SigBlk:");
    return text.substr(from, text.find("CapInh:") - from);
  };
  Actor producer = process();
  producer.ok("fds");
  const std::string before = signals(producer.pid());
  const std::string alone = threads(producer.pid());  // the runtime may have some
  producer.ok("open", {{"socket", daemon().socket()}});
  producer.ok("alloc", {{"bytes", unit()}});
  producer.ok("export", {{"mem", "m"}, {"name", "kv"}});
  producer.ok("import", {{"name", "kv"}});
  EXPECT_EQ(threads(producer.pid()), alone);
  if (!on_gpu()) {
    EXPECT_EQ(alone, "Threads:\t1");
  }
  EXPECT_EQ(signals(producer.pid()), before);
  producer.leave();
}

}  // namespace
}  // namespace hb::test
