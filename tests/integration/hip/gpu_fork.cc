// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The GPU actor's threads and forked children.
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>

#include "integration/hip/gpu_verbs.h"
#include "support/wait.h"

namespace hb::test {
namespace {

std::future<Message>& background() {
  static std::future<Message> running;
  return running;
}

// on_thread do=VERB [hang=FUNCTION]: the verb on a thread of its own; returns when the thread is inside that
// function, where it stays. Without one it does not wait for anything.
Message on_thread(ActorState& state, const Message& m) {
  VerbTable table;
  add_memory_verbs(table);
  add_export_verbs(table);
  add_import_verbs(table);
  add_async_verbs(table);
  table["probe"] = [](ActorState&, const Message& given) -> Message {
    hb_hip_report report{};
    report.size = sizeof report;
    hb_error error = HB_ERROR_INIT;
    return outcome(hb_hip_probe(static_cast<std::int32_t>(number_of(given, "device")), &report, &error),
                   error);
  };
  const Verb verb = table.at(text_of(m, "do"));
  const std::string hang = text_of(m, "hang");
  if (hip().fake_hip_control(("hang=" + hang).c_str()) != 0) return {{"status", 1}};
  background() = std::async(std::launch::async, [&state, m, verb] { return verb(state, m); });
  if (hang.empty()) return {{"status", HB_OK}};
  if (poll_until([] { return hip().fake_hip_count("waiting") > 0; })) return {{"status", HB_OK}};
  return {{"status", 1}, {"message", "the thread never came to " + hang}};
}

// join: lets the thread go on; its answer
Message join(ActorState&, const Message&) {
  static_cast<void>(hip().fake_hip_control("hang="));
  return background().get();
}

// What a forked child may do, all of it: 0, or the number of the first call that was not as it must be.
int child_calls(ActorState& state, const std::string& socket) {
  int step = 0;
  const auto wrong = [&step](bool right) {
    ++step;
    return !right;
  };
  hb_client_options where = HB_CLIENT_OPTIONS_INIT;
  where.socket = socket.c_str();
  hb_client* client = nullptr;
  if (wrong(hb_client_open(&where, &client, nullptr) == HB_OK)) return step;
  hb_memory_options size = HB_MEMORY_OPTIONS_INIT;
  hb_memory* memory = nullptr;
  size.bytes = 4096;
  if (wrong(hb_memory_alloc(client, &size, &memory, nullptr) == HB_OK)) return step;
  hb_memory_free(memory);
  size.provider = HB_PROVIDER_HIP;
  if (wrong(hb_memory_alloc(client, &size, &memory, nullptr) == HB_FORKED)) return step;
  hb_hip_report report{};
  report.size = sizeof report;
  if (wrong(hb_hip_probe(0, &report, nullptr) == HB_FORKED)) return step;
  hb_import_options what = HB_IMPORT_OPTIONS_INIT;
  what.name = "kv";
  hb_import* imported = nullptr;
  for (const std::uint32_t mapping : {HB_MAP_VMM, HB_MAP_EXTERNAL}) {
    what.mapping = mapping;
    if (wrong(hb_import_open(client, &what, &imported, nullptr) == HB_FORKED)) return step;
  }
  std::uint64_t waiting = 1;
  if (wrong(hb_reap(&waiting, nullptr) == HB_OK && waiting == 0)) return step;
  // Not those that the thread is working on: of one handle there is no telling what it has come to.
  int other = 0;
  if (const auto found = state.imports.find("i"); found != state.imports.end()) {
    if (wrong(hb_unmap_when(found->second, &other, nullptr) == HB_FORKED)) return step;
    hb_import_close(found->second);
  }
  if (const auto found = state.memories.find("m"); found != state.memories.end()) {
    hb_export_options given = HB_EXPORT_OPTIONS_INIT;
    given.ptr = hb_memory_ptr(found->second);
    given.bytes = 4096;
    hb_export* exported = nullptr;
    if (wrong(hb_export_create(client, &given, &exported, nullptr) == HB_FORKED)) return step;
    if (wrong(hb_free_when(found->second, &other, nullptr) == HB_FORKED)) return step;
    hb_memory_free(found->second);
  }
  for (const auto& [name, one] : state.clients) hb_client_close(one);
  hb_client_close(client);
  return 0;
}

// child socket=: everything above in a forked child, which must come to its end
Message child(ActorState& state, const Message& m) {
  const std::string socket = text_of(m, "socket");
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(child_calls(state, socket));
  const UniqueFd ended(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const bool in_time = wait_readable(ended.get());
  if (!in_time) ::kill(pid, SIGKILL);
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (!in_time) return {{"status", 1}, {"message", "the child hangs"}};
  if (status == 0) return {{"status", HB_OK}};
  return {{"status", 1}, {"message", "the child's call " + std::to_string(WEXITSTATUS(status))}};
}

}  // namespace

void add_fork_verbs(VerbTable& table) {
  table["on_thread"] = on_thread;
  table["join"] = join;
  table["child"] = child;
}

}  // namespace hb::test
