// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// GPU memory that grows, gets another chunk in the place of one, and sleeps.
#include "unit/hip/life.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "providers/hip/external.h"
#include "support/memfd.h"

namespace hb::test {
namespace {

using client::HostAccess;
using EveryVersionLife = EveryVersion;
HB_EVERY_VERSION(EveryVersionLife);

TEST_P(EveryVersionLife, MemoryGrowsInPlaceAsFarAsItsAddressesGo) {
  expect_clean(env(assumed({})), [](const Hip& hip) {
    { own_memory(1, 1); }  // the fake's first allocation opens a descriptor of its own
    const Counts before = counts_of(hip);
    {
      const auto memory = own_memory(2, 5);
      auto* const base = static_cast<char*>(memory->ptr());
      EXPECT_EQ(memory->reserved_bytes(), 5 * kChunk);
      EXPECT_EQ(hip.fake_hip_device_bytes(0), 2 * kChunk);
      write_mark(hip, base + kChunk, 'b');
      ASSERT_TRUE(memory->grow(1));
      ASSERT_TRUE(memory->grow(kChunk + 1));
      EXPECT_EQ(memory->ptr(), base);
      EXPECT_EQ(memory->bytes(), 5 * kChunk);
      EXPECT_EQ(memory->chunk_count(), 5u);
      EXPECT_EQ(memory->chunk_bytes(), kChunk);
      EXPECT_EQ(hip.fake_hip_device_bytes(0), 5 * kChunk);
      EXPECT_EQ(hip.fake_hip_count("reservations"), 1);
      write_mark(hip, base + 4 * kChunk, 'e');
      EXPECT_EQ(read_mark(hip, base + kChunk), 'b');
      EXPECT_EQ(read_mark(hip, base + 4 * kChunk), 'e');
      const auto more = memory->grow(1);
      ASSERT_FALSE(more);
      EXPECT_EQ(more.error().status, HB_RANGE);
      EXPECT_EQ(more.error().used, 5 * kChunk + 1);
      EXPECT_EQ(more.error().limit, 5 * kChunk);
      EXPECT_NE(more.error().message.find("reserve_bytes"), std::string::npos) << more.error().message;
      EXPECT_EQ(memory->grow(0).error().status, HB_INVALID);
      EXPECT_EQ(memory->grow(UINT64_MAX).error().status, HB_RANGE);
    }
    EXPECT_EQ(counts_of(hip), before);
    EXPECT_EQ(hip.fake_hip_device_bytes(0), 0u);
  });
}

TEST_P(EveryVersionLife, WithoutAChunkSizeEachGrowthIsAChunk) {
  expect_clean(env(assumed({})), [](const Hip&) {
    client::AllocateRequest request;
    request.bytes = kChunk;
    request.reserve_bytes = 3 * kChunk + 1;  // rounded up
    const auto memory = hc::HipProvider().allocate(request);
    ASSERT_TRUE(memory) << text_of(memory);
    ASSERT_TRUE((*memory)->grow(3 * kChunk));
    EXPECT_EQ((*memory)->chunk_count(), 2u);
    EXPECT_EQ((*memory)->chunk(1).bytes, 3 * kChunk);
    EXPECT_EQ((*memory)->chunk_bytes(), 0u);  // they differ
    request.reserve_bytes = UINT64_MAX;
    EXPECT_EQ(hc::HipProvider().allocate(request).error().status, HB_RANGE);
  });
}

TEST_P(EveryVersionLife, AnImportGrowsAndAFailureLeavesWhatItHad) {
  expect_clean(env(assumed({})), [](const Hip& hip) {
    const auto memory = own_memory(2, 4);
    Importer importer(*memory, 4);
    ASSERT_TRUE(importer.map(*memory));
    EXPECT_EQ(importer.range().mapped().bytes, 4 * kChunk);
    const void* const base = importer.range().ptr();
    const Counts small = counts_of(hip);
    write_mark(hip, memory->ptr(), 'a');
    // No memory of a GPU: some versions find out when it is let in.
    const UniqueFd stranger = sealed_memfd(kChunk, 1);
    auto wrong = importer.part(*memory, 0, 2);
    wrong.object.fd = stranger;
    const auto refused = importer.range().map(wrong);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().chunk, 2);
    importer.drop_descriptors();
    EXPECT_EQ(counts_of(hip).mappings, small.mappings);
    EXPECT_EQ(counts_of(hip).handles, small.handles);
    EXPECT_EQ(read_mark(hip, importer.at(0)), 'a');

    ASSERT_TRUE(memory->grow(2 * kChunk));
    write_mark(hip, static_cast<char*>(memory->ptr()) + 3 * kChunk, 'd');
    ASSERT_TRUE(importer.map(*memory));
    EXPECT_EQ(importer.range().ptr(), base);
    EXPECT_EQ(read_mark(hip, importer.at(3)), 'd');
    EXPECT_EQ(hip.fake_hip_count("mappings"), 8);
    // Back to the two, and there again.
    importer.cut(2);
    EXPECT_EQ(hip.fake_hip_count("mappings"), 6);
    EXPECT_EQ(read_mark(hip, importer.at(0)), 'a');
    EXPECT_EQ(read_mark(hip, importer.at(3)), 0);
    ASSERT_TRUE(importer.map(*memory));
    EXPECT_EQ(read_mark(hip, importer.at(3)), 'd');
    // One more than there are addresses for.
    const auto over = importer.range().map(importer.part(*memory, 0, 4));
    ASSERT_FALSE(over);
    EXPECT_EQ(over.error().status, HB_RANGE);
    EXPECT_EQ(over.error().limit, 4 * kChunk);
  });
}

TEST_P(EveryVersionLife, AChunkTakesThePlaceOfAnother) {
  const bool host = is({"7.2", "7.14"});
  expect_clean(env(assumed({})), [=](const Hip& hip) {
    const auto memory = own_memory(3, 3);
    const auto other = own_memory(1, 1);
    Importer importer(*memory, 3, HostAccess::kPrefer);
    ASSERT_TRUE(importer.map(*memory));
    EXPECT_EQ(importer.range().host_granted(), host);
    for (std::size_t i = 0; i < 3; ++i)
      write_mark(hip, static_cast<char*>(memory->ptr()) + i * kChunk, static_cast<char>('a' + i));
    write_mark(hip, other->ptr(), 'x');
    ASSERT_TRUE(importer.range().replace(importer.part(*other, 0, 1)));
    EXPECT_EQ(read_mark(hip, importer.at(0)), 'a');
    EXPECT_EQ(read_mark(hip, importer.at(1)), 'x');
    EXPECT_EQ(read_mark(hip, importer.at(2)), 'c');
    EXPECT_EQ(importer.range().host_granted(), host);
    EXPECT_EQ(cpu_reads(importer.at(1)), host);
    EXPECT_EQ(hip.fake_hip_count("mappings"), 7);

    const UniqueFd stranger = sealed_memfd(kChunk, 1);
    auto wrong = importer.part(*other, 0, 2);
    wrong.object.fd = stranger;
    const auto refused = importer.range().replace(wrong);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, HB_BAD_HANDLE) << text_of(refused);
    EXPECT_EQ(refused.error().chunk, 2);
    EXPECT_EQ(read_mark(hip, importer.at(2)), 'c');
    EXPECT_EQ(cpu_reads(importer.at(2)), host);
    EXPECT_EQ(importer.range().host_granted(), host);

    auto nowhere = importer.part(*other, 0, 1);
    nowhere.at = kChunk / 2;
    EXPECT_EQ(importer.range().replace(nowhere).error().status, HB_INVALID);
    auto shorter = importer.part(*other, 0, 1);
    shorter.object.bytes = kChunk / 2;
    const auto sizes = importer.range().replace(shorter);
    ASSERT_FALSE(sizes);
    EXPECT_EQ(sizes.error().status, HB_UNSUPPORTED);
    EXPECT_EQ(sizes.error().used, kChunk / 2);
    EXPECT_EQ(sizes.error().limit, kChunk);
    EXPECT_EQ(hc::teardown_failures(), 0u);
  });
}

