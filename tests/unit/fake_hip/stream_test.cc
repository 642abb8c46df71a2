// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Streams that do not end, captures, lost devices, forked children.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <future>

#include "hip_child.h"

namespace hb::test {
namespace {

void* stream(const Hip& hip, unsigned flags = 0) {
  void* out = nullptr;
  EXPECT_EQ(hip.hipStreamCreateWithFlags(&out, flags), fh::kSuccess);
  return out;
}

void set(const Hip& hip, const char* word, void* which) {
  char text[64];
  std::snprintf(text, sizeof text, "%s=%p", word, which);
  EXPECT_EQ(hip.fake_hip_control(text), 0);
}

// Whether `call` waits for the stream: either it is seen waiting, or it returns while the stream is busy.
bool waits_for(const Hip& hip, void* busy, const std::function<void()>& call) {
  set(hip, "busy", busy);
  auto done = std::async(std::launch::async, call);
  bool waited = false;
  do waited = hip.fake_hip_count("waiting") > 0;
  while (!waited && done.wait_for(std::chrono::milliseconds(1)) == std::future_status::timeout);
  set(hip, "idle", busy);
  done.get();
  return waited;
}

TEST(FakeHipStreams, UnmapWaitsForEveryDeviceWithAccessFrom714) {
  for (const auto& [version, waits] :
       std::map<std::string, bool>{{"7.2", false}, {"7.14", true}, {"7.15", true}})
    expect_clean({{"FAKE_HIP_VERSION", version}}, [waits = waits](const Hip& hip) {
      void* handle = hip.create(kChunk);
      char* at = hip.reserve(kChunk);
      EXPECT_EQ(hip.hipSetDevice(1), fh::kSuccess);
      void* of_peer = stream(hip, 1);
      EXPECT_EQ(hip.hipSetDevice(2), fh::kSuccess);
      void* of_stranger = stream(hip, 1);
      EXPECT_EQ(hip.hipSetDevice(0), fh::kSuccess);
      for (void* busy : {of_peer, of_stranger}) {
        EXPECT_EQ(hip.hipMemMap(at, kChunk, 0, handle, 0), fh::kSuccess);
        EXPECT_EQ(hip.grant(at, kChunk, {device_access(1), device_access(0)}), fh::kSuccess);
        EXPECT_EQ(waits_for(hip, busy, [&] { EXPECT_EQ(hip.hipMemUnmap(at, kChunk), fh::kSuccess); }),
                  waits && busy == of_peer);
      }
      EXPECT_EQ(hip.hipMemAddressFree(at, kChunk), fh::kSuccess);
      EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
      EXPECT_EQ(hip.hipStreamDestroy(of_peer), fh::kSuccess);
      EXPECT_EQ(hip.hipStreamDestroy(of_stranger), fh::kSuccess);
    });
}

TEST(FakeHipStreams, MapWaitsBehindTheNullStreamUpTo710) {
  for (const auto& [version, waits] : std::map<std::string, bool>{{"7.2", true}, {"7.14", false}})
    expect_clean({{"FAKE_HIP_VERSION", version}}, [waits = waits](const Hip& hip) {
      void* handle = hip.create(kChunk);
      char* at = hip.reserve(kChunk);
      void* blocking = stream(hip, 0);
      EXPECT_EQ(
          waits_for(hip, blocking, [&] { EXPECT_EQ(hip.hipMemMap(at, kChunk, 0, handle, 0), fh::kSuccess); }),
          waits);
      hip.tear_down(at, kChunk, handle);
      EXPECT_EQ(hip.hipStreamDestroy(blocking), fh::kSuccess);
    });
}

TEST(FakeHipStreams, SynchronousCopiesUseTheNullStream) {
  expect_clean({}, [](const Hip& hip) {
    void* at = nullptr;
    EXPECT_EQ(hip.hipMalloc(&at, kChunk), fh::kSuccess);
    void* blocking = stream(hip, 0);
    void* free_one = stream(hip, 1);
    EXPECT_EQ(hip.fake_hip_count("null_stream"), 0);
    EXPECT_TRUE(waits_for(hip, blocking, [&] { EXPECT_EQ(hip.hipMemset(at, 1, 10), fh::kSuccess); }));
    EXPECT_FALSE(waits_for(hip, free_one, [&] { EXPECT_EQ(hip.hipMemset(at, 1, 10), fh::kSuccess); }));
    EXPECT_EQ(hip.fake_hip_count("null_stream"), 2);
    EXPECT_EQ(hip.hipStreamDestroy(blocking), fh::kSuccess);
    EXPECT_EQ(hip.hipStreamDestroy(free_one), fh::kSuccess);
    EXPECT_EQ(hip.hipFree(at), fh::kSuccess);
  });
}

TEST(FakeHipStreams, WorkBehindABusyStreamIsDoneLaterAndInOrder) {
  expect_clean({}, [](const Hip& hip) {
    char* at = nullptr;
    EXPECT_EQ(hip.hipMalloc(reinterpret_cast<void**>(&at), kChunk), fh::kSuccess);
    std::memset(at, 0, 2);
    void* first = stream(hip, 1);
    void* second = stream(hip, 1);
    void* event = nullptr;
    EXPECT_EQ(hip.hipEventCreateWithFlags(&event, 0), fh::kSuccess);
    set(hip, "busy", first);
    const char one = 1;
    const char two = 2;
    EXPECT_EQ(hip.hipMemcpyAsync(at, &one, 1, fh::kCopyHostToDevice, first), fh::kSuccess);
    EXPECT_EQ(hip.hipEventRecord(event, first), fh::kSuccess);
    EXPECT_EQ(hip.hipEventQuery(event), fh::kNotReady);
    EXPECT_EQ(hip.hipPeekAtLastError(), fh::kSuccess);  // not an error
    EXPECT_EQ(hip.hipStreamWaitEvent(second, event, 0), fh::kSuccess);
    EXPECT_EQ(hip.hipMemcpyAsync(at + 1, &two, 1, fh::kCopyHostToDevice, second), fh::kSuccess);
    EXPECT_EQ(hip.hipStreamQuery(second), fh::kNotReady);
    EXPECT_EQ(at[0] + at[1], 0);
    set(hip, "idle", first);
    EXPECT_EQ(hip.hipEventQuery(event), fh::kSuccess);
    EXPECT_EQ(hip.hipStreamSynchronize(second), fh::kSuccess);
    EXPECT_EQ(at[0], 1);
    EXPECT_EQ(at[1], 2);
    EXPECT_EQ(hip.hipEventDestroy(event), fh::kSuccess);
    EXPECT_EQ(hip.fake_hip_report(1), 3);  // two streams and the memory are still there
    EXPECT_EQ(hip.hipStreamDestroy(first), fh::kSuccess);
    EXPECT_EQ(hip.hipStreamDestroy(second), fh::kSuccess);
    EXPECT_EQ(hip.hipFree(at), fh::kSuccess);
  });
}

TEST(FakeHipStreams, UnsafeCallsBreakACapture) {
  expect_clean({{"FAKE_HIP_VERSION", "7.14"}}, [](const Hip& hip) {
    void* at = nullptr;
    void* graph = nullptr;
    EXPECT_EQ(hip.hipMalloc(&at, kChunk), fh::kSuccess);
    void* capturing = stream(hip, 1);
    int status = -1;
    EXPECT_EQ(hip.hipStreamBeginCapture(capturing, fh::kCaptureGlobal), fh::kSuccess);
    EXPECT_EQ(hip.hipMemcpyAsync(at, "x", 1, fh::kCopyHostToDevice, capturing), fh::kSuccess);
    EXPECT_EQ(hip.hipStreamIsCapturing(capturing, &status), fh::kSuccess);
    EXPECT_EQ(status, 1);
    // VMM calls are safe, but for the unmap that waits.
    void* handle = hip.create(kChunk);
    char* va = hip.reserve(kChunk);
    EXPECT_EQ(hip.hipMemMap(va, kChunk, 0, handle, 0), fh::kSuccess);
    EXPECT_EQ(hip.hipStreamEndCapture(capturing, &graph), fh::kSuccess);
    EXPECT_EQ(hip.hipStreamBeginCapture(capturing, fh::kCaptureGlobal), fh::kSuccess);
    EXPECT_EQ(hip.hipMemUnmap(va, kChunk), fh::kStreamCaptureUnsupported);
    EXPECT_EQ(hip.hipStreamEndCapture(capturing, &graph), fh::kStreamCaptureInvalidated);
    hip.tear_down(va, kChunk, handle);
    EXPECT_EQ(hip.hipStreamBeginCapture(capturing, fh::kCaptureGlobal), fh::kSuccess);
    EXPECT_EQ(hip.hipDeviceSynchronize(), fh::kStreamCaptureUnsupported);
    EXPECT_EQ(hip.hipStreamIsCapturing(capturing, &status), fh::kSuccess);
    EXPECT_EQ(status, 2);
    EXPECT_EQ(hip.hipStreamEndCapture(capturing, &graph), fh::kStreamCaptureInvalidated);
    // A relaxed thread may do what it likes.
    EXPECT_EQ(hip.hipStreamBeginCapture(capturing, fh::kCaptureGlobal), fh::kSuccess);
    int mode = fh::kCaptureRelaxed;
    EXPECT_EQ(hip.hipThreadExchangeStreamCaptureMode(&mode), fh::kSuccess);
    EXPECT_EQ(mode, fh::kCaptureGlobal);
    EXPECT_EQ(hip.hipDeviceSynchronize(), fh::kSuccess);
    // An event of the capture says nothing, and asking breaks it only where other calls would, too.
    void* event = nullptr;
    EXPECT_EQ(hip.hipEventCreateWithFlags(&event, 0), fh::kSuccess);
    EXPECT_EQ(hip.hipEventRecord(event, capturing), fh::kSuccess);
    EXPECT_EQ(hip.hipEventQuery(event), fh::kCapturedEvent);
    EXPECT_EQ(hip.hipThreadExchangeStreamCaptureMode(&mode), fh::kSuccess);
    EXPECT_EQ(hip.hipStreamEndCapture(capturing, &graph), fh::kSuccess);
    EXPECT_EQ(hip.hipEventQuery(event), fh::kCapturedEvent);
    EXPECT_EQ(hip.hipEventDestroy(event), fh::kSuccess);
    // A thread-local capture is broken by its own thread only.
    EXPECT_EQ(hip.hipStreamBeginCapture(capturing, fh::kCaptureThreadLocal), fh::kSuccess);
    std::async(std::launch::async, [&] { EXPECT_EQ(hip.hipDeviceSynchronize(), fh::kSuccess); }).get();
    EXPECT_EQ(hip.hipStreamEndCapture(capturing, &graph), fh::kSuccess);
    EXPECT_EQ(hip.hipStreamDestroy(capturing), fh::kSuccess);
    EXPECT_EQ(hip.hipFree(at), fh::kSuccess);
  });
}

TEST(FakeHipStreams, ALostDeviceFailsItsCallsAndNoOthers) {
  expect_clean({}, [](const Hip& hip) {
    void* handle = hip.create(kChunk);
    EXPECT_EQ(hip.fake_hip_control("lost_device=1"), 0);  // ordinal 0
    void* none = nullptr;
    const fh::AllocationProp prop = fd_prop();
    EXPECT_EQ(hip.hipMemCreate(&none, kChunk, &prop, 0), fh::kLaunchFailure);
    EXPECT_EQ(hip.hipGetLastError(), fh::kLaunchFailure);
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
    EXPECT_EQ(hip.hipSetDevice(1), fh::kSuccess);
    EXPECT_EQ(hip.hipMemRelease(hip.create(kChunk, fh::kHandleFd, 1)), fh::kSuccess);
  });
}

TEST(FakeHipStreams, AForkedChildHasNoRuntime) {
  expect_clean({}, [](const Hip& hip) {
    EXPECT_EQ(hip.hipInit(0), fh::kSuccess);
    const pid_t child = ::fork();
    if (child == 0) {
      void* at = nullptr;
      ::_exit(hip.hipMalloc(&at, kChunk) == fh::kNotInitialized ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  });
  expect_clean({}, [](const Hip& hip) {  // before the first call a fork is harmless
    const pid_t child = ::fork();
    if (child == 0) ::_exit(hip.hipInit(0) == fh::kSuccess ? 0 : 1);
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  });
}

}  // namespace
}  // namespace hb::test
