// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Host memory as real dma-bufs, where this kernel makes them: in the virtual machine of tests/systemd, which
// says so in HB_TEST_UDMABUF. Elsewhere the refusals are what there is.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "hipbroker/hipbroker.hpp"
#include "support/fixture.h"
#include "support/memfd.h"

namespace hb::test {
namespace {

bool kernel_has_udmabuf() { return ::access("/dev/udmabuf", F_OK) == 0; }

class DmabufTest : public DaemonTest {
 protected:
  static hb_memory_options options(std::uint64_t bytes, std::uint64_t chunk_bytes = 0) {
    hb_memory_options options = HB_MEMORY_OPTIONS_INIT;
    options.bytes = bytes;
    options.chunk_bytes = chunk_bytes;
    options.dmabuf = 1;
    return options;
  }
  struct Refusal {
    hb_status status = HB_OK;
    std::string message;
    std::string what;
    std::uint64_t limit = 0;
  };
  static Refusal refused(const hipbroker::Client& client, const hb_memory_options& options) {
    hb_error error = HB_ERROR_INIT;
    hb_memory* memory = nullptr;
    const hb_status status = hb_memory_alloc(client.get(), &options, &memory, &error);
    hb_memory_free(memory);
    if (status == HB_OK) return {};
    return {status, error.message, error.what, error.limit};
  }
  static hipbroker::Memory allocate(const hipbroker::Client& client, const hb_memory_options& options) {
    hb_memory* memory = nullptr;
    hb_error error = HB_ERROR_INIT;
    if (hb_memory_alloc(client.get(), &options, &memory, &error) != HB_OK) throw hipbroker::Error(error);
    return hipbroker::Memory(memory);
  }
  static void fill(void* memory, std::uint64_t bytes, std::uint64_t number) {
    const UniqueFd pattern = plain_memfd(bytes);
    put_pattern(pattern.get(), 0, bytes, number);
    ASSERT_EQ(::pread(pattern.get(), memory, bytes, 0), static_cast<ssize_t>(bytes));
  }
};

TEST_F(DmabufTest, IsWhatTheKernelSaysItIs) {
  if (std::getenv("HB_TEST_UDMABUF") != nullptr) {
    ASSERT_TRUE(kernel_has_udmabuf());
  }
  const hipbroker::Client owner(daemon().socket());
  if (!kernel_has_udmabuf()) {
    const Refusal none = refused(owner, options(kPage));
    EXPECT_EQ(none.status, HB_UNSUPPORTED);
    EXPECT_NE(none.message.find("/dev/udmabuf"), std::string::npos) << none.message;
    return;
  }
  const hipbroker::Memory memory = allocate(owner, options(3 * kPage, kPage));
  fill(memory.data(), 3 * kPage, 7);
  hipbroker::Export exported = owner.export_memory(memory);
  const hipbroker::Client reader(daemon().socket());
  hipbroker::ImportOptions writing;
  writing.access = hipbroker::Access::kReadWrite;
  const hipbroker::Import imported = reader.import(exported.key(), writing);
  EXPECT_EQ(imported.info().kind, static_cast<std::uint32_t>(HB_KIND_DMABUF));
  EXPECT_EQ(pattern_error(imported.data(), 3 * kPage, 7), "");
  // The same pages, both ways.
  std::memset(imported.data(), 9, kPage);
  EXPECT_EQ(static_cast<const char*>(memory.data())[kPage - 1], 9);
  std::memset(memory.data(), 8, kPage);
  EXPECT_EQ(static_cast<const char*>(imported.data())[0], 8);
  // From the middle of a chunk.
  const hipbroker::Import part = reader.import(exported.subkey(kPage + 16, 32));
  EXPECT_EQ(std::memcmp(part.data(), static_cast<const char*>(memory.data()) + kPage + 16, 32), 0);
  // A real one, as any driver takes it.
  const hipbroker::Handles handles = reader.acquire(exported.key());
  ASSERT_EQ(handles.fd_count(), 3u);
  char name[64] = {};
  const std::string link = "/proc/self/fd/" + std::to_string(handles.borrow_fd(0));
  ASSERT_GT(::readlink(link.c_str(), name, sizeof name - 1), 0);
  EXPECT_EQ(std::string(name).substr(0, 8), "/dmabuf:");
}

TEST_F(DmabufTest, GrowsSleepsAndWakes) {
  const hipbroker::Client owner(daemon().socket());
  hb_memory_options wanted = options(kPage, kPage);
  wanted.reserve_bytes = 4 * kPage;
  if (!kernel_has_udmabuf()) {
    EXPECT_EQ(refused(owner, wanted).status, HB_UNSUPPORTED);
    return;
  }
  hipbroker::Memory memory = allocate(owner, wanted);
  hb_error error = HB_ERROR_INIT;
  ASSERT_EQ(hb_memory_grow(memory.get(), 2 * kPage, &error), HB_OK) << error.message;
  fill(memory.data(), 3 * kPage, 3);
  ASSERT_EQ(hb_memory_sleep(memory.get(), &error), HB_OK) << error.message;
  ASSERT_EQ(hb_memory_wake(memory.get(), &error), HB_OK) << error.message;
  fill(memory.data(), 3 * kPage, 4);
  const hipbroker::Export exported = owner.export_memory(memory);
  const hipbroker::Client reader(daemon().socket());
  EXPECT_EQ(pattern_error(reader.import(exported.key()).data(), 3 * kPage, 4), "");
}

TEST_F(DmabufTest, NamesTheLimitOfTheKernel) {
  const hipbroker::Client owner(daemon().socket());
  const std::uint64_t large = std::uint64_t{1} << 40;
  if (!kernel_has_udmabuf()) {
    EXPECT_EQ(refused(owner, options(large)).status, HB_UNSUPPORTED);
    return;
  }
  const Refusal over = refused(owner, options(large));
  EXPECT_EQ(over.status, HB_RANGE);
  EXPECT_EQ(over.what, "size_limit_mb");
  EXPECT_NE(over.message.find("chunk_bytes"), std::string::npos) << over.message;
  // In chunks of that limit it works.
  EXPECT_EQ(refused(owner, options(over.limit + kPage, over.limit)).status, HB_OK);
}

TEST_F(DmabufTest, IsNotForSealedMemory) {
  const hipbroker::Client owner(daemon().socket());
  hb_memory_options both = options(kPage);
  both.sealed = 1;
  const Refusal refusal = refused(owner, both);
  EXPECT_EQ(refusal.status, HB_INVALID);
  EXPECT_NE(refusal.message.find("sealed"), std::string::npos);
  both.sealed = 0;
  both.provider = HB_PROVIDER_HIP;
  EXPECT_EQ(refused(owner, both).status, HB_INVALID);
}

}  // namespace
}  // namespace hb::test