TEST_P(EveryVersionLife, WhatCannotBeMappedAgainIsSaidCountedAndMended) {
  expect_clean(env(assumed({})), [](const Hip& hip) {
    const auto memory = own_memory(2, 2);
    const auto other = own_memory(1, 1);
    Importer importer(*memory, 2);
    ASSERT_TRUE(importer.map(*memory));
    write_mark(hip, other->ptr(), 'x');
    // An unmap that did nothing: the old one is where it was.
    write_mark(hip, static_cast<char*>(memory->ptr()) + kChunk, 'b');
    ASSERT_EQ(hip.fake_hip_control("fail=hipMemUnmap:1:999:skip"), 0);
    EXPECT_FALSE(importer.range().replace(importer.part(*other, 0, 1)));
    EXPECT_EQ(read_mark(hip, importer.at(1)), 'b');
    EXPECT_EQ(hc::teardown_failures(), 1u);
    // Neither the new one nor the old one.
    ASSERT_EQ(hip.fake_hip_control("fail=hipMemMap:1;hipMemMap:2"), 0);
    const auto lost = importer.range().replace(importer.part(*other, 0, 1));
    ASSERT_EQ(hip.fake_hip_control("fail="), 0);
    ASSERT_FALSE(lost);
    EXPECT_NE(lost.error().message.find("could not be mapped again"), std::string::npos) << text_of(lost);
    EXPECT_EQ(lost.error().chunk, 1);
    EXPECT_EQ(hc::teardown_failures(), 2u);
    EXPECT_EQ(read_mark(hip, importer.at(1)), 0);
    ASSERT_TRUE(importer.range().replace(importer.part(*other, 0, 1)));
    EXPECT_EQ(read_mark(hip, importer.at(1)), 'x');
  });
}

