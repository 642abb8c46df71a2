// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the fake says and what it can be told: complaints, injected failures, the trace, the last error.
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "hip_child.h"

namespace hb::test {
namespace {

TEST(FakeHipControl, EveryKindOfLeakIsToldAtExit) {
  const std::map<std::string, std::function<void(const Hip&)>> leaks = {
      {"1 allocation handle(s) not released", [](const Hip& hip) { static_cast<void>(hip.create(kChunk)); }},
      {"1 address reservation(s) not freed", [](const Hip& hip) { static_cast<void>(hip.reserve(kChunk)); }},
      {"1 mapping(s) not unmapped",
       [](const Hip& hip) {
         void* handle = hip.create(kChunk);
         EXPECT_EQ(hip.hipMemMap(hip.reserve(kChunk), kChunk, 0, handle, 0), fh::kSuccess);
         EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
       }},
      {"1 hipMalloc allocation(s) not freed",
       [](const Hip& hip) {
         void* at = nullptr;
         EXPECT_EQ(hip.hipMalloc(&at, 1), fh::kSuccess);
       }},
      {"1 hipMallocAsync allocation(s) not freed",
       [](const Hip& hip) {
         void* at = nullptr;
         EXPECT_EQ(hip.hipMallocAsync(&at, 1, nullptr), fh::kSuccess);
       }},
      {"1 host allocation(s)",
       [](const Hip& hip) {
         void* at = nullptr;
         EXPECT_EQ(hip.hipHostMalloc(&at, 1, 0), fh::kSuccess);
       }},
      {"1 external memory object(s)",
       [](const Hip& hip) {
         void* handle = hip.create(kChunk);
         fh::ExternalMemoryHandleDesc desc{};
         desc.type = 1;
         desc.size = kChunk;
         desc.handle.fd = hip.export_fd(handle);
         void* memory = nullptr;
         EXPECT_EQ(hip.hipImportExternalMemory(&memory, &desc), fh::kSuccess);
         EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
       }},
  };
  for (const auto& [words, body] : leaks) expect_complaint({}, words, body);
}

TEST(FakeHipControl, ComplaintsCanLeaveTheExitStatusAlone) {
  const ChildResult result =
      run_child({{"FAKE_HIP_STRICT", "0"}}, [](const Hip& hip) { static_cast<void>(hip.create(kChunk)); });
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.errors.find("leak: 1 allocation handle(s)"), std::string::npos) << result.errors;
}

TEST(FakeHipControl, ReleasedHandlesAreNotUsable) {
  expect_complaint({}, "hipMemRelease: handle is not alive", [](const Hip& hip) {
    void* handle = hip.create(kChunk);
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kInvalidValue);
    EXPECT_EQ(hip.fake_hip_count("violations"), 1);
  });
  expect_clean({}, [](const Hip& hip) {
    void* handle = hip.create(kChunk);
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kInvalidValue);
    EXPECT_EQ(hip.fake_hip_control("forget=1"), 0);
  });
}

TEST(FakeHipControl, TheKthCallOfAFunctionFails) {
  expect_clean({{"FAKE_HIP_FAIL", "hipMemCreate:2:2"}}, [](const Hip& hip) {
    void* first = hip.create(kChunk);
    void* second = nullptr;
    const fh::AllocationProp prop = fd_prop();
    EXPECT_EQ(hip.hipMemCreate(&second, kChunk, &prop, 0), fh::kOutOfMemory);
    EXPECT_EQ(second, nullptr);
    void* third = hip.create(kChunk);
    EXPECT_EQ(hip.fake_hip_count("calls:hipMemCreate"), 3);
    EXPECT_EQ(hip.hipMemRelease(first), fh::kSuccess);
    EXPECT_EQ(hip.hipMemRelease(third), fh::kSuccess);
  });
}

