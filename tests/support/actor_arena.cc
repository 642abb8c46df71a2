// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Verbs about arenas.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <vector>

#include "support/actor_verbs.h"
#include "support/fd_census.h"
#include "support/wait.h"

namespace hb::test {
namespace {

// arena [arena=] reserve= [block=] [keep=] [provider=] [device=] [peers=] [host=]
Message make(ActorState& state, const Message& m) {
  hb_arena_options options = HB_ARENA_OPTIONS_INIT;
  const Peers peers = peers_of(m);
  options.provider = static_cast<std::uint32_t>(number_of(m, "provider", HB_PROVIDER_HOST));
  options.reserve_bytes = number_of(m, "reserve");
  options.block_bytes = number_of(m, "block");
  options.keep_bytes = number_of(m, "keep");
  options.device = static_cast<std::int32_t>(number_of(m, "device"));
  options.peers = peers.ordinals.data();
  options.peer_count = peers.count;
  options.host_access = static_cast<std::uint32_t>(number_of(m, "host"));
  hb_error error = HB_ERROR_INIT;
  hb_arena* arena = nullptr;
  const hb_status status = hb_arena_create(state.client(m), &options, &arena, &error);
  if (status == HB_OK) state.arenas[text_of(m, "arena", "a")] = arena;
  return outcome(status, error);
}

// piece [arena=] [piece=] bytes= [align=]
Message piece(ActorState& state, const Message& m) {
  hb_error error = HB_ERROR_INIT;
  void* ptr = nullptr;
  const std::uint64_t bytes = number_of(m, "bytes");
  const hb_status status =
      hb_arena_alloc(named(state.arenas, m, "arena", "a"), bytes, number_of(m, "align"), &ptr, &error);
  Message out = outcome(status, error);
  if (status != HB_OK) return out;
  state.pieces[text_of(m, "piece", "p")] = {static_cast<unsigned char*>(ptr), bytes};
  out.emplace("ptr", reinterpret_cast<std::uintptr_t>(ptr));
  return out;
}

// free_piece [arena=] [piece=] [offset=]: from inside of it, which must not work
Message free_piece(ActorState& state, const Message& m) {
  hb_error error = HB_ERROR_INIT;
  unsigned char* const at = named(state.pieces, m, "piece", "p").at + number_of(m, "offset");
  return outcome(hb_arena_free(named(state.arenas, m, "arena", "a"), at, &error), error);
}

// piece_info piece= [offset=]: what hb_classify says, relative to the piece
Message piece_info(ActorState& state, const Message& m) {
  const Bytes& piece = named(state.pieces, m, "piece", "p");
  hb_pointer_info info = HB_POINTER_INFO_INIT;
  hb_error error = HB_ERROR_INIT;
  Message out = outcome(hb_classify(piece.at + number_of(m, "offset"), &info, &error), error);
  out.emplace("memory", info.memory);
  out.emplace("shareable", info.shareable);
  out.emplace("base_is_it", info.base == piece.at ? 1 : 0);
  out.emplace("bytes", info.bytes);
  out.emplace("ordinal", info.ordinal);
  out.emplace("reason", info.reason);
  return out;
}

Message info(ActorState& state, const Message& m) {
  hb_arena_info info = HB_ARENA_INFO_INIT;
  hb_arena_get_info(named(state.arenas, m, "arena", "a"), &info);
  Message out{{"status", HB_OK},
              {"reserved", info.reserved},
              {"block", info.block_bytes},
              {"mapped", info.mapped},
              {"blocks", info.blocks_mapped},
              {"used", info.used},
              {"allocations", info.allocations},
              {"largest", info.largest_free},
              {"gives_back", info.gives_back},
              {"host_granted", info.host_granted},
              {"fds", count_fds()}};
  describe_device(info.device, out);
  return out;
}

Message trim(ActorState& state, const Message& m) {
  hb_error error = HB_ERROR_INIT;
  return outcome(hb_arena_trim(named(state.arenas, m, "arena", "a"), &error), error);
}

Message drop(ActorState& state, const Message& m) {
  hb_arena_destroy(named(state.arenas, m, "arena", "a"));
  state.arenas.erase(text_of(m, "arena", "a"));
  return {{"status", HB_OK}};
}

struct Held {
  void* at;
  std::uint64_t bytes;
  hb_export* exported;
};

// arena_rounds [arena=] rounds= [fds_per_block=]: allocated, exported and freed at random; at the end nothing
// is left. `fds_per_block`: descriptors that a mapped block costs, held against the census each round.
Message rounds(ActorState& state, const Message& m) {
  hb_arena* const arena = named(state.arenas, m, "arena", "a");
  hb_client* const client = state.client(m);
  std::mt19937 random(static_cast<unsigned>(number_of(m, "seed", 1)));
  std::vector<Held> held;
  hb_error error = HB_ERROR_INIT;
  hb_arena_info now = HB_ARENA_INFO_INIT;
  hb_arena_get_info(arena, &now);
  const std::uint64_t block = now.block_bytes;
  const std::size_t before = count_fds();
  const auto failed = [&](const std::string& what) {
    return Message{{"status", 1}, {"message", what + ": " + error.message}};
  };
  std::uint64_t exports = 0;
  for (std::uint64_t round = 0; round < number_of(m, "rounds", 1); ++round) {
    if (held.size() < 8 && random() % 2 == 0) {
      Held one{nullptr, 1 + random() % (3 * block), nullptr};
      const hb_status status = hb_arena_alloc(arena, one.bytes, 0, &one.at, &error);
      if (status == HB_NO_MEMORY) continue;  // full
      if (status != HB_OK) return failed("alloc");
      if (random() % 2 == 0) {
        hb_export_options options = HB_EXPORT_OPTIONS_INIT;
        options.ptr = one.at;
        options.bytes = one.bytes;
        if (hb_export_create(client, &options, &one.exported, &error) != HB_OK) return failed("export");
        ++exports;
      }
      held.push_back(one);
    } else if (!held.empty()) {
      const std::size_t which = random() % held.size();
      if (hb_arena_free(arena, held[which].at, &error) != HB_OK) return failed("free");
      hb_export_destroy(held[which].exported);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    }
    hb_arena_get_info(arena, &now);
    const std::size_t wanted = before + now.blocks_mapped * number_of(m, "fds_per_block");
    if (has(m, "fds_per_block") && count_fds() != wanted)
      return {{"status", 1},
              {"message", "round " + std::to_string(round) + ": " + std::to_string(count_fds()) +
                              " descriptors, should be " + std::to_string(wanted)}};
  }
  for (const Held& one : held) {
    if (hb_arena_free(arena, one.at, &error) != HB_OK) return failed("free at the end");
    hb_export_destroy(one.exported);
  }
  if (hb_arena_trim(arena, &error) != HB_OK) return failed("trim");
  hb_arena_get_info(arena, &now);
  return {{"status", HB_OK},
          {"exports", exports},
          {"mapped", now.mapped},
          {"used", now.used},
          {"whole", now.largest_free == now.reserved ? 1 : 0},
          {"more_fds", count_fds() - before}};
}

// arena_in_child [arena=] [piece=]: what a forked child gets
Message in_child(ActorState& state, const Message& m) {
  hb_arena* const arena = named(state.arenas, m, "arena", "a");
  const Bytes& piece = named(state.pieces, m, "piece", "p");
  auto [mine, theirs] = channel_pair();
  const pid_t child = ::fork();
  if (child == 0) {
    const std::size_t before = count_fds();
    void* more = nullptr;
    Message out{{"alloc", hb_arena_alloc(arena, 1, 0, &more, nullptr)},
                {"free", hb_arena_free(arena, piece.at, nullptr)},
                {"trim", hb_arena_trim(arena, nullptr)}};
    hb_arena_info info = HB_ARENA_INFO_INIT;
    hb_arena_get_info(arena, &info);
    hb_arena_destroy(arena);
    out.emplace("allocations", info.allocations);
    out.emplace("same_fds", count_fds() == before ? 1 : 0);
    send_message(theirs.get(), out);
    ::_exit(0);
  }
  theirs.reset();
  auto answer = receive_message(mine.get(), kWatchdogNs);
  if (!answer) ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  Message out = answer.value_or(Message{{"message", "the child did not answer"}});
  out.emplace("status", answer ? 0 : 1);
  return out;
}

}  // namespace

void add_arena_verbs(VerbTable& table) {
  table["arena"] = make;
  table["piece"] = piece;
  table["free_piece"] = free_piece;
  table["piece_info"] = piece_info;
  table["arena_info"] = info;
  table["trim"] = trim;
  table["drop_arena"] = drop;
  table["arena_rounds"] = rounds;
  table["arena_in_child"] = in_child;
}

}  // namespace hb::test