TEST_P(EveryVersionLife, AsleepMeansGivenBackAndAwakeTheSameAddressAndAccess) {
  const bool gives_up = is({"7.2"});
  const bool own_host = is({"7.2", "7.14", "7.15"});
  const bool import_host = is({"7.2", "7.14"});
  expect_clean(env(assumed({})), [=](const Hip& hip) {
    { own_memory(1, 1); }
    const Counts nothing = counts_of(hip);
    {
      const auto memory = own_memory(3, 4, HostAccess::kPrefer);
      void* const base = memory->ptr();
      Importer importer(*memory, 4, HostAccess::kPrefer);
      ASSERT_TRUE(importer.map(*memory));
      importer.drop_descriptors();
      const void* const imported = importer.range().ptr();
      const Counts awake = counts_of(hip);
      for (int nap = 0; nap < 3; ++nap) {
        importer.sleep();
        EXPECT_EQ(hip.fake_hip_device_bytes(0), 3 * kChunk);  // the owner's
        memory->sleep();
        memory->sleep();  // it does already
        EXPECT_EQ(hip.fake_hip_device_bytes(0), 0u);
        EXPECT_TRUE(memory->asleep());
        EXPECT_EQ(memory->bytes(), 3 * kChunk);
        EXPECT_EQ(memory->chunk_count(), 3u);
        EXPECT_FALSE(memory->host_granted());
        EXPECT_EQ(hip.fake_hip_count("mappings"), 0);
        EXPECT_EQ(hip.fake_hip_count("handles"), 0);
        EXPECT_EQ(hip.fake_hip_count("reservations"), gives_up ? 0 : 2);
        EXPECT_EQ(importer.range().mapped().start, imported);
        EXPECT_EQ(importer.range().mapped().bytes, 4 * kChunk);
        EXPECT_EQ(memory->grow(1).error().status, HB_SUSPENDED);

        ASSERT_TRUE(memory->wake());
        EXPECT_EQ(memory->ptr(), base);
        EXPECT_EQ(hip.fake_hip_device_bytes(0), 3 * kChunk);
        write_mark(hip, static_cast<char*>(base) + 2 * kChunk, static_cast<char>('a' + nap));
        EXPECT_EQ(importer.range().map(importer.part(*memory, 0, 0)).error().status, HB_SUSPENDED);
        ASSERT_TRUE(importer.range().wake());
        ASSERT_TRUE(importer.map(*memory));
        importer.drop_descriptors();
        EXPECT_EQ(importer.range().ptr(), imported);
        EXPECT_EQ(read_mark(hip, importer.at(2)), 'a' + nap);
        EXPECT_EQ(memory->host_granted(), own_host);
        EXPECT_EQ(cpu_reads(base), own_host);
        EXPECT_EQ(importer.range().host_granted(), import_host);
        EXPECT_EQ(cpu_reads(importer.at(2)), import_host);
        EXPECT_EQ(counts_of(hip), awake);
        ASSERT_TRUE(memory->wake());  // it is already
      }
      EXPECT_TRUE(memory->grow(1));
      memory->sleep();
      importer.sleep();
    }
    EXPECT_EQ(counts_of(hip), nothing);
    EXPECT_EQ(hip.fake_hip_device_bytes(0), 0u);
    EXPECT_EQ(hc::teardown_failures(), 0u);
  });
}

