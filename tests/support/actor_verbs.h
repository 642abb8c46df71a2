// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The other side of support/actor.h: what lives in the actor's process. Private to actor*.cc and to roles
// that bring verbs of their own.
#pragma once

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "hipbroker/arena.h"
#include "hipbroker/hipbroker.h"
#include "support/actor_events.h"
#include "support/channel.h"
#include "support/raw_peer.h"
#include "support/role.h"
#include "wire/unique_fd.h"

namespace hb::test {

struct Bytes {
  unsigned char* at;
  std::uint64_t size;
};

struct ActorState {
  std::map<std::string, hb_client*> clients;
  std::map<std::string, hb_memory*> memories;
  std::map<std::string, hb_arena*> arenas;
  std::map<std::string, Bytes> pieces;  // of an arena
  std::map<std::string, hb_export*> exports;
  std::map<std::string, hb_import*> imports;
  std::map<std::string, hb_handles*> handles;
  std::map<std::string, hb_group*> groups;
  std::map<std::string, std::vector<UniqueFd>> fds;
  std::map<std::string, RawPeer> peers;                        // sessions past the library
  std::map<std::string, std::unique_ptr<Listener>> listeners;  // by client
  bool leaving = false;

  ActorState() = default;
  ActorState(const ActorState&) = delete;
  ActorState& operator=(const ActorState&) = delete;
  ~ActorState();

  // The one named by `client`, by default "c"; throws when there is none.
  hb_client* client(const Message& m);
};

using Verb = Message (*)(ActorState& state, const Message& m);
using VerbTable = std::map<std::string, Verb>;
void add_client_verbs(VerbTable& table);
void add_memory_verbs(VerbTable& table);
void add_arena_verbs(VerbTable& table);
void add_export_verbs(VerbTable& table);
void add_import_verbs(VerbTable& table);
void add_handle_verbs(VerbTable& table);
void add_group_verbs(VerbTable& table);
void add_looking_verbs(VerbTable& table);
void add_event_verbs(VerbTable& table);
void add_process_verbs(VerbTable& table);
void add_life_verbs(VerbTable& table);
void add_succession_verbs(VerbTable& table);

// Obeys until it is told to leave, or the test is gone. `more`: verbs besides those of every actor, or in
// their place.
int run_actor(const VerbTable& more);
// All of them, in a process that runs.
[[nodiscard]] const VerbTable& verbs_of_this_actor();
int actor_main(const std::vector<std::string>& args);

// The answer for a status with its error.
[[nodiscard]] Message outcome(hb_status status, const hb_error& error);
// The deadline: `timeout_ms` from now; without it, none.
[[nodiscard]] std::uint64_t deadline_of(const Message& m);
// peers=all, peers=exporter or "0 2"
struct Peers {
  std::vector<std::int32_t> ordinals;
  std::size_t count = 0;
};
[[nodiscard]] Peers peers_of(const Message& m);
void describe_device(const hb_device_id& device, Message& out);
// Where a verb reads or writes: mem=, piece= or import=, from offset= on; or ptr= and size=.
[[nodiscard]] Bytes bytes_of(ActorState& state, const Message& m);
// Finds an object by its name in one of the state's tables; throws, naming it, when it is not there.
template <class Map>
typename Map::mapped_type& named(Map& table, const Message& m, const std::string& argument,
                                 const std::string& fallback) {
  const std::string name = text_of(m, argument, fallback);
  const auto found = table.find(name);
  if (found == table.end()) throw std::runtime_error("no " + argument + " \"" + name + "\" here");
  return found->second;
}
// The text form of a key.
[[nodiscard]] std::string key_text(const hb_key& key);
[[nodiscard]] hb_import_options import_options(const Message& m, hb_key* key_storage,
                                               std::string* name_storage, Peers* peers_storage = nullptr);
void describe_import(const hb_import_info& info, Message& out);
// Eight bytes at `offset` of what seed `seed` fills memory with.
[[nodiscard]] std::uint64_t fill_word(std::uint64_t seed, std::uint64_t offset);

}  // namespace hb::test
