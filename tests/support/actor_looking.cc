// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Verbs about lists, and about the actor's own process.
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "support/actor_verbs.h"
#include "support/fd_census.h"
#include "support/memfd.h"

namespace hb::test {
namespace {

void describe(const hb_listed& one, const std::string& prefix, Message& out) {
  out.emplace(prefix + "id", one.export_id);
  out.emplace(prefix + "name", one.name);
  out.emplace(prefix + "owner", one.owner_uid);
  out.emplace(prefix + "pid", one.owner.pid);
  out.emplace(prefix + "state", one.state);
  out.emplace(prefix + "bytes", one.bytes);
  out.emplace(prefix + "chunks", one.chunks);
  out.emplace(prefix + "allocations", one.allocations);
  out.emplace(prefix + "leases", one.leases);
  out.emplace(prefix + "access", one.access);
  out.emplace(prefix + "level", one.level);
  out.emplace(prefix + "generation", one.generation);
  out.emplace(prefix + "metadata_bytes", one.metadata_bytes);
  out.emplace(prefix + "uuid", one.device_uuid);
  out.emplace(prefix + "pci", one.device_pci);
  std::string peers;
  for (std::size_t i = 0; i < one.peer_count; ++i)
    peers += (i == 0 ? "" : " ") + std::string(one.peers[i].uuid) + "@" + one.peers[i].pci;
  out.emplace(prefix + "peers", peers);
  out.emplace(prefix + "descriptors", one.descriptors);
}

// list [prefix=] [ended=1]: count, names (joined by blanks), 0.name, 0.bytes, ... of the first 20
Message list(ActorState& state, const Message& m) {
  hb_error error = HB_ERROR_INIT;
  hb_list* listed = nullptr;
  const std::string prefix = text_of(m, "prefix");
  const hb_status status =
      hb_list_exports_with(state.client(m), has(m, "prefix") ? prefix.c_str() : nullptr,
                           has(m, "ended") ? HB_LIST_ENDED : 0, deadline_of(m), &listed, &error);
  Message out = outcome(status, error);
  if (status != HB_OK) return out;
  std::string names;
  for (std::size_t i = 0; i < hb_list_count(listed); ++i) {
    const hb_listed* one = hb_list_at(listed, i);
    if (i < 20) describe(*one, std::to_string(i) + ".", out);
    if (names.size() < 4000) names += (names.empty() ? "" : " ") + std::string(one->name);
  }
  out.emplace("count", hb_list_count(listed));
  out.emplace("names", names);
  hb_list_free(listed);
  return out;
}

// show name=|id= [owner=]
Message show(ActorState& state, const Message& m) {
  hb_error error = HB_ERROR_INIT;
  hb_shown* shown = nullptr;
  const std::string name = text_of(m, "name");
  const hb_status status = hb_show(state.client(m), has(m, "name") ? name.c_str() : nullptr,
                                   static_cast<std::uint32_t>(number_of(m, "owner", HB_OWN_UID)),
                                   number_of(m, "id"), deadline_of(m), &shown, &error);
  Message out = outcome(status, error);
  if (status != HB_OK) return out;
  describe(*hb_shown_export(shown), "", out);
  out.emplace("acl_count", hb_shown_acl_count(shown));
  std::uint64_t total = 0;
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < hb_shown_chunk_count(shown); ++i) {
    const hb_shown_chunk& chunk = hb_shown_chunks(shown)[i];
    total += chunk.bytes;
    last = chunk.object_bytes;
    if (i < 8) {
      out.emplace(std::to_string(i) + ".allocation", chunk.allocation);
      out.emplace(std::to_string(i) + ".object_offset", chunk.object_offset);
    }
  }
  out.emplace("shown_chunks", hb_shown_chunk_count(shown));
  out.emplace("shown_total", total);
  out.emplace("object_bytes", last);
  hb_shown_free(shown);
  return out;
}

// who [name=|id=] [owner=]
Message who(ActorState& state, const Message& m) {
  hb_error error = HB_ERROR_INIT;
  hb_holders* holders = nullptr;
  const std::string name = text_of(m, "name");
  const hb_status status = hb_who(state.client(m), has(m, "name") ? name.c_str() : nullptr,
                                  static_cast<std::uint32_t>(number_of(m, "owner", HB_OWN_UID)),
                                  number_of(m, "id"), deadline_of(m), &holders, &error);
  Message out = outcome(status, error);
  if (status != HB_OK) return out;
  std::string pids;
  std::string uids;
  std::string states;
  std::uint64_t unread = 0;
  std::uint64_t listening = 0;
  for (std::size_t i = 0; i < hb_holders_count(holders) && i < 100; ++i) {
    pids += (i == 0 ? "" : " ") + std::to_string(hb_holders_at(holders, i)->process.pid);
    uids += (i == 0 ? "" : " ") + std::to_string(hb_holders_at(holders, i)->process.uid);
    states += (i == 0 ? "" : " ") + std::string(hb_holders_at(holders, i)->state);
    unread = std::max(unread, hb_holders_at(holders, i)->unread_ns);
    listening += static_cast<unsigned>(hb_holders_at(holders, i)->listens);
  }
  out.emplace("states", states);
  out.emplace("unread_ns", unread);
  out.emplace("listening", listening);
  out.emplace("count", hb_holders_count(holders));
  out.emplace("pids", pids);
  out.emplace("uids", uids);
  hb_holders_free(holders);
  return out;
}

Message daemon_status(ActorState& state, const Message& m) {
  hb_error error = HB_ERROR_INIT;
  hb_daemon_status status = HB_DAEMON_STATUS_INIT;
  Message out = outcome(hb_daemon_get_status(state.client(m), deadline_of(m), &status, &error), error);
  out.emplace("sessions", status.sessions);
  out.emplace("exports", status.exports);
  out.emplace("allocations", status.allocations);
  out.emplace("leases", status.leases);
  out.emplace("ended_held", status.ended_held);
  out.emplace("events_pending", status.events_pending);
  out.emplace("sandbox", status.sandbox);
  return out;
}

Message wait_name(ActorState& state, const Message& m) {
  hb_error error = HB_ERROR_INIT;
  const hb_status status =
      hb_wait_name(state.client(m), text_of(m, "name").c_str(),
                   static_cast<std::uint32_t>(number_of(m, "owner", HB_OWN_UID)), deadline_of(m), &error);
  return outcome(status, error);
}

Message fds(ActorState&, const Message&) { return {{"status", HB_OK}, {"count", count_fds()}}; }

// limit free=N: lowers RLIMIT_NOFILE so that N more descriptors can be opened; limit nofile=N sets it
Message limit(ActorState&, const Message& m) {
  rlimit now{};
  ::getrlimit(RLIMIT_NOFILE, &now);
  now.rlim_cur = has(m, "free") ? count_fds() + number_of(m, "free") : number_of(m, "nofile");
  const int result = ::setrlimit(RLIMIT_NOFILE, &now);
  return {{"status", result == 0 ? 0 : 1}, {"limit", now.rlim_cur}};
}

// fork_sleeper: a child that keeps every descriptor open and sleeps until it is killed
Message fork_sleeper(ActorState&, const Message&) {
  const pid_t child = ::fork();
  if (child == 0)
    for (;;) ::pause();
  return {{"status", HB_OK}, {"pid", child}};
}

// in_child do=VERB ...: the verb in a forked child; its status, message and how the child ended
Message in_child(ActorState& state, const Message& m) {
  VerbTable table;
  add_client_verbs(table);
  add_memory_verbs(table);
  add_export_verbs(table);
  add_import_verbs(table);
  add_handle_verbs(table);
  add_looking_verbs(table);
  add_event_verbs(table);
  auto [mine, theirs] = channel_pair();
  const pid_t child = ::fork();
  if (child == 0) {
    mine.reset();
    Message answer = table.at(text_of(m, "do"))(state, m);
    send_message(theirs.get(), answer);
    ::_exit(0);
  }
  theirs.reset();
  auto answer = receive_message(mine.get(), kWatchdogNs);
  if (!answer) ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!answer) return {{"status", 1}, {"message", "the child did not answer"}};
  answer->emplace("child_status", status);
  return *answer;
}