TEST(FakeHipControl, TheKthCallOfAnyFunctionFails) {
  expect_clean({}, [](const Hip& hip) {
    void* handle = nullptr;
    void* at = nullptr;
    const fh::AllocationProp prop = fd_prop();
    EXPECT_EQ(hip.fake_hip_control("fail=any:2"), 0);
    EXPECT_EQ(hip.hipMemCreate(&handle, kChunk, &prop, 0), fh::kSuccess);
    EXPECT_EQ(hip.hipGetLastError(), fh::kSuccess);  // asks, and is not counted
    EXPECT_EQ(hip.hipMemAddressReserve(&at, kChunk, 0, nullptr, 0), fh::kUnknown);
    EXPECT_EQ(hip.fake_hip_control("fail="), 0);
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
  });
}

TEST(FakeHipControl, CallsThatGiveBackDoItAndAnswerTheError) {
  expect_clean({}, [](const Hip& hip) {
    void* handle = hip.create(kChunk);
    EXPECT_EQ(hip.fake_hip_control("fail=hipMemRelease:1:1"), 0);
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kInvalidValue);
    EXPECT_EQ(hip.fake_hip_count("handles"), 0);
    handle = hip.create(kChunk);
    EXPECT_EQ(hip.fake_hip_control("fail=hipMemRelease:1:1:skip"), 0);
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kInvalidValue);
    EXPECT_EQ(hip.fake_hip_count("handles"), 1);
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
  });
}

TEST(FakeHipControl, APartialGrant) {
  expect_clean({}, [](const Hip& hip) {
    void* handle = hip.create(kChunk);
    char* at = hip.reserve(kChunk);
    EXPECT_EQ(hip.hipMemMap(at, kChunk, 0, handle, 0), fh::kSuccess);
    EXPECT_EQ(hip.fake_hip_control("fail=hipMemSetAccess:1:2:partial"), 0);
    EXPECT_EQ(hip.grant(at, kChunk, {device_access(1), device_access(0)}), fh::kOutOfMemory);
    unsigned long long flags = 0;
    const fh::Location one{fh::kLocationDevice, 1};
    EXPECT_EQ(hip.hipMemGetAccess(&flags, &one, at), fh::kSuccess);
    EXPECT_EQ(flags, 3u);
    EXPECT_EQ(hip.fake_hip_control("grant_fails_once=1"), 0);
    EXPECT_EQ(hip.grant(at, kChunk, {device_access(0)}), fh::kOutOfMemory);
    EXPECT_EQ(hip.grant(at, kChunk, {device_access(0)}), fh::kSuccess);
    hip.tear_down(at, kChunk, handle);
  });
}

TEST(FakeHipControl, TheTraceHasOneLineACallInOrder) {
  char path[] = "/tmp/fakehiptraceXXXXXX";
  ::close(::mkstemp(path));
  expect_clean({{"FAKE_HIP_TRACE", path}}, [](const Hip& hip) {
    EXPECT_EQ(hip.hipMemRelease(hip.create(kChunk)), fh::kSuccess);
    EXPECT_EQ(hip.hipSetDevice(9), fh::kInvalidDevice);
  });
  std::ifstream file(path);
  std::vector<std::string> calls;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    long pid = 0;
    long tid = 0;
    std::string rest;
    words >> pid >> tid;
    std::getline(words, rest);
    EXPECT_GT(pid, 0);
    EXPECT_EQ(pid, tid);
    calls.push_back(rest.substr(1, rest.find('(') - 1) + rest.substr(rest.rfind(" = ")));
  }
  EXPECT_EQ(calls, (std::vector<std::string>{"hipMemCreate = 0", "hipMemRelease = 0", "hipSetDevice = 101"}));
  ::unlink(path);
}