// A program that was told that the CPU may read must not crash on it after a nap.
TEST_P(EveryVersionLife, WhereTheCpuIsKeptOutAfterwardsTheMemorySleepsOn) {
  const bool own_host = is({"7.2", "7.14", "7.15"});
  expect_clean(env(assumed({})), [=](const Hip& hip) {
    const auto memory = own_memory(2, 2, HostAccess::kPrefer);
    memory->sleep();
    ASSERT_EQ(hip.fake_hip_control("host_grant_fails=1"), 0);
    const auto awake = memory->wake();
    EXPECT_EQ(awake.has_value(), !own_host) << text_of(awake);
    EXPECT_EQ(memory->asleep(), own_host);
    EXPECT_EQ(hip.fake_hip_device_bytes(0), own_host ? 0 : 2 * kChunk);
    ASSERT_EQ(hip.fake_hip_control("host_grant_fails=0"), 0);
    if (awake) return;
    EXPECT_EQ(awake.error().status, HB_UNSUPPORTED);
    EXPECT_TRUE(memory->wake());
    EXPECT_TRUE(cpu_reads(memory->ptr()));
  });
}

// The one version that gives memory back only together with its addresses.
TEST_P(EveryVersionLife, AddressesThatAnotherHasTakenAreNamedAndWokenLater) {
  const bool gives_up = is({"7.2"});
  expect_clean(env(assumed({})), [=](const Hip& hip) {
    const auto memory = own_memory(2, 3);
    auto spare = own_memory(2, 2);
    Importer importer(*spare, 3);
    ASSERT_TRUE(importer.map(*spare));
    void* const places[] = {memory->ptr(), importer.range().ptr()};
    memory->sleep();
    importer.sleep();
    const Counts asleep = counts_of(hip);
    for (void* const place : places) {
      // In the middle, which one wish for the start would not see.
      void* const wish = static_cast<char*>(place) + kChunk;
      void* const taken = ::mmap(wish, kChunk, PROT_NONE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
      EXPECT_EQ(taken == wish, gives_up);
      if (!gives_up) continue;
      const auto refused = place == places[0] ? memory->wake() : importer.range().wake();
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().status, HB_ADDRESS);
      char text[32];
      std::snprintf(text, sizeof text, "%p", place);
      EXPECT_NE(refused.error().message.find(text), std::string::npos) << refused.error().message;
      EXPECT_NE(refused.error().message.find("Unmap"), std::string::npos) << refused.error().message;
      EXPECT_EQ(counts_of(hip), asleep);
      EXPECT_TRUE(memory->asleep());
      EXPECT_EQ(::munmap(taken, kChunk), 0);
    }
    ASSERT_TRUE(memory->wake());
    EXPECT_EQ(memory->ptr(), places[0]);
    ASSERT_TRUE(importer.range().wake());
    ASSERT_TRUE(importer.map(*spare));
    EXPECT_EQ(importer.range().ptr(), places[1]);
    write_mark(hip, spare->ptr(), 'a');
    EXPECT_EQ(read_mark(hip, importer.at(0)), 'a');
  });
}

