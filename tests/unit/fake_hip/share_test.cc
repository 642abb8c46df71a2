// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Memory across processes: descriptors, their forms, what they cost, what keeps memory alive.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <vector>

#include "hip_child.h"
#include "support/fd_census.h"
#include "wire/packet_socket.h"
#include "wire/unique_fd.h"

namespace hb::test {
namespace {

class EveryVersionShared : public VersionTest {};
IN_EVERY_VERSION(EveryVersionShared);

struct Pair {
  UniqueFd left;
  UniqueFd right;
  Pair() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    left.reset(ends[0]);
    right.reset(ends[1]);
  }
};

void send_fd(int socket, int fd) {
  const std::array<int, 1> fds{fd};
  const std::byte mark{7};
  const auto sent = send_packet(socket, std::span(&mark, 1), {}, fds);
  ASSERT_TRUE(sent.has_value() && *sent == SendOutcome::kSent);
}

UniqueFd receive_fd(int socket) {
  std::byte mark{};
  EXPECT_TRUE(wait_socket(socket, WaitFor::kReadable, UINT64_MAX).value_or(false));
  auto received = receive_packet(socket, std::span(&mark, 1));
  if (!received.has_value() || received->fds.size() != 1) {
    ADD_FAILURE() << "no descriptor came";
    return {};
  }
  return std::move(received->fds[0]);
}

// A mapped, granted import; expects success.
char* attach(const Hip& hip, int fd, void*& handle, int device = 0) {
  EXPECT_EQ(hip.import_fd(&handle, fd), fh::kSuccess);
  char* at = hip.reserve(kChunk);
  EXPECT_EQ(hip.hipMemMap(at, kChunk, 0, handle, 0), fh::kSuccess);
  EXPECT_EQ(hip.grant(at, kChunk, {device_access(device)}), fh::kSuccess);
  return at;
}

TEST_P(EveryVersionShared, TwoProcessesSeeTheSameBytes) {
  const Pair pair;
  const auto producer = [&](const Hip& hip) {
    void* handle = hip.create(kChunk);
    char* at = hip.reserve(kChunk);
    EXPECT_EQ(hip.hipMemMap(at, kChunk, 0, handle, 0), fh::kSuccess);
    EXPECT_EQ(hip.grant(at, kChunk, {device_access(0)}), fh::kSuccess);
    EXPECT_EQ(hip.hipMemcpy(at, "hello", 5, fh::kCopyHostToDevice), fh::kSuccess);
    const int fd = hip.export_fd(handle);
    send_fd(pair.left.get(), fd);
    ::close(fd);
    hip.tear_down(at, kChunk, handle);
    // The unread message alone holds the memory now.
    EXPECT_EQ(hip.fake_hip_device_bytes(0), kChunk);
  };
  expect_clean(env(), producer);
  // The consumer sees the owner as its ordinal 1.
  Env other = env();
  other["HIP_VISIBLE_DEVICES"] = "3,0";
  expect_clean(other, [&](const Hip& hip) {
    UniqueFd fd = receive_fd(pair.right.get());
    void* handle = nullptr;
    char* at = attach(hip, fd.get(), handle);
    fd.reset();
    char back[5];
    EXPECT_EQ(hip.hipMemcpy(back, at, 5, fh::kCopyDeviceToHost), fh::kSuccess);
    EXPECT_EQ(std::memcmp(back, "hello", 5), 0);
    fh::AllocationProp prop{};
    EXPECT_EQ(hip.hipMemGetAllocationPropertiesFromHandle(&prop, handle), fh::kSuccess);
    EXPECT_EQ(prop.location.id, 0);  // a guess: the truth is 1
    EXPECT_EQ(hip.fake_hip_device_bytes(0), kChunk);
    hip.tear_down(at, kChunk, handle);
    EXPECT_EQ(hip.fake_hip_device_bytes(0), 0u);
  });
}

TEST_P(EveryVersionShared, DescriptorsAreSealedMemfds) {
  expect_clean(env(), [](const Hip& hip) {
    void* handle = hip.create(kChunk);
    const int fd = hip.export_fd(handle);
    EXPECT_GE(fd, 3);
    EXPECT_EQ(::fcntl(fd, F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    EXPECT_EQ(::fcntl(fd, F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(::lseek(fd, 0, SEEK_END), static_cast<off_t>(kChunk));
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
    ::close(fd);
  });
}

TEST_P(EveryVersionShared, MemoryOfAKilledProcessIsCountedUntilTheLastReferenceGoes) {
  const Pair pair;
  const ChildResult killed = run_child(env(), [&](const Hip& hip) {
    void* handle = hip.create(kChunk, fh::kHandleFd, 0);
    static_cast<void>(hip.create(3 * kChunk));  // held by nobody else
    send_fd(pair.left.get(), hip.export_fd(handle));
    EXPECT_EQ(hip.fake_hip_device_bytes(0), 4 * kChunk);
    ::kill(::getpid(), SIGKILL);
  });
  EXPECT_EQ(killed.signal, SIGKILL);
  expect_clean(env(), [&](const Hip& hip) {
    EXPECT_EQ(hip.fake_hip_device_bytes(0), kChunk);
    std::size_t free_bytes = 0;
    std::size_t total = 0;
    EXPECT_EQ(hip.hipMemGetInfo(&free_bytes, &total), fh::kSuccess);
    EXPECT_EQ(total - free_bytes, kChunk);
    receive_fd(pair.right.get()).reset();
    EXPECT_EQ(hip.fake_hip_device_bytes(0), 0u);
  });
}

TEST_P(EveryVersionShared, AMachineNameKeepsRunsApart) {
  const Pair pair;
  expect_clean(env(), [&](const Hip& hip) {
    void* handle = hip.create(kChunk);
    const int fd = hip.export_fd(handle);
    send_fd(pair.left.get(), fd);
    ::close(fd);
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
  });
  const auto used = [](const Hip& hip) { EXPECT_EQ(hip.fake_hip_device_bytes(0), kChunk); };
  expect_clean(env(), used);
  // run_child puts its own name first; this one wins.
  Env other = env();
  other["FAKE_HIP_STATE"] = "another machine";
  expect_clean(other, [](const Hip& hip) { EXPECT_EQ(hip.fake_hip_device_bytes(0), 0u); });
}

TEST_P(EveryVersionShared, VramIsSharedByAllProcesses) {
  const Pair pair;
  Env small = env();
  small["FAKE_HIP_DEVICES"] = "uuid=f00d000000000000 vram=8M";
  const auto take = [&](const Hip& hip) {
    void* handle = hip.create(2 * kChunk);
    const int fd = hip.export_fd(handle);
    send_fd(pair.left.get(), fd);
    ::close(fd);
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
  };
  expect_clean(small, take);
  expect_clean(small, [](const Hip& hip) {
    void* handle = nullptr;
    const fh::AllocationProp prop = fd_prop();
    EXPECT_EQ(hip.hipMemCreate(&handle, 3 * kChunk, &prop, 0), fh::kOutOfMemory);
    EXPECT_EQ(hip.hipMemCreate(&handle, 2 * kChunk, &prop, 0), fh::kSuccess);
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
  });
}

TEST_P(EveryVersionShared, TheOtherFormOfOsHandle) {
  const auto by_value = [](const Hip& hip) {
    void* handle = hip.create(kChunk);
    const int fd = hip.export_fd(handle);
    void* imported = nullptr;
    EXPECT_EQ(hip.hipMemImportFromShareableHandle(
                  &imported, reinterpret_cast<void*>(static_cast<std::uintptr_t>(fd)), fh::kHandleFd),
              fh::kSuccess);
    EXPECT_EQ(hip.hipMemRelease(imported), fh::kSuccess);
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
    ::close(fd);
  };
  const auto by_pointer = [](const Hip& hip) {
    void* handle = hip.create(kChunk);
    auto fd = std::make_unique<int>(hip.export_fd(handle));
    void* imported = nullptr;
    EXPECT_EQ(hip.hipMemImportFromShareableHandle(&imported, fd.get(), fh::kHandleFd), fh::kInvalidValue);
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
    ::close(*fd);
  };
  if (is({"6.2", "7.0"})) {
    expect_abort(env(), by_value);
  } else {
    expect_clean(env(), by_value);
    expect_complaint(env(), "an address, where this version takes the descriptor", by_pointer);
  }
  expect_clean(env(), [](const Hip& hip) {
    void* imported = nullptr;
    EXPECT_EQ(hip.hipMemImportFromShareableHandle(&imported, nullptr, fh::kHandleFd), fh::kInvalidValue);
  });
}

TEST_P(EveryVersionShared, AForeignDescriptorFailsAtImportOrAtTheGrant) {
  const bool lazy = is({"7.14", "7.15"});
  expect_clean(env(), [lazy](const Hip& hip) {
    const UniqueFd stranger(::memfd_create("stranger", MFD_CLOEXEC));
    EXPECT_EQ(::ftruncate(stranger.get(), kChunk), 0);
    void* handle = nullptr;
    EXPECT_EQ(hip.import_fd(&handle, stranger.get()), lazy ? fh::kSuccess : fh::kInvalidValue);
    if (!lazy) return;
    char* at = hip.reserve(kChunk);
    EXPECT_EQ(hip.hipMemMap(at, kChunk, 0, handle, 0), fh::kSuccess);
    EXPECT_EQ(hip.grant(at, kChunk, {device_access(0)}), fh::kInvalidValue);
    hip.tear_down(at, kChunk, handle);
  });
}

// HIP's own variable hides a GPU from HIP, and ROCr finds it all the same.
TEST_P(EveryVersionShared, AnOwnerHiddenFromRocrOrFromHipAlone) {
  for (const char* variable : {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"}) {
    const bool needs = is({"6.2", "7.0", "7.1", "7.2"}) && variable == std::string("ROCR_VISIBLE_DEVICES");
    const Pair pair;
    expect_clean(env(), [&](const Hip& hip) {
      void* handle = hip.create(kChunk);
      const int fd = hip.export_fd(handle);
      send_fd(pair.left.get(), fd);
      ::close(fd);
      EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
    });
    Env hidden = env();
    hidden[variable] = "1";
    expect_clean(hidden, [&](const Hip& hip) {
      const UniqueFd fd = receive_fd(pair.right.get());
      void* handle = nullptr;
      if (needs) {
        EXPECT_EQ(hip.import_fd(&handle, fd.get()), fh::kInvalidValue);
        return;
      }
      char* at = attach(hip, fd.get(), handle);
      hip.tear_down(at, kChunk, handle);
    });
  }
}

TEST_P(EveryVersionShared, HostAccessToImports) {
  const bool can = is({"7.2", "7.14"});
  const bool imports_can_be_switched_on = is({"7.15"});
  expect_clean(env(), [=](const Hip& hip) {
    void* handle = hip.create(kChunk);
    const int fd = hip.export_fd(handle);
    void* imported = nullptr;
    char* at = attach(hip, fd, imported);
    EXPECT_EQ(hip.grant(at, kChunk, {host_access()}), can ? fh::kSuccess : fh::kInvalidValue);
    EXPECT_EQ(cpu_reads(at), can);
    if (imports_can_be_switched_on) {
      EXPECT_EQ(hip.fake_hip_control("host_on_import=1"), 0);
      EXPECT_EQ(hip.grant(at, kChunk, {host_access()}), fh::kSuccess);
      EXPECT_TRUE(cpu_reads(at));
    }
    hip.tear_down(at, kChunk, imported);
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
    ::close(fd);
  });
}

TEST_P(EveryVersionShared, WhatMayNotBeExported) {
  expect_clean(env(), [](const Hip& hip) {
    void* none = hip.create(kChunk, fh::kHandleNone);
    int fd = -1;
    EXPECT_EQ(hip.hipMemExportToShareableHandle(&fd, none, fh::kHandleFd, 0), fh::kInvalidValue);
    EXPECT_EQ(hip.hipMemExportToShareableHandle(&fd, none, fh::kHandleNone, 0), fh::kInvalidValue);
    void* handle = hip.create(kChunk);
    fd = hip.export_fd(handle);
    void* imported = nullptr;
    EXPECT_EQ(hip.import_fd(&imported, fd), fh::kSuccess);
    int again = -1;
    EXPECT_EQ(hip.hipMemExportToShareableHandle(&again, imported, fh::kHandleFd, 0), fh::kInvalidValue);
    EXPECT_EQ(hip.hipMemRelease(imported), fh::kSuccess);
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
    EXPECT_EQ(hip.hipMemRelease(none), fh::kSuccess);
    ::close(fd);
  });
}

TEST_P(EveryVersionShared, WhatHandlesCostInDescriptors) {
  const std::size_t per_create = is({"7.14"}) ? 1 : 0;
  const std::size_t per_import = is({"7.14", "7.15"}) ? 1 : 0;
  expect_clean(env(), [=](const Hip& hip) {
    EXPECT_EQ(hip.hipMemRelease(hip.create(kChunk)),
              fh::kSuccess);  // the vault's socket is there from now on
    const std::size_t before = count_fds();
    void* handles[4];
    for (void*& handle : handles) handle = hip.create(kChunk);
    EXPECT_EQ(count_fds(), before + 4 * per_create);
    const int fd = hip.export_fd(handles[0]);
    const std::size_t exported = count_fds();
    EXPECT_EQ(exported, before + 4 * per_create + 1);
    void* imports[3];
    for (void*& import : imports) EXPECT_EQ(hip.import_fd(&import, fd), fh::kSuccess);
    EXPECT_EQ(count_fds(), exported + 3 * per_import);
    for (void* import : imports) EXPECT_EQ(hip.hipMemRelease(import), fh::kSuccess);
    for (void* handle : handles) EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
    ::close(fd);
    EXPECT_EQ(count_fds(), before);
  });
}

TEST_P(EveryVersionShared, AThousandHandlesUnderALowLimit) {
  const bool costs = is({"7.14"});
  expect_clean(env(), [costs](const Hip& hip) {
    const rlimit low{64, 64};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
    std::vector<void*> handles;
    const fh::AllocationProp prop = fd_prop();
    HipError error = fh::kSuccess;
    for (int i = 0; i < 300 && error == fh::kSuccess; ++i) {
      void* handle = nullptr;
      error = hip.hipMemCreate(&handle, 4096, &prop, 0);
      if (error == fh::kSuccess) handles.push_back(handle);
    }
    EXPECT_EQ(error, costs ? fh::kOutOfMemory : fh::kSuccess);
    EXPECT_EQ(handles.size() < 64, costs);
    for (void* handle : handles) EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
  });
}

TEST_P(EveryVersionShared, TheSecondExportMayAnswerTheSameNumber) {
  const bool shared = is({"7.14"});
  expect_clean(env(), [shared](const Hip& hip) {
    void* handle = hip.create(kChunk);
    const int first = hip.export_fd(handle);
    const int second = hip.export_fd(handle);
    EXPECT_EQ(first == second, shared);
    ::close(first);
    if (shared) {  // closed too early: the number is dead, and is answered all the same
      EXPECT_EQ(hip.export_fd(handle), first);
      struct stat status;
      EXPECT_NE(::fstat(first, &status), 0);
    } else {
      ::close(second);
    }
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
  });
  if (!shared) return;
  expect_complaint(env(), "not closed after its handle went", [](const Hip& hip) {
    void* handle = hip.create(kChunk);
    EXPECT_GE(hip.export_fd(handle), 3);
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
  });
  Env runtime_owns = env();
  runtime_owns["FAKE_HIP_SWITCHES"] = "runtime_closes_export_fd=1";
  expect_clean(runtime_owns, [](const Hip& hip) {
    void* handle = hip.create(kChunk);
    const int fd = hip.export_fd(handle);
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
    EXPECT_NE(::fcntl(fd, F_GETFD), FD_CLOEXEC);
  });
  expect_complaint(runtime_owns, "would now hit a stranger", [](const Hip& hip) {
    void* handle = hip.create(kChunk);
    ::close(hip.export_fd(handle));
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
  });
}

TEST(FakeHipShare, EarlyBuildsReadTheCallersNumberAtTheGrant) {
  expect_clean({{"FAKE_HIP_VERSION", "7.14"}, {"FAKE_HIP_SWITCHES", "import_by_number=1"}},
               [](const Hip& hip) {
                 void* handle = hip.create(kChunk);
                 for (const bool close_early : {true, false}) {
                   const UniqueFd own(::fcntl(hip.export_fd(handle), F_DUPFD_CLOEXEC, 3));
                   UniqueFd fd = own.duplicate();
                   void* imported = nullptr;
                   EXPECT_EQ(hip.import_fd(&imported, fd.get()), fh::kSuccess);
                   if (close_early) fd.reset();
                   char* at = hip.reserve(kChunk);
                   EXPECT_EQ(hip.hipMemMap(at, kChunk, 0, imported, 0), fh::kSuccess);
                   EXPECT_EQ(hip.grant(at, kChunk, {device_access(0)}),
                             close_early ? fh::kInvalidValue : fh::kSuccess);
                   hip.tear_down(at, kChunk, imported);
                 }
                 const int fd = hip.export_fd(handle);
                 EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
                 ::close(fd);
               });
}

TEST(FakeHipShare, ImportsCanBeMadeToShowOtherBytes) {
  expect_clean({{"FAKE_HIP_SWITCHES", "corrupt_imports=1"}}, [](const Hip& hip) {
    void* handle = hip.create(kChunk);
    const int fd = hip.export_fd(handle);
    void* imported = nullptr;
    char* at = attach(hip, fd, imported);
    char back = 0;
    EXPECT_EQ(hip.hipMemcpy(&back, at, 1, fh::kCopyDeviceToHost), fh::kSuccess);
    EXPECT_NE(back, 0);
    hip.tear_down(at, kChunk, imported);
    EXPECT_EQ(hip.hipMemRelease(handle), fh::kSuccess);
    ::close(fd);
  });
}

}  // namespace
}  // namespace hb::test
