// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The library as a guest of a program with GPUs: its streams, captures, devices and errors are as they were.
#include <sys/wait.h>

#include "fake_hip/abi.h"
#include "integration/memory_fixture.h"

namespace hb::test {
namespace {

constexpr std::uint64_t kInvalidDevice = 101;

class GpuGuest : public EveryMemory {
 protected:
  // Memory, an export and an import of it, all in the same process. Nothing between them but the library.
  static void make(Actor& actor) {
    actor.ok("alloc", {{"bytes", 3 * kGpuChunk}, {"chunk", kGpuChunk}, {"peers", "1"}});
    actor.ok("export", {{"mem", "m"}, {"name", "kv"}});
    actor.ok("import", {{"name", "kv"}, {"access", HB_ACCESS_READ_WRITE}});
  }
  static void give_back(Actor& actor) {
    actor.ok("close_import");
    actor.ok("withdraw");
    actor.ok("destroy");
    actor.ok("free");
  }
  static std::string state(Actor& actor) { return actor.ok("fake").text("state"); }
  static bool waits() { return is({"7.14", "7.15"}); }  // hipMemUnmap, for streams
};
HB_EVERY_GPU_VERSION(GpuGuest);

TEST_P(GpuGuest, NothingUsesTheNullStreamOrWaitsForTheDevice) {
  Actor actor = GpuGuest::actor();
  make(actor);
  give_back(actor);
  const Answer used = actor.ok("control");
  for (const char* what : {"null_stream", "hipMemcpy", "hipMemcpyAsync", "hipDeviceSynchronize",
                           "hipStreamSynchronize", "hipInit"})
    EXPECT_EQ(used.number(what), 0u) << what;
  EXPECT_GT(used.number("hipMemMap"), 0u);
  actor.leave();
}

// A stream with a kernel that does not end.
class BusyStream {
 public:
  explicit BusyStream(Actor& actor) : actor_(actor), name_(actor.ok("stream").text("stream")) { set("busy"); }
  void set(const std::string& what) { actor_.ok("control", {{"text", what + "=" + name_}}); }
  void drop() {
    set("idle");
    actor_.ok("drop_stream", {{"stream", name_}});
  }