TEST_P(EveryVersionLife, InAForkedChildNoDriverIsCalled) {
  expect_clean(env(assumed({})), [](const Hip& hip) {
    const auto memory = own_memory(2, 3);
    const auto napping = own_memory(2, 3);
    Importer importer(*memory, 3);
    ASSERT_TRUE(importer.map(*memory));
    napping->sleep();
    auto part = importer.part(*memory, 0, 1);
    const pid_t child = ::fork();
    if (child == 0) {
      const long long calls = hip.fake_hip_count("calls");
      int wrong = 0;
      wrong += memory->grow(1).error().status != HB_FORKED;
      wrong += napping->wake().error().status != HB_FORKED;
      wrong += importer.range().replace(part).error().status != HB_FORKED;
      wrong += importer.range().map(part).error().status != HB_FORKED;
      importer.range().cut(kChunk);
      importer.range().sleep();
      wrong += importer.range().wake().error().status != HB_FORKED;
      memory->sleep();
      ::_exit(wrong + (hip.fake_hip_count("calls") == calls ? 0 : 100));
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(hip.fake_hip_count("mappings"), 4);
    EXPECT_TRUE(napping->wake());
  });
}

// Each waits for a stream there, and the export of other memory goes on meanwhile.
TEST(HipLife, NoLockIsHeldWhereUnmappingWaitsForStreams) {
  using Act = void (*)(Importer&, const client::Allocation&);
  const Act acts[] = {
      [](Importer& importer, const client::Allocation&) { importer.sleep(); },
      [](Importer& importer, const client::Allocation&) { importer.cut(1); },
      [](Importer& importer, const client::Allocation& other) {
        EXPECT_TRUE(importer.range().replace(importer.part(other, 0, 1)));
      },
  };
  for (const Act act : acts)
    expect_clean(assumed({{"FAKE_HIP_VERSION", "7.14"}}), [act](const Hip& hip) {
      const auto memory = own_memory(2, 2);
      const auto other = own_memory(1, 1);
      Importer importer(*memory, 2);
      ASSERT_TRUE(importer.map(*memory));
      void* stream = nullptr;
      EXPECT_EQ(hip.hipStreamCreateWithFlags(&stream, 1), fh::kSuccess);
      char text[64];
      std::snprintf(text, sizeof text, "busy=%p", stream);
      EXPECT_EQ(hip.fake_hip_control(text), 0);
      std::thread acting([&] { act(importer, *other); });
      while (hip.fake_hip_count("waiting") == 0) std::this_thread::yield();
      EXPECT_TRUE(memory->export_chunk(0));
      EXPECT_EQ(hip.fake_hip_count("mappings"), 5);
      std::snprintf(text, sizeof text, "idle=%p", stream);
      EXPECT_EQ(hip.fake_hip_control(text), 0);
      acting.join();
      EXPECT_EQ(hip.hipStreamDestroy(stream), fh::kSuccess);
    });
}

TEST_P(EveryVersionLife, AnExternalImportGoesToSleepForGood) {
  expect_clean(env(assumed({})), [](const Hip& hip) {
    const auto memory = own_memory(1, 1);
    const auto descriptor = memory->export_chunk(0);
    ASSERT_TRUE(descriptor) << text_of(descriptor);
    client::RangeRequest request;
    request.chunks = 1;
    request.handle_kind = HB_KIND_DMABUF;
    request.owner = memory->device();
    request.mapping = client::Mapping::kExternal;
    const auto range = hc::HipProvider().begin_import(request);
    ASSERT_TRUE(range) << text_of(range);
    client::ImportedRange::Part part;
    part.object = {*descriptor, 0, kChunk};
    part.object_bytes = part.whole_bytes = kChunk;
    ASSERT_TRUE((*range)->map(part));
    EXPECT_EQ((*range)->replace(part).error().status, HB_UNSUPPORTED);
    EXPECT_EQ((*range)->map(part).error().status, HB_UNSUPPORTED);
    EXPECT_EQ(hip.fake_hip_count("externals"), 1);
    EXPECT_TRUE((*range)->wake());
    (*range)->sleep();
    EXPECT_EQ(hip.fake_hip_count("externals"), 0);
    const auto refused = (*range)->wake();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, HB_UNSUPPORTED);
    EXPECT_NE(refused.error().message.find("open it anew"), std::string::npos) << refused.error().message;
    EXPECT_EQ((*range)->map(part).error().status, HB_UNSUPPORTED);
  });
}

}  // namespace
}  // namespace hb::test
