// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A guest in the caller's thread: device, error and capture are as they were.
#include "providers/hip/driver.h"

#include <thread>

#include "hipbroker/hipbroker.h"
#include "unit/hip/fixture.h"

namespace hb::test {
namespace {

using EveryVersionGuest = EveryVersion;
HB_EVERY_VERSION(EveryVersionGuest);

void make_and_drop(const hc::ContextPtr& context, int device = 0) {
  hc::AllocateSpec spec;
  spec.bytes = kChunk;
  spec.access = *hc::access_for(*context, device, {}, hc::HostAccess::kNone);
  const auto range = hc::allocate(context, spec);
  EXPECT_TRUE(range) << text_of(range);
}

TEST_P(EveryVersionGuest, ThePendingErrorOfTheCallerStays) {
  expect_clean(env(), [](const Hip& hip) {
    const auto context = context_of();
    EXPECT_NE(hip.hipSetDevice(99), fh::kSuccess);
    make_and_drop(context, 1);
    EXPECT_EQ(hip.hipGetLastError(), 101);
    // A failure of ours neither hides it nor takes its place.
    EXPECT_NE(hip.hipSetDevice(99), fh::kSuccess);
    EXPECT_EQ(hip.fake_hip_control("fail=hipMemCreate:1:2"), 0);
    hc::AllocateSpec spec;
    spec.bytes = kChunk;
    spec.access = *hc::access_for(*context, 1, {}, hc::HostAccess::kNone);
    EXPECT_FALSE(hc::allocate(context, spec));
    EXPECT_EQ(hip.hipGetLastError(), 101);
    EXPECT_EQ(hip.hipGetLastError(), fh::kSuccess);
  });
}

TEST_P(EveryVersionGuest, AnErrorOfOursIsNotLeftBehind) {
  expect_clean(env(), [](const Hip& hip) {
    const auto context = context_of();
    EXPECT_EQ(hip.fake_hip_control("fail=hipMemMap:1:1"), 0);
    hc::AllocateSpec spec;
    spec.bytes = kChunk;
    spec.access = *hc::access_for(*context, 1, {}, hc::HostAccess::kNone);
    EXPECT_FALSE(hc::allocate(context, spec));
    EXPECT_EQ(hip.hipGetLastError(), fh::kSuccess);
  });
}

TEST_P(EveryVersionGuest, ARunningCaptureIsNotBroken) {
  for (const int mode : {fh::kCaptureGlobal, fh::kCaptureThreadLocal, fh::kCaptureRelaxed})
    expect_clean(env(), [mode](const Hip& hip) {
      const auto context = context_of();
      void* stream = nullptr;
      EXPECT_EQ(hip.hipStreamCreateWithFlags(&stream, 1), fh::kSuccess);
      EXPECT_EQ(hip.hipStreamBeginCapture(stream, mode), fh::kSuccess);
      make_and_drop(context);                                  // in the capturing thread
      std::thread([&] { make_and_drop(context, 2); }).join();  // and beside it
      int status = 0;
      EXPECT_EQ(hip.hipStreamIsCapturing(stream, &status), fh::kSuccess);
      EXPECT_EQ(status, 1);
      void* graph = nullptr;
      EXPECT_EQ(hip.hipStreamEndCapture(stream, &graph), fh::kSuccess);
      int thread_mode = fh::kCaptureGlobal;
      EXPECT_EQ(hip.hipThreadExchangeStreamCaptureMode(&thread_mode), fh::kSuccess);
      EXPECT_EQ(thread_mode, fh::kCaptureGlobal);
      EXPECT_EQ(hip.hipStreamDestroy(stream), fh::kSuccess);
    });
}

TEST_P(EveryVersionGuest, NothingUsesTheNullStream) {
  expect_clean(env(), [](const Hip& hip) {
    make_and_drop(context_of());
    EXPECT_EQ(hip.fake_hip_count("null_stream"), 0);
    for (const char* call : {"calls:hipMemcpy", "calls:hipDeviceSynchronize", "calls:hipInit"})
      EXPECT_EQ(hip.fake_hip_count(call), 0) << call;
  });
}

TEST_P(EveryVersionGuest, ALostDeviceIsNamedAndFreeingStillWorks) {
  expect_clean(env(), [](const Hip& hip) {
    const auto context = context_of();
    hc::AllocateSpec spec;
    spec.bytes = kChunk;
    spec.access = *hc::access_for(*context, 1, {}, hc::HostAccess::kNone);
    auto range = hc::allocate(context, spec);
    ASSERT_TRUE(range) << text_of(range);
    EXPECT_EQ(hip.fake_hip_control("lost_device=2"), 0);
    const auto refused = hc::allocate(context, spec);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("hipErrorLaunchFailure (719)"), std::string::npos)
        << refused.error().message;
    range->reset();
    EXPECT_EQ(hip.fake_hip_count("mappings"), 0);
    int current = -1;
    EXPECT_EQ(hip.hipGetDevice(&current), fh::kSuccess);
    EXPECT_EQ(current, 0);
  });
}

TEST(HipDriver, ErrorsHaveNameCallAndCause) {
  expect_clean({}, [](const Hip&) {
    const hc::HipTable& hip = (*hc::Runtime::get())->hip();
    const client::Error error = hc::driver_error(hip, "hipMemMap", 1, "chunk 3");
    EXPECT_EQ(error.message, "chunk 3: hipMemMap: hipErrorInvalidValue (1)");
    EXPECT_EQ(error.operation, "hipMemMap");
    EXPECT_EQ(error.status, HB_SYSTEM);
    EXPECT_EQ(hc::driver_error(hip, "hipMemCreate", 2, "chunk 0").status, HB_NO_MEMORY);
    const client::Error capture = hc::driver_error(hip, "hipMemUnmap", 900, "chunk 0");
    EXPECT_EQ(capture.status, HB_BUSY);
    EXPECT_NE(capture.message.find("stream capture"), std::string::npos);
  });
}

}  // namespace
}  // namespace hb::test
