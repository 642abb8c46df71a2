// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Verbs that ask the library about memory, export it, and say that it goes; with a munmap hook like UCX's.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>

#include "integration/hip/raw_memory.h"
#include "support/fd_census.h"

namespace hb::test {
namespace {

std::atomic<bool> g_hooked{false};
std::atomic<void*> g_also{nullptr};  // said to be gone whenever anything is
std::atomic<std::uint64_t> g_hook_calls{0};
std::atomic<std::uint64_t> g_hook_failures{0};
std::atomic<std::uint64_t> g_hook_withdrawn{0};

// raw=, or mem=, import=, or address=
Bytes place_of(ActorState& state, const Message& m) {
  if (has(m, "raw")) return raw_bytes(m);
  if (has(m, "address"))
    return {reinterpret_cast<unsigned char*>(number_of(m, "address")), number_of(m, "bytes", 1)};
  Bytes bytes = bytes_of(state, m);
  bytes.size = number_of(m, "bytes", bytes.size);
  return bytes;
}

Message classify(ActorState& state, const Message& m) {
  hb_pointer_info info = HB_POINTER_INFO_INIT;
  hb_error error = HB_ERROR_INIT;
  Message out = outcome(hb_classify(place_of(state, m).at, &info, &error), error);
  out.emplace("memory", info.memory);
  out.emplace("shareable", info.shareable);
  out.emplace("base", reinterpret_cast<std::uintptr_t>(info.base));
  out.emplace("bytes", info.bytes);
  out.emplace("ordinal", info.ordinal);
  out.emplace("host", info.host_granted);
  out.emplace("export_id", info.export_id);
  out.emplace("generation", info.generation);
  out.emplace("owner_uid", info.owner_uid);
  out.emplace("reason", info.reason);
  describe_device(info.device, out);
  return out;
}

// share raw= [offset=] [bytes=] [claim=] [name=] [export=], or by=handles [nowhere=1] [base=] [delta=] [uuid=
// pci=]
Message share(ActorState& state, const Message& m) {
  hb_export_options options = HB_EXPORT_OPTIONS_INIT;
  const std::string name = text_of(m, "name");
  std::vector<hb_hip_handle> handles;
  hb_device_id device{};
  text_of(m, "uuid").copy(device.uuid, sizeof device.uuid - 1);
  text_of(m, "pci").copy(device.pci, sizeof device.pci - 1);
  if (!name.empty()) options.name = name.c_str();
  options.deadline_ns = deadline_of(m);
  if (has(m, "by")) {
    handles = raw_handles(m);
    for (hb_hip_handle& handle : handles)
      if (has(m, "nowhere") || has(m, "base")) handle.base = reinterpret_cast<void*>(number_of(m, "base"));
    handles.back().bytes += number_of(m, "delta");
    options.handles = handles.data();
    options.handle_count = handles.size();
    if (has(m, "pci")) options.device = &device;
  } else {
    const Bytes place = place_of(state, m);
    options.ptr = place.at;
    options.bytes = place.size;
    options.memory = static_cast<std::uint32_t>(number_of(m, "claim"));
  }
  hb_error error = HB_ERROR_INIT;
  hb_export* made = nullptr;
  const hb_status status = hb_export_create(state.client(m), &options, &made, &error);
  Message out = outcome(status, error);
  if (status != HB_OK) return out;
  state.exports[text_of(m, "export", "e")] = made;
  hb_export_info info = HB_EXPORT_INFO_INIT;
  hb_export_get_info(made, &info);
  out.emplace("bytes", info.bytes);
  out.emplace("key", key_text(info.key));
  return out;
}

Message say_gone(const Bytes& place) {
  hb_error error = HB_ERROR_INIT;
  hb_withdrawn withdrawn = HB_WITHDRAWN_INIT;
  Message out = outcome(hb_range_gone(place.at, place.size, &withdrawn, &error), error);
  out.emplace("exports", withdrawn.exports);
  out.emplace("holders", withdrawn.holders);
  return out;
}

// gone raw= | mem= | address= [offset=] [bytes=] [child=1]: in a forked child
Message gone(ActorState& state, const Message& m) {
  const Bytes place = place_of(state, m);
  if (!has(m, "child")) return say_gone(place);
  auto [mine, theirs] = channel_pair();
  const pid_t child = ::fork();
  if (child == 0) {
    mine.reset();
    send_message(theirs.get(), say_gone(place));
    ::_exit(0);
  }
  theirs.reset();
  auto answer = receive_message(mine.get(), kWatchdogNs);
  if (!answer) ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return answer ? *answer : Message{{"status", 1}, {"message", "the child did not answer"}};
}

// rounds raw= count= verbs as of share: makes, shares, says gone and frees, all in this process
Message rounds(ActorState& state, const Message& m) {
  VerbTable table;
  add_raw_verbs(table);
  for (std::uint64_t i = 0; i < number_of(m, "count"); ++i) {
    for (const auto verb :
         {table.at(text_of(m, "make")), static_cast<Verb>(share), static_cast<Verb>(gone)}) {
      Message asked = m;
      if (verb == static_cast<Verb>(gone)) asked.erase("bytes");
      Message out = verb(state, asked);
      if (number_of(out, "status") != HB_OK) {
        out.emplace("round", i);
        return out;
      }
      if (has(out, "exports") && number_of(out, "exports") != 1)
        return {{"status", 1}, {"message", "round " + std::to_string(i) + " withdrew nothing"}};
    }
    hb_export_destroy(state.exports.at("e"));
    state.exports.erase("e");
    free_raw(text_of(m, "raw", "r"));
  }
  return {{"status", HB_OK}};
}

// race raw= count= claim=: one thread tries to export it at least so often, another says that it goes: how
// many exports were made, and how many of them failed since their memory went meanwhile
Message race(ActorState& state, const Message& m) {
  const Bytes place = place_of(state, m);
  hb_client* const client = state.client(m);
  std::atomic<bool> ended{false};
  std::uint64_t made = 0;
  std::uint64_t overtaken = 0;
  std::uint64_t failed = 0;
  std::thread exporter([&] {
    // Until it has happened: when, the scheduler decides.
    const std::uint64_t watchdog = now_ns() + kWatchdogNs;
    while (made + overtaken < number_of(m, "count") || (overtaken == 0 && now_ns() < watchdog)) {
      if (failed != 0) break;
      hb_export_options options = HB_EXPORT_OPTIONS_INIT;
      options.ptr = place.at;
      options.bytes = place.size;
      options.memory = static_cast<std::uint32_t>(number_of(m, "claim"));
      hb_export* one = nullptr;
      const hb_status status = hb_export_create(client, &options, &one, nullptr);
      made += status == HB_OK ? 1 : 0;
      overtaken += status == HB_GONE ? 1 : 0;
      failed += status != HB_OK && status != HB_GONE ? 1 : 0;
      hb_export_destroy(one);
    }
    ended = true;
  });
  while (!ended)
    if (hb_range_gone(place.at, place.size, nullptr, nullptr) != HB_OK) break;
  exporter.join();
  Message out = say_gone(place);
  out.emplace("made", made);
  out.emplace("overtaken", overtaken);
  out.emplace("failed", failed);
  return out;
}

// hook on=1|0 [raw=]: calls of the hook so far, how many of them failed, exports they ended
Message hook(ActorState&, const Message& m) {
  g_also = has(m, "raw") ? raw_bytes(m).at : nullptr;
  g_hooked = number_of(m, "on") != 0;
  return {{"status", HB_OK},
          {"calls", g_hook_calls.load()},
          {"failures", g_hook_failures.load()},
          {"withdrawn", g_hook_withdrawn.load()}};
}

// own_host bytes= count=: memory of the library, allocated, exported and freed, the hook running meanwhile
Message own_host(ActorState& state, const Message& m) {
  Message out{{"status", HB_OK}};
  for (std::uint64_t i = 0; i < number_of(m, "count", 1); ++i) {
    hb_memory_options size = HB_MEMORY_OPTIONS_INIT;
    size.bytes = number_of(m, "bytes", 1 << 20);
    hb_memory* memory = nullptr;
    hb_error error = HB_ERROR_INIT;
    if (const hb_status status = hb_memory_alloc(state.client(m), &size, &memory, &error); status != HB_OK)
      return outcome(status, error);
    hb_export_options options = HB_EXPORT_OPTIONS_INIT;
    options.ptr = hb_memory_ptr(memory);
    options.bytes = hb_memory_bytes(memory);
    hb_export* made = nullptr;
    if (const hb_status status = hb_export_create(state.client(m), &options, &made, &error); status != HB_OK)
      return outcome(status, error);
    out.insert_or_assign("ptr", reinterpret_cast<std::uintptr_t>(options.ptr));
    hb_memory_free(memory);
    state.exports[text_of(m, "export", "own" + std::to_string(i))] = made;
  }
  return out;
}

}  // namespace

// maps word=: how many lines of /proc/self/maps have it
static Message maps(ActorState&, const Message& m) {
  std::ifstream in("/proc/self/maps");
  int found = 0;
  for (std::string line; std::getline(in, line);)
    if (line.find(text_of(m, "word")) != std::string::npos) ++found;
  return {{"status", HB_OK}, {"found", found}};
}

// Memory of HIP is looked at by a process that has no HIP.
HB_ROLE(plain_actor) {
  return run_actor({{"classify", classify}, {"share", share}, {"gone", gone}, {"maps", maps}});
}

void add_raw_share_verbs(VerbTable& table) {
  table["classify"] = classify;
  table["share"] = share;
  table["gone"] = gone;
  table["rounds"] = rounds;
  table["race"] = race;
  table["hook"] = hook;
  table["own_host"] = own_host;
}

}  // namespace hb::test

// Stands in front of libc's for the library and the runtime, as a hook of a communication library does.
extern "C" __attribute__((visibility("default"))) int munmap(void* at, std::size_t bytes) {
  using namespace hb::test;
  void* const also = g_also;
  for (void* range : {at, also}) {
    if (!g_hooked || range == nullptr) continue;
    hb_withdrawn withdrawn = HB_WITHDRAWN_INIT;
    ++g_hook_calls;
    if (hb_range_gone(range, range == at ? bytes : 1, &withdrawn, nullptr) != HB_OK) ++g_hook_failures;
    g_hook_withdrawn += withdrawn.exports;
  }
  return static_cast<int>(::syscall(SYS_munmap, at, bytes));
}