TEST(FakeHipControl, TheLastErrorStaysUntilItIsFetched) {
  expect_clean({}, [](const Hip& hip) {
    EXPECT_EQ(hip.hipSetDevice(9), fh::kInvalidDevice);
    EXPECT_EQ(hip.hipSetDevice(0), fh::kSuccess);
    EXPECT_EQ(hip.hipPeekAtLastError(), fh::kInvalidDevice);
    EXPECT_EQ(hip.hipGetLastError(), fh::kInvalidDevice);
    EXPECT_EQ(hip.hipGetLastError(), fh::kSuccess);
    EXPECT_EQ(hip.hipDeviceEnablePeerAccess(1, 0), fh::kSuccess);
    EXPECT_EQ(hip.hipDeviceEnablePeerAccess(1, 0), fh::kPeerAccessAlreadyEnabled);
    EXPECT_EQ(hip.hipGetLastError(), fh::kPeerAccessAlreadyEnabled);
    EXPECT_STREQ(hip.hipGetErrorName(fh::kInvalidValue), "hipErrorInvalidValue");
  });
}

TEST(FakeHipControl, AFaultCanKillAsOnAGpu) {
  const ChildResult result = run_child({{"FAKE_HIP_SWITCHES", "fault_aborts=1"}}, [](const Hip& hip) {
    void* handle = hip.create(kChunk);
    char* at = hip.reserve(kChunk);
    hip.hipMemMap(at, kChunk, 0, handle, 0);
    hip.hipMemset(at, 1, 1);
  });
  EXPECT_EQ(result.signal, SIGABRT);
  EXPECT_NE(result.errors.find("Memory access fault by GPU"), std::string::npos) << result.errors;
}

TEST(FakeHipControl, NonsenseIsRefused) {
  for (const Env& env :
       {Env{{"FAKE_HIP_VERSION", "5.7"}}, Env{{"FAKE_HIP_SWITCHES", "no_such_quirk=1"}},
        Env{{"FAKE_HIP_FAIL", "hipMemCreate:zero"}}, Env{{"FAKE_HIP_DEVICES", "pci=0000:03:00.0"}}}) {
    const ChildResult result = run_child(env, [](const Hip& hip) { hip.hipInit(0); });
    EXPECT_EQ(result.signal, SIGABRT);
    EXPECT_NE(result.errors.find("fake_hip: "), std::string::npos) << result.errors;
  }
  expect_clean({}, [](const Hip& hip) {
    EXPECT_EQ(hip.fake_hip_control("nothing"), -1);
    EXPECT_EQ(hip.fake_hip_count("nothing"), -1);
  });
}

// What a mapping shows to the GPU it is on and to a peer, both let in.
TEST(FakeHipControl, APeerCanBeMadeToSeeJunkOrToDieOfIt) {
  const auto look = [](const Hip& hip, int device) {
    void* handle = hip.create(kChunk);
    char* at = hip.reserve(kChunk);
    EXPECT_EQ(hip.hipMemMap(at, kChunk, 0, handle, 0), fh::kSuccess);
    EXPECT_EQ(hip.grant(at, kChunk, {device_access(1), device_access(0)}), fh::kSuccess);
    const std::uint64_t word = 0x1122334455667788;
    std::uint64_t back = 0;
    EXPECT_EQ(hip.hipMemcpy(at, &word, sizeof word, fh::kCopyDefault), fh::kSuccess);
    EXPECT_EQ(hip.hipSetDevice(device), fh::kSuccess);
    EXPECT_EQ(hip.hipMemcpy(&back, at, sizeof back, fh::kCopyDefault), fh::kSuccess);
    EXPECT_EQ(hip.hipSetDevice(0), fh::kSuccess);
    hip.tear_down(at, kChunk, handle);
    return back == word;
  };
  expect_clean({}, [&](const Hip& hip) { EXPECT_TRUE(look(hip, 1)); });
  expect_clean({{"FAKE_HIP_SWITCHES", "peers_see_junk=1"}}, [&](const Hip& hip) {
    EXPECT_TRUE(look(hip, 0));
    EXPECT_FALSE(look(hip, 1));
  });
  expect_clean({{"FAKE_HIP_SWITCHES", "peer_access_aborts=2"}}, [&](const Hip& hip) {
    EXPECT_TRUE(look(hip, 1));  // the memory is on device 0
  });
  expect_abort({{"FAKE_HIP_SWITCHES", "peer_access_aborts=1"}}, [&](const Hip& hip) { look(hip, 1); });
}

}  // namespace
}  // namespace hb::test
