// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The actor's loop, and the verbs about sessions.
#include <stdexcept>

#include "support/actor_verbs.h"
#include "support/fd_census.h"

namespace hb::test {

ActorState::~ActorState() {
  listeners.clear();
  for (auto& [name, one] : groups) hb_group_leave(one);
  for (auto& [name, one] : imports) hb_import_close(one);
  for (auto& [name, one] : handles) hb_handles_release(one);
  for (auto& [name, one] : exports) hb_export_destroy(one);
  for (auto& [name, one] : memories) hb_memory_free(one);
  for (auto& [name, one] : arenas) hb_arena_destroy(one);
  for (auto& [name, one] : clients) hb_client_close(one);
}

hb_client* ActorState::client(const Message& m) { return named(clients, m, "client", "c"); }

Message outcome(hb_status status, const hb_error& error) {
  Message out{{"status", status}};
  if (status == HB_OK) return out;
  out.emplace("error_status", error.status);
  out.emplace("message", error.message);
  out.emplace("operation", error.operation);
  out.emplace("what", error.what);
  out.emplace("who", error.who);
  out.emplace("used", error.used);
  out.emplace("limit", error.limit);
  out.emplace("chunk", error.chunk);
  out.emplace("errno", error.sys_errno);
  return out;
}

std::uint64_t deadline_of(const Message& m) {
  if (!has(m, "timeout_ms")) return HB_NO_DEADLINE;
  return hb_deadline_in(number_of(m, "timeout_ms") * 1'000'000);
}

std::string key_text(const hb_key& key) {
  char text[HB_KEY_TEXT_BYTES];
  hb_key_to_text(&key, text);
  return text;
}

namespace {

// open [socket=] [timeout_ms=] [trusted=UID] [cache=BYTES]
Message open_client(ActorState& state, const Message& m) {
  hb_client_options options = HB_CLIENT_OPTIONS_INIT;
  const std::string socket = text_of(m, "socket");
  if (!socket.empty()) options.socket = socket.c_str();
  options.deadline_ns = deadline_of(m);
  options.cache_bytes = number_of(m, "cache");
  const auto trusted = static_cast<std::uint32_t>(number_of(m, "trusted"));
  if (has(m, "trusted")) {
    options.trusted_uids = &trusted;
    options.trusted_uid_count = 1;
  }
  hb_error error = HB_ERROR_INIT;
  hb_client* client = nullptr;
  const hb_status status = hb_client_open(&options, &client, &error);
  if (status == HB_OK) state.clients[text_of(m, "client", "c")] = client;
  return outcome(status, error);
}

Message close_client(ActorState& state, const Message& m) {
  const std::string name = text_of(m, "client", "c");
  hb_client_close(state.client(m));
  state.clients.erase(name);
  Message out{{"status", HB_OK}};
  if (const auto found = state.listeners.find(name); found != state.listeners.end()) {
    out.emplace("loop", found->second->join());  // it ends with its client
    state.listeners.erase(found);
  }
  return out;
}

Message client_info(ActorState& state, const Message& m) {
  hb_client_info info = HB_CLIENT_INFO_INIT;
  hb_error error = HB_ERROR_INIT;
  const hb_status status = hb_client_get_info(state.client(m), &info, &error);
  Message out = outcome(status, error);
  out.emplace("broker_id",
              to_hex(std::string(reinterpret_cast<char*>(info.broker_id), sizeof info.broker_id)));
  out.emplace("session_id", info.session_id);
  out.emplace("uid", info.uid);
  out.emplace("pid", info.pid);
  out.emplace("admin", info.admin);
  out.emplace("protocol", info.protocol);
  out.emplace("daemon", info.daemon);
  out.emplace("scope", info.scope);
  out.emplace("socket", info.socket);
  return out;
}

Message ping(ActorState& state, const Message& m) {
  hb_error error = HB_ERROR_INIT;
  std::uint64_t uptime = 0;
  Message out = outcome(hb_ping(state.client(m), deadline_of(m), &uptime, &error), error);
  out.emplace("uptime", uptime);
  return out;
}

Message stats(ActorState& state, const Message& m) {
  hb_stats stats{};
  stats.size = sizeof stats;
  hb_client_get_stats(state.client(m), &stats);
  Message out{{"status", HB_OK},
              {"exports", stats.exports},
              {"imports", stats.imports},
              {"cache_hits", stats.cache_hits},
              {"evictions", stats.evictions},
              {"withdrawn", stats.withdrawn},
              {"reconnects", stats.reconnects},
              {"mapped_bytes", stats.mapped_bytes},
              {"failed_frees", stats.failed_frees},
              {"fetched_fds", stats.fetched_fds}};
  for (int i = 0; i < HB_STATS_REFUSALS; ++i)
    if (stats.refusals[i] != 0) out.emplace("refusal" + std::to_string(i), stats.refusals[i]);
  return out;
}

}  // namespace

void add_client_verbs(VerbTable& table) {
  table["open"] = open_client;
  table["close"] = close_client;
  table["info"] = client_info;
  table["ping"] = ping;
  table["stats"] = stats;
}

namespace {
VerbTable* g_verbs = nullptr;
}
const VerbTable& verbs_of_this_actor() { return *g_verbs; }

int actor_main(const std::vector<std::string>&) { return run_actor({}); }

int run_actor(const VerbTable& more) {
  VerbTable table;
  add_client_verbs(table);
  add_memory_verbs(table);
  add_arena_verbs(table);
  add_export_verbs(table);
  add_import_verbs(table);
  add_group_verbs(table);
  add_handle_verbs(table);
  add_looking_verbs(table);
  add_event_verbs(table);
  add_process_verbs(table);
  add_life_verbs(table);
  add_succession_verbs(table);
  for (const auto& [name, verb] : more) table[name] = verb;
  g_verbs = &table;
  ActorState state;
  while (!state.leaving) {
    const auto message = receive_message(kChannelFd, UINT64_MAX / 2);
    if (!message) break;  // the test is done with this process, or gone
    Message answer;
    try {
      const auto found = table.find(text_of(*message, "verb"));
      if (found == table.end()) throw std::runtime_error("no verb \"" + text_of(*message, "verb") + "\"");
      answer = found->second(state, *message);
    } catch (const std::exception& e) {
      answer = {{"status", 1}, {"message", e.what()}};
    }
    if (!send_message(kChannelFd, answer)) break;
  }
  return 0;
}

}  // namespace hb::test