// timer hz=: SIGALRM at that rate, handler without SA_RESTART; 0 stops it
Message timer(ActorState&, const Message& m) {
  static volatile sig_atomic_t ticks = 0;
  struct sigaction action {};
  action.sa_handler = [](int) { ticks = ticks + 1; };
  ::sigaction(SIGALRM, &action, nullptr);
  const std::uint64_t hz = number_of(m, "hz");
  itimerval value{};
  if (hz != 0) value.it_interval.tv_usec = value.it_value.tv_usec = static_cast<suseconds_t>(1'000'000 / hz);
  ::setitimer(ITIMER_REAL, &value, nullptr);
  return {{"status", HB_OK}, {"ticks", static_cast<int>(ticks)}};
}

// steal pid= fd=: the system call that the broker exists to avoid
Message steal(ActorState&, const Message&) {
  const long result = ::syscall(438 /* pidfd_getfd */, -1, 0, 0);
  return {{"status", HB_OK}, {"result", result}};
}

// raw_withdraw socket= id=: on a connection of its own, past the library, which would refuse
Message raw_withdraw(ActorState&, const Message& m) {
  RawPeer peer(text_of(m, "socket"));
  if (peer.hello().status != HB_OK) throw std::runtime_error("no hello");
  const auto answer = peer.withdraw_id(number_of(m, "id"));
  return {{"status", answer.status}, {"message", answer.error.message()}};
}

// raw_export socket= name=: on a session past the library, whose socket forked children go on holding
Message raw_export(ActorState& state, const Message& m) {
  RawPeer& peer = state.peers.emplace("p", RawPeer(text_of(m, "socket"))).first->second;
  if (peer.hello().status != HB_OK) throw std::runtime_error("no hello");
  const UniqueFd memory = sealed_memfd(kPage, 1);
  const auto answer = peer.export_fds(text_of(m, "name"), {memory.get()});
  return {{"status", answer.status}, {"message", answer.error.message()}};
}

Message leave(ActorState& state, const Message&) {
  state.leaving = true;
  return {{"status", HB_OK}};
}

}  // namespace

void add_looking_verbs(VerbTable& table) {
  table["list"] = list;
  table["show"] = show;
  table["who"] = who;
  table["daemon_status"] = daemon_status;
  table["wait_name"] = wait_name;
}

void add_process_verbs(VerbTable& table) {
  table["fds"] = fds;
  table["limit"] = limit;
  table["fork_sleeper"] = fork_sleeper;
  table["in_child"] = in_child;
  table["timer"] = timer;
  table["steal"] = steal;
  table["raw_withdraw"] = raw_withdraw;
  table["raw_export"] = raw_export;
  table["leave"] = leave;
}

}  // namespace hb::test