 private:
  Actor& actor_;
  std::string name_;
};

TEST_P(GpuGuest, ABusyStreamHoldsNothingUpBefore714) {
  Actor actor = GpuGuest::actor();
  make(actor);
  give_back(actor);
  const std::string before = state(actor);
  BusyStream stream(actor);
  make(actor);
  if (waits()) stream.set("idle");
  give_back(actor);
  stream.drop();
  EXPECT_EQ(state(actor), before);
  EXPECT_EQ(actor.ok("control").number("null_stream"), 0u);
  actor.leave();
}

using GpuUnmapWaits = GpuGuest;
HB_GPU_VERSIONS(GpuUnmapWaits, "7.14", "7.15");

TEST_P(GpuUnmapWaits, AndHoldsNobodyElseUp) {
  Actor actor = GpuGuest::actor();
  make(actor);
  give_back(actor);
  const std::string before = state(actor);
  for (const char* last : {"close_import", "free"}) {
    SCOPED_TRACE(last);
    make(actor);
    BusyStream stream(actor);
    actor.ok("begin", {{"do", last}});
    ASSERT_TRUE(poll_until([&] { return actor.ok("control").number("waiting") == 1; }));
    // On the same device all but unmapping, on another one everything.
    actor.ok("alloc", {{"mem", "same"}, {"bytes", kGpuChunk}});
    actor.ok("alloc", {{"mem", "other"}, {"bytes", kGpuChunk}, {"device", 3}});
    for (const std::string name : {"same", "other"}) {
      actor.ok("export", {{"export", name}, {"mem", name}, {"name", name}});
      actor.ok("import", {{"import", name}, {"name", name}});
      actor.ok("withdraw", {{"export", name}});
      actor.ok("destroy", {{"export", name}});
    }
    actor.ok("close_import", {{"import", "other"}});
    actor.ok("free", {{"mem", "other"}});
    EXPECT_EQ(actor.ok("is_done").number("done"), 0u);
    EXPECT_EQ(actor.ok("control").number("waiting"), 1u);
    stream.set("idle");
    actor.ok("end");
    actor.ok("close_import", {{"import", "same"}});
    actor.ok("free", {{"mem", "same"}});
    actor.ok("withdraw");
    actor.ok("destroy");
    if (std::string(last) == "free") actor.ok("close_import");
    if (std::string(last) == "close_import") actor.ok("free");
    stream.drop();
    EXPECT_EQ(state(actor), before);
  }
  actor.leave();
}

TEST_P(GpuGuest, ARunningCaptureSurvives) {
  Actor actor = GpuGuest::actor();
  make(actor);
  give_back(actor);
  const std::string before = state(actor);
  for (const int mode :
       {hb::fakehip::kCaptureGlobal, hb::fakehip::kCaptureThreadLocal, hb::fakehip::kCaptureRelaxed}) {
    SCOPED_TRACE(mode);
    const std::string stream = actor.ok("stream").text("stream");
    actor.ok("begin_capture", {{"stream", stream}, {"mode", mode}});
    make(actor);  // in the capturing thread
    give_back(actor);
    actor.ok("begin", {{"do", "alloc"}, {"bytes", kGpuChunk}});  // and beside it
    actor.ok("end");
    actor.ok("begin", {{"do", "free"}});
    actor.ok("end");
    // Were a call refused for the capture's sake all the same, its name would be told, and nothing stays.
    actor.ok("arm", {{"control", "fail=hipMemSetAccess:1:900"}});
    const Answer refused = actor.call("alloc", {{"bytes", kGpuChunk}});
    EXPECT_EQ(refused.status, HB_BUSY) << refused;
    EXPECT_NE(refused.message().find("stream capture"), std::string::npos) << refused;
    EXPECT_NE(refused.message().find("hipMemSetAccess"), std::string::npos) << refused;
    actor.ok("arm", {{"control", "fail="}});
    EXPECT_EQ(actor.ok("end_capture", {{"stream", stream}}).number("code"), 0u);
    actor.ok("drop_stream", {{"stream", stream}});
    EXPECT_EQ(state(actor), before);
  }
  actor.leave();
}

TEST_P(GpuGuest, TheProgramsDeviceAndPendingErrorStay) {
  Actor actor = GpuGuest::actor();
  make(actor);
  give_back(actor);
  actor.ok("set_device", {{"device", 1}});
  const auto stays = [&](const std::string& verb, const Message& arguments = {}) {
    actor.ok("pend_error");
    Answer answer = actor.call(verb, arguments);
    const std::string now = state(actor);
    EXPECT_NE(now.find("device 1, error 101"), std::string::npos) << verb << ": " << now;
    EXPECT_EQ(actor.ok("fetch_error").number("code"), kInvalidDevice) << verb;
    EXPECT_EQ(actor.ok("fetch_error").number("code"), 0u) << verb;
    return answer;
  };
  const auto every_verb = [&](hb_status expected) {
    const Message memory{{"bytes", kGpuChunk}, {"chunk", kGpuChunk}, {"peers", "0"}};
    EXPECT_EQ(stays("alloc", memory).status, expected);
    if (expected != HB_OK) return;
    stays("export", {{"mem", "m"}, {"name", "kv"}});
    stays("import", {{"name", "kv"}, {"host", HB_HOST_PREFER}});
    stays("close_import");
    stays("withdraw");
    stays("destroy");
    stays("free");
    stays("probe", {{"device", 2}});
  };
  every_verb(HB_OK);
  // An error of the library's own calls does not come to the program either.
  for (const char* call : {"hipMemCreate", "hipMemMap", "hipMemSetAccess", "hipMemAddressReserve"}) {
    actor.ok("arm", {{"control", std::string("fail=") + call + ":1:201"}});
    every_verb(HB_SYSTEM + (std::string(call) == "hipMemAddressReserve" ? HB_NO_MEMORY - HB_SYSTEM : 0));
    actor.ok("arm", {{"control", std::string("fail=") + call + ":1:201"}});
    EXPECT_NE(actor.call("alloc", {{"bytes", kGpuChunk}}).status, HB_OK) << call;
    EXPECT_EQ(actor.ok("fetch_error").number("code"), 0u) << call;
    actor.ok("arm", {{"control", "fail="}});
  }
  actor.leave();
}

TEST_P(GpuGuest, ThreadsOnDifferentDevicesAtOnceKeepTheirs) {
  Actor actor = GpuGuest::actor();
  make(actor);
  give_back(actor);
  const std::string before = state(actor);
  actor.ok("at_once", {{"rounds", 20}});
  EXPECT_EQ(state(actor), before);
  actor.leave();
}

TEST_P(GpuGuest, OfALostDeviceEveryCallSaysSoAndAllIsGivenBack) {
  for (const int current : {0, 2}) {  // another one, and the lost one
    SCOPED_TRACE(current);
    Actor actor = GpuGuest::actor();
    make(actor);
    give_back(actor);
    actor.ok("set_device", {{"device", current}});
    const std::string before = state(actor);
    make(actor);
    actor.ok("alloc", {{"mem", "y"}, {"bytes", kGpuChunk}});
    actor.ok("control", {{"text", "lost_device=3"}});  // ordinal 2
    const auto refused = [&](const std::string& verb, const Message& arguments) {
      const Answer answer = actor.call(verb, arguments);
      EXPECT_NE(answer.status, HB_OK) << verb;
      EXPECT_NE(answer.message().find("hipErrorLaunchFailure (719)"), std::string::npos) << verb << answer;
      EXPECT_EQ(answer.text("operation").find("hip"), 0u) << verb << answer;
    };
    refused("alloc", {{"mem", "x"}, {"bytes", kGpuChunk}});
    refused("export", {{"export", "x"}, {"mem", "y"}, {"name", "x"}});
    refused("import", {{"import", "x"}, {"name", "kv"}, {"bytes", 4096}});
    give_back(actor);
    actor.ok("free", {{"mem", "y"}});
    actor.ok("control", {{"text", "lost_device=0"}});
    EXPECT_EQ(state(actor), before);
    actor.leave();
  }
}

TEST_P(GpuGuest, AtTheEndOfTheProcessTheRuntimeIsLeftAlone) {
  for (const char* how : {"exit", "static"}) {
    SCOPED_TRACE(how);
    const TempDir dir;
    const std::string trace = dir / "trace";
    ProcessOptions options;
    options.env = {{"FAKE_HIP_TRACE", trace}, {"FAKE_HIP_STRICT", "0"}};
    Actor actor = GpuGuest::actor(options);
    make(actor);
    actor.ok("control");
    const std::string before = read_file(trace);
    EXPECT_NE(before.find("hipMemMap("), std::string::npos);
    EXPECT_TRUE(actor.call("exit", {{"how", how}}).died);
    const auto status = actor.process().wait();
    ASSERT_TRUE(status && WIFEXITED(*status)) << describe_exit(status.value_or(-1));
    EXPECT_EQ(WEXITSTATUS(*status), 0);
    EXPECT_EQ(read_file(trace).substr(before.size()), "");
  }
}

// Of the runtime's parent, that is: it answers hipErrorNotInitialized to whatever a child asks.
TEST_P(GpuGuest, InAForkedChildEveryCallIsHbForkedAndNoneReachesTheRuntime) {
  const TempDir dir;
  const std::string trace = dir / "trace";
  ProcessOptions options;
  options.env = {{"FAKE_HIP_TRACE", trace}};
  Actor actor = GpuGuest::actor(options);
  make(actor);
  const std::string before = state(actor);
  const std::string calls = read_file(trace);
  for (const Message& m : {
           Message{{"do", "alloc"}, {"mem", "x"}, {"bytes", 1}, {"provider", HB_PROVIDER_HIP}},
           Message{{"do", "export"}, {"export", "x"}, {"mem", "m"}, {"name", "x"}},
           Message{{"do", "import"}, {"import", "x"}, {"name", "kv"}},
           Message{{"do", "withdraw"}},
       }) {
    const Answer answer = actor.call("in_child", m);
    EXPECT_EQ(answer.status, HB_FORKED) << text_of(m, "do") << ": " << answer;
    EXPECT_EQ(answer.number("child_status"), 0u);
  }
  for (const char* verb : {"close_import", "free", "destroy", "close"})
    EXPECT_EQ(actor.ok("in_child", {{"do", verb}}).number("child_status"), 0u) << verb;
  EXPECT_EQ(read_file(trace).substr(calls.size()), "");
  EXPECT_EQ(state(actor), before);
  // A child that opens a client of its own has no GPU, and is told so before the runtime is asked.
  const std::string looked = read_file(trace);
  const Answer own = actor.call("in_child_with_client", {{"socket", daemon().socket()}});
  EXPECT_EQ(own.status, HB_FORKED) << own;
  EXPECT_NE(own.message().find("exec a program"), std::string::npos) << own;
  EXPECT_EQ(read_file(trace).substr(looked.size()), "");
  give_back(actor);
  actor.leave();
}

}  // namespace
}  // namespace hb::test
