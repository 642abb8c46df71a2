// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "conversations/suite.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <vector>

#include "hipbroker/events.hpp"
#include "hipbroker/group.hpp"
#include "hipbroker/hipbroker.hpp"

namespace hb::test {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::size_t kManyChunks = 1100;  // more than one frame holds

void expect(bool is_so, const char* what) {
  if (!is_so) throw std::runtime_error(std::string("the suite expected ") + what);
}

template <class Call>
void expect_refusal(hb_status status, Call&& call) {
  try {
    call();
  } catch (const hipbroker::Error& error) {
    if (error.status() == status) return;
    throw;
  }
  throw std::runtime_error("the suite expected a refusal");
}

std::vector<std::uint32_t> take_events(const hipbroker::Client& client) {
  std::vector<std::uint32_t> kinds;
  hipbroker::dispatch_events(client, [&](const hb_event& event) { kinds.push_back(event.kind); });
  return kinds;
}

struct File {
  explicit File(std::uint64_t bytes) : fd(::memfd_create("suite", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(bytes)) != 0 ||
        ::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
      throw std::runtime_error("a memfd cannot be made");
  }
  ~File() { ::close(fd); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  const int fd;
};

void grow_sleep_and_wake(const hipbroker::Client& owner, const hipbroker::Client& reader) {
  const hipbroker::Memory memory = owner.allocate(2 * kPage, kPage);
  const hipbroker::Memory more = owner.allocate(kPage);
  hipbroker::ExportOptions options;
  options.name = "cache";
  options.max_bytes = 8 * kPage;
  hipbroker::Export exported = owner.export_memory(memory, options);
  hipbroker::Import imported = reader.import(exported.key());
  expect(imported.size() == 2 * kPage && imported.is_current(), "two pages");
  exported.append(more);
  imported.refresh();
  expect(imported.size() == 3 * kPage, "a page more");
  exported.replace(0, hipbroker::Source(more.data(), kPage));
  imported.refresh();
  static_cast<void>(take_events(reader));
  exported.suspend();
  expect(!imported.is_current(), "an export that sleeps");
  imported.unmap();
  std::vector<hb_chunk> chunks;
  const File file(3 * kPage);
  for (std::uint64_t i = 0; i < 3; ++i) chunks.push_back({file.fd, i * kPage, kPage});
  exported.resume(hipbroker::Source(chunks));
  imported.refresh();
  expect(imported.is_current(), "an export that is awake");
  exported.publish(7);
  expect(imported.wait_step(7) == 7, "the step that was published");
  imported.ack_step(7);
  expect(exported.wait_acks(7).complete(), "an acknowledgement");
  const hipbroker::Key ticket = exported.ticket();
  const hipbroker::Import pinned = reader.import(ticket);
  expect(pinned.size() == 3 * kPage, "what the ticket pins");
  owner.drop_ticket(exported.ticket());
  exported.withdraw();
}

void many_chunks(const hipbroker::Client& owner, const hipbroker::Client& reader) {
  const File file(kPage);
  const std::vector<hb_chunk> chunks(kManyChunks, {file.fd, 0, kPage});
  hipbroker::ExportOptions options;
  options.name = "many";
  options.metadata = "of one object";
  options.acl = {{HB_ACL_GID, 4242, HB_ACCESS_READ}};
  hipbroker::Export exported = owner.export_chunks(chunks, options);
  {
    const hipbroker::Handles handles = reader.acquire("many");
    expect(handles.chunk_count() == kManyChunks, "all chunks");
  }
  const hipbroker::Import part = reader.import(exported.subkey(kPage, kPage));
  expect(part.size() == kPage, "a part");
  reader.wait_for("many");
  expect_refusal(HB_EXISTS, [&] { static_cast<void>(owner.export_chunks(chunks, options)); });
  expect_refusal(HB_NOT_FOUND, [&] { static_cast<void>(reader.import("none")); });
  owner.withdraw(exported.info().export_id);
  expect(!part.is_current(), "what was withdrawn");
  // Before it has rung nothing would be asked for.
  pollfd bell{hipbroker::events_fd(reader), POLLIN, 0};
  expect(::poll(&bell, 1, 20'000) == 1, "a ring");
  expect(!take_events(reader).empty(), "an event");
}

void together(const hipbroker::Client& owner) {
  const hipbroker::Memory memory = owner.allocate(kPage);
  hb_group_options options = HB_GROUP_OPTIONS_INIT;
  options.name = "job";
  options.world = 1;
  options.ptr = memory.data();
  options.bytes = kPage;
  hipbroker::Group group(owner, options);
  group.check();
}

void pass_on(const std::string& socket, const hipbroker::Client& reader) {
  {
    const hipbroker::Client maker(socket);
    const hipbroker::Memory memory = maker.allocate(kPage);
    hipbroker::ExportOptions options;
    options.name = "heirloom";
    options.lifetime = HB_LIFETIME_LINGER;
    options.linger = std::chrono::hours(1);
    static_cast<void>(maker.export_memory(memory, options));
    maker.ping();
  }
  hipbroker::Export claimed = reader.claim("heirloom");
  expect(claimed.info().bytes == kPage, "what was left behind");
  hipbroker::revoke(reader, claimed.info().export_id);
}

}  // namespace

void run_suite(const std::string& socket) {
  const hipbroker::Client owner(socket);
  const hipbroker::Client reader(socket);
  owner.ping();
  static_cast<void>(hipbroker::events_fd(reader));
  grow_sleep_and_wake(owner, reader);
  many_chunks(owner, reader);
  together(owner);
  pass_on(socket, reader);
  owner.ping();
}

}  // namespace hb::test
