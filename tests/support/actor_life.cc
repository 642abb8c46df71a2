// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Verbs about exports that change and imports that follow.
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "support/actor_verbs.h"
#include "support/memfd.h"

namespace hb::test {
namespace {

// The memory of `append`, `replace` and `resume`: mem= [offset=] [bytes=], or fds= [bytes=], each one chunk,
// the last at `last_at`; with pci= [uuid=] on a GPU.
struct Source {
  hb_source source = HB_SOURCE_INIT;
  std::vector<hb_chunk> chunks;
  hb_device_id device{};
};
void read_source(ActorState& state, const Message& m, Source& out) {
  text_of(m, "uuid").copy(out.device.uuid, sizeof out.device.uuid - 1);
  text_of(m, "pci").copy(out.device.pci, sizeof out.device.pci - 1);
  if (has(m, "pci")) out.source.device = &out.device;
  if (has(m, "mem")) {
    const Bytes bytes = bytes_of(state, m);
    out.source.ptr = bytes.at;
    out.source.bytes = number_of(m, "bytes", bytes.size);
    return;
  }
  for (const UniqueFd& fd : named(state.fds, m, "fds", "f"))
    out.chunks.push_back({fd.get(), 0, number_of(m, "bytes", kPage)});
  out.chunks.back().offset = number_of(m, "last_at");
  out.source.chunks = out.chunks.data();
  out.source.chunk_count = out.chunks.size();
}

Message described(ActorState& state, const Message& m, hb_status status, const hb_error& error) {
  Message out = outcome(status, error);
  hb_export_info info = HB_EXPORT_INFO_INIT;
  hb_export_get_info(named(state.exports, m, "export", "e"), &info);
  out.emplace("layout", info.layout_version);
  out.emplace("bytes", info.bytes);
  return out;
}

// append [export=] and a source
Message append(ActorState& state, const Message& m) {
  Source source;
  read_source(state, m, source);
  hb_error error = HB_ERROR_INIT;
  const hb_status status =
      hb_export_append(named(state.exports, m, "export", "e"), &source.source, deadline_of(m), &error);
  return described(state, m, status, error);
}

// replace [export=] chunk= and a source
Message replace(ActorState& state, const Message& m) {
  Source source;
  read_source(state, m, source);
  hb_error error = HB_ERROR_INIT;
  const hb_status status = hb_export_replace(named(state.exports, m, "export", "e"), number_of(m, "chunk"),
                                             &source.source, deadline_of(m), &error);
  return described(state, m, status, error);
}

// suspend [export=] [wait_ms=]: pids of those that are left
Message suspend(ActorState& state, const Message& m) {
  hb_error error = HB_ERROR_INIT;
  hb_suspended suspended = HB_SUSPENDED_INIT;
  hb_holders* left = nullptr;
  const hb_status status =
      hb_export_suspend(named(state.exports, m, "export", "e"), number_of(m, "wait_ms") * 1'000'000,
                        deadline_of(m), &suspended, &left, &error);
  Message out = described(state, m, status, error);
  std::string pids;
  for (std::size_t i = 0; i < hb_holders_count(left); ++i)
    pids += (i == 0 ? "" : " ") + std::to_string(hb_holders_at(left, i)->process.pid);
  hb_holders_free(left);
  out.emplace("pids", pids);
  out.emplace("holders", suspended.holders);
  out.emplace("version", suspended.layout_version);
  return out;
}

// resume [export=] and a source
Message resume(ActorState& state, const Message& m) {
  Source source;
  read_source(state, m, source);
  hb_error error = HB_ERROR_INIT;
  const hb_status status =
      hb_export_resume(named(state.exports, m, "export", "e"), &source.source, deadline_of(m), &error);
  return described(state, m, status, error);
}

// refresh [import=] [threads=]: at once. Tells of one whose call began before the change; `saw`: how many did
Message refresh(ActorState& state, const Message& m) {
  hb_import* const imported = named(state.imports, m, "import", "i");
  const std::uint64_t count = number_of(m, "threads", 1);
  struct One {
    hb_status status = HB_INTERNAL;
    hb_error error = HB_ERROR_INIT;
    hb_refreshed done = HB_REFRESHED_INIT;
  };
  std::vector<One> ones(count);
  std::vector<std::thread> threads;
  for (std::uint64_t i = 1; i < count; ++i)
    threads.emplace_back([&, i] {
      ones[i].status = hb_import_refresh(imported, deadline_of(m), &ones[i].done, &ones[i].error);
    });
  ones[0].status = hb_import_refresh(imported, deadline_of(m), &ones[0].done, &ones[0].error);
  for (std::thread& thread : threads) thread.join();
  const auto bad = std::find_if(ones.begin(), ones.end(), [](const One& one) { return one.status != HB_OK; });
  const auto saw = [](const One& one) {
    return one.done.new_chunks != 0 || one.done.replaced_chunks != 0 || one.done.woken != 0;
  };
  const auto one_that_saw = std::find_if(ones.begin(), ones.end(), saw);
  const One& shown = bad != ones.end() ? *bad : one_that_saw != ones.end() ? *one_that_saw : ones[0];
  Message out = outcome(shown.status, shown.error);
  out.emplace("saw", std::count_if(ones.begin(), ones.end(), saw));
  const hb_refreshed& done = shown.done;
  out.emplace("old_bytes", done.old_bytes);
  out.emplace("first_new", done.first_new_chunk);
  out.emplace("new", done.new_chunks);
  out.emplace("replaced", done.replaced_chunks);
  out.emplace("woken", done.woken);
  hb_import_info info = HB_IMPORT_INFO_INIT;
  hb_import_get_info(imported, &info);
  describe_import(info, out);
  out.emplace("reserved", info.reserved_bytes);
  out.emplace("max", info.max_bytes);
  out.emplace("asleep", info.asleep);
  return out;
}

// unmap [import=]
Message unmap(ActorState& state, const Message& m) {
  hb_error error = HB_ERROR_INIT;
  return outcome(hb_import_unmap(named(state.imports, m, "import", "i"), &error), error);
}

// look [import=]: what hb_import_get_info says
Message look(ActorState& state, const Message& m) {
  hb_import_info info = HB_IMPORT_INFO_INIT;
  hb_import_get_info(named(state.imports, m, "import", "i"), &info);
  Message out{{"status", HB_OK}};
  describe_import(info, out);
  out.emplace("reserved", info.reserved_bytes);
  out.emplace("max", info.max_bytes);
  out.emplace("asleep", info.asleep);
  return out;
}

// cpu_reads [import=]: whether the CPU reaches its first byte, found out by a copy that does not crash
Message cpu_reads(ActorState& state, const Message& m) {
  hb_import_info info = HB_IMPORT_INFO_INIT;
  hb_import_get_info(named(state.imports, m, "import", "i"), &info);
  char byte = 0;
  const iovec here{&byte, 1};
  const iovec there{info.ptr, 1};
  return {{"status", HB_OK}, {"reads", ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) == 1 ? 1 : 0}};
}

// await kind= : dispatches events until one of that name came; all of them in `told`, in their order, with
// chunks ("replaced[1+1]"); `layout`, `bytes` of the last one
Message await_event(ActorState& state, const Message& m) {
  struct Told {
    std::string text;
    std::string wanted;
    bool seen = false;
    hb_event last = HB_EVENT_INIT;
  } told;
  told.wanted = text_of(m, "kind");
  const auto handler = [](const hb_event* event, void* userdata) {
    auto& out = *static_cast<Told*>(userdata);
    const std::string name = hb_event_name(event->kind);
    out.text += (out.text.empty() ? "" : " ") + name;
    if (event->chunk_count != 0)
      out.text += "[" + std::to_string(event->first_chunk) + "+" + std::to_string(event->chunk_count) + "]";
    out.last = *event;
    out.seen = out.seen || name == out.wanted;
  };
  hb_error error = HB_ERROR_INIT;
  int fd = -1;
  hb_status status = hb_events_fd(state.client(m), &fd, &error);
  while (status == HB_OK) {
    status = hb_events_dispatch(state.client(m), handler, &told, nullptr, &error);
    if (told.seen || told.wanted.empty()) break;
    pollfd poller{fd, POLLIN, 0};
    if (::poll(&poller, 1, static_cast<int>(kWatchdogNs / 1'000'000)) <= 0)
      throw std::runtime_error("no event " + told.wanted + ", only: " + told.text);
  }
  Message out = outcome(status, error);
  out.emplace("told", told.text);
  out.emplace("layout", told.last.layout_version);
  out.emplace("bytes", told.last.bytes);
  return out;
}

}  // namespace

void add_life_verbs(VerbTable& table) {
  table["append"] = append;
  table["replace"] = replace;
  table["suspend"] = suspend;
  table["resume"] = resume;
  table["refresh"] = refresh;
  table["unmap"] = unmap;
  table["look"] = look;
  table["cpu_reads"] = cpu_reads;
  table["await"] = await_event;
}

}  // namespace hb::test
