// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Verbs about memory and exports.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "support/actor_verbs.h"
#include "support/memfd.h"

namespace hb::test {

std::uint64_t fill_word(std::uint64_t seed, std::uint64_t offset) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15u + offset;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9u;
  return x ^ (x >> 32);
}

Peers peers_of(const Message& m) {
  Peers out;
  std::istringstream in(text_of(m, "peers"));
  std::string word;
  while (in >> word) out.ordinals.push_back(std::atoi(word.c_str()));
  out.count = out.ordinals.size();
  if (text_of(m, "peers") == "all") out.count = HB_ALL_VISIBLE;
  if (text_of(m, "peers") == "exporter") out.count = HB_EXPORTER_PEERS;
  return out;
}

void describe_device(const hb_device_id& device, Message& out) {
  out.emplace("uuid", device.uuid);
  out.emplace("pci", device.pci);
  out.emplace("partition", device.partition);
}

namespace {

// alloc mem= bytes= [chunk=] [sealed=1] [provider=] [device=] [peers=] [host=]
Message alloc(ActorState& state, const Message& m) {
  hb_memory_options options = HB_MEMORY_OPTIONS_INIT;
  options.bytes = number_of(m, "bytes");
  options.chunk_bytes = number_of(m, "chunk");
  options.sealed = static_cast<int>(number_of(m, "sealed"));
  const Peers peers = peers_of(m);
  options.provider = static_cast<std::uint32_t>(number_of(m, "provider", HB_PROVIDER_HOST));
  options.device = static_cast<std::int32_t>(number_of(m, "device"));
  options.peers = peers.ordinals.data();
  options.peer_count = peers.count;
  options.host_access = static_cast<std::uint32_t>(number_of(m, "host"));
  options.reserve_bytes = number_of(m, "reserve");
  hb_error error = HB_ERROR_INIT;
  hb_memory* memory = nullptr;
  const hb_status status = hb_memory_alloc(state.client(m), &options, &memory, &error);
  Message out = outcome(status, error);
  if (status != HB_OK) return out;
  state.memories[text_of(m, "mem", "m")] = memory;
  out.emplace("bytes", hb_memory_bytes(memory));
  out.emplace("chunks", hb_memory_chunks(memory));
  out.emplace("ptr", reinterpret_cast<std::uintptr_t>(hb_memory_ptr(memory)));
  hb_memory_info info = HB_MEMORY_INFO_INIT;
  hb_memory_get_info(memory, &info);
  out.emplace("chunk", info.chunk_bytes);
  out.emplace("host_granted", info.host_granted);
  describe_device(info.device, out);
  return out;
}

// grow_memory mem= bytes=, sleep_memory mem=, wake_memory mem=
Message memory_now(const hb_memory* memory, Message out) {
  hb_memory_info info = HB_MEMORY_INFO_INIT;
  hb_memory_get_info(memory, &info);
  out.emplace("ptr", reinterpret_cast<std::uintptr_t>(info.ptr));
  out.emplace("bytes", info.bytes);
  out.emplace("chunks", info.chunks);
  out.emplace("reserved", info.reserved_bytes);
  out.emplace("asleep", info.asleep);
  out.emplace("host_granted", info.host_granted);
  return out;
}
Message grow_memory(ActorState& state, const Message& m) {
  hb_error error = HB_ERROR_INIT;
  hb_memory* const memory = named(state.memories, m, "mem", "m");
  const hb_status status = hb_memory_grow(memory, number_of(m, "bytes"), &error);
  return memory_now(memory, outcome(status, error));
}
template <hb_status (*kChange)(hb_memory*, hb_error*)>
Message change_memory(ActorState& state, const Message& m) {
  hb_error error = HB_ERROR_INIT;
  hb_memory* const memory = named(state.memories, m, "mem", "m");
  const hb_status status = kChange(memory, &error);
  return memory_now(memory, outcome(status, error));
}

Message free_memory(ActorState& state, const Message& m) {
  hb_memory_free(named(state.memories, m, "mem", "m"));
  state.memories.erase(text_of(m, "mem", "m"));
  return {{"status", HB_OK}};
}

}  // namespace

Bytes bytes_of(ActorState& state, const Message& m) {
  const std::uint64_t offset = number_of(m, "offset");
  if (has(m, "ptr"))
    return {reinterpret_cast<unsigned char*>(number_of(m, "ptr")) + offset, number_of(m, "size") - offset};
  if (has(m, "import")) {
    hb_import_info info = HB_IMPORT_INFO_INIT;
    hb_import_get_info(named(state.imports, m, "import", "i"), &info);
    return {static_cast<unsigned char*>(info.ptr) + offset, info.bytes - offset};
  }
  if (has(m, "piece")) {
    const Bytes& piece = named(state.pieces, m, "piece", "p");
    return {piece.at + offset, piece.size - offset};
  }
  hb_memory* memory = named(state.memories, m, "mem", "m");
  return {static_cast<unsigned char*>(hb_memory_ptr(memory)) + offset, hb_memory_bytes(memory) - offset};
}

namespace {

// fill|check mem=|import= seed= [at=]: every byte of it. `at`: where in the filled object the first byte
// lies.
Message fill(ActorState& state, const Message& m) {
  const Bytes bytes = bytes_of(state, m);
  for (std::uint64_t i = 0; i + 8 <= bytes.size; i += 8) {
    const std::uint64_t word = fill_word(number_of(m, "seed"), number_of(m, "at") + i);
    std::memcpy(bytes.at + i, &word, sizeof word);
  }
  return {{"status", HB_OK}};
}

Message check(ActorState& state, const Message& m) {
  const Bytes bytes = bytes_of(state, m);
  const std::uint64_t seed = number_of(m, "seed");
  const std::uint64_t at = number_of(m, "at");
  for (std::uint64_t i = 0; i + 8 <= bytes.size; i += 8) {
    const std::uint64_t word = fill_word(seed, at + i);
    if (std::memcmp(bytes.at + i, &word, sizeof word) != 0)
      return {{"status", 1}, {"message", "wrong at byte " + std::to_string(i)}};
  }
  return {{"status", HB_OK}, {"bytes", bytes.size}};
}

Message poke(ActorState& state, const Message& m) {
  *bytes_of(state, m).at = static_cast<unsigned char>(number_of(m, "value"));
  return {{"status", HB_OK}};
}

Message peek(ActorState& state, const Message& m) {
  const Bytes bytes = bytes_of(state, m);
  const std::uint64_t count = number_of(m, "count", 1);
  if (count > bytes.size) throw std::runtime_error("peek past the end");
  return {{"status", HB_OK},
          {"hex", to_hex(std::string(reinterpret_cast<char*>(bytes.at), static_cast<std::size_t>(count)))},
          {"value", static_cast<unsigned>(*bytes.at)}};
}

// memfds fds= count= bytes= [first=] [seals=]: objects numbered first, first + 1, ...
Message memfds(ActorState& state, const Message& m) {
  std::vector<UniqueFd>& list = state.fds[text_of(m, "fds", "f")];
  list.clear();
  const std::uint64_t count = number_of(m, "count", 1);
  for (std::uint64_t i = 0; i < count; ++i)
    list.push_back(sealed_memfd(number_of(m, "bytes", kPage), number_of(m, "first") + i,
                                static_cast<int>(number_of(m, "seals", kDaemonSeals))));
  return {{"status", HB_OK}};
}

// put fds= index= offset= bytes= number=: a pattern somewhere inside
Message put(ActorState& state, const Message& m) {
  const auto& list = named(state.fds, m, "fds", "f");
  put_pattern(list.at(number_of(m, "index")).get(), number_of(m, "offset"), number_of(m, "bytes", kPage),
              number_of(m, "number"));
  return {{"status", HB_OK}};
}

// more fds= from= index= as=dup|ro: a duplicate or a read-only reopening of one, appended to `fds`
Message more(ActorState& state, const Message& m) {
  const int source = named(state.fds, m, "from", "f").at(number_of(m, "index")).get();
  UniqueFd made =
      text_of(m, "as") == "ro" ? reopen(source, O_RDONLY) : UniqueFd(::fcntl(source, F_DUPFD_CLOEXEC, 3));
  state.fds[text_of(m, "fds", "f")].push_back(std::move(made));
  return {{"status", HB_OK}};
}

// pipe fds=: one end of a pipe, appended to `fds`
Message pipe_fd(ActorState& state, const Message& m) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  ::close(ends[1]);
  state.fds[text_of(m, "fds", "f")].push_back(UniqueFd(ends[0]));
  return {{"status", HB_OK}};
}

Message chmod_fd(ActorState& state, const Message& m) {
  const int fd = has(m, "handles")
                     ? hb_handles_fd(named(state.handles, m, "handles", "h"), number_of(m, "index"))
                     : named(state.fds, m, "fds", "f").at(number_of(m, "index")).get();
  const int result = ::fchmod(fd, static_cast<mode_t>(number_of(m, "mode")));
  return {{"status", HB_OK}, {"errno", result == 0 ? 0 : errno}};
}

Message drop_fds(ActorState& state, const Message& m) {
  state.fds.erase(text_of(m, "fds", "f"));
  return {{"status", HB_OK}};
}

std::vector<hb_acl_entry> acl_of(const Message& m) {
  std::vector<hb_acl_entry> out;
  std::istringstream in(text_of(m, "acl"));  // "u:1002:1 g:50:3"
  std::string word;
  while (in >> word) {
    hb_acl_entry entry{};
    char kind = 0;
    if (std::sscanf(word.c_str(), "%c:%u:%u", &kind, &entry.id, &entry.access) != 3)
      throw std::runtime_error("bad acl " + word);
    entry.kind = kind == 'g' ? HB_ACL_GID : HB_ACL_UID;
    out.push_back(entry);
  }
  return out;
}

// What the export is made of, unless it is memory of the library:
//   fds= [bytes=]                     each descriptor one chunk
//   fds= index= count= bytes= [from=]  `count` chunks of `bytes` of one descriptor, side by side
//   handles= bytes=                    acquired descriptors, of one acquire or of several ("a b"); of each
//                                      `bytes`, or with bytes=0 the whole object
std::vector<hb_chunk> chunks_of(ActorState& state, const Message& m) {
  std::vector<hb_chunk> out;
  const std::uint64_t bytes = number_of(m, "bytes", kPage);
  if (has(m, "handles")) {
    std::istringstream names(text_of(m, "handles"));
    for (std::string name; names >> name;) {
      const hb_handles* handles = state.handles.at(name);
      for (std::size_t i = 0; i < hb_handles_fd_count(handles); ++i)
        out.push_back(
            {hb_handles_fd(handles, i), 0, bytes != 0 ? bytes : hb_handles_chunks(handles)[i].object_bytes});
    }
  } else if (has(m, "index")) {
    const int fd = named(state.fds, m, "fds", "f").at(number_of(m, "index")).get();
    for (std::uint64_t i = 0; i < number_of(m, "count", 1); ++i)
      out.push_back({fd, number_of(m, "from") + i * bytes, bytes});
  } else if (has(m, "fds")) {
    for (const UniqueFd& fd : named(state.fds, m, "fds", "f")) out.push_back({fd.get(), 0, bytes});
  }
  return out;
}

// export [export=] [name=] [meta=] [acl=] [max_access=] [max_bytes=] [lifetime=] [linger_ms=] [replace=] and
// mem=|piece= [offset=] [bytes=], or chunks as above with
//   [pci=] [uuid=] of the GPU they are on
Message create_export(ActorState& state, const Message& m) {
  hb_export_options options = HB_EXPORT_OPTIONS_INIT;
  hb_device_id device{};
  text_of(m, "uuid").copy(device.uuid, sizeof device.uuid - 1);
  text_of(m, "pci").copy(device.pci, sizeof device.pci - 1);
  const std::string name = text_of(m, "name");
  const std::string meta = text_of(m, "meta");
  const std::vector<hb_acl_entry> acl = acl_of(m);
  const std::vector<hb_chunk> chunks = chunks_of(state, m);
  if (has(m, "name")) options.name = name.c_str();
  options.metadata = meta.empty() ? nullptr : meta.data();
  options.metadata_bytes = meta.size();
  options.acl = acl.empty() ? nullptr : acl.data();
  options.acl_count = acl.size();
  options.max_access = static_cast<std::uint32_t>(number_of(m, "max_access"));
  options.max_bytes = number_of(m, "max_bytes");
  options.deadline_ns = deadline_of(m);
  options.lifetime = static_cast<std::uint32_t>(number_of(m, "lifetime"));
  options.linger_ns = number_of(m, "linger_ms") * 1'000'000;
  options.replace = static_cast<int>(number_of(m, "replace"));
  if (has(m, "mem") || has(m, "piece")) {
    const Bytes bytes = bytes_of(state, m);
    options.ptr = bytes.at;
    options.bytes = number_of(m, "bytes", bytes.size);
  } else {
    options.chunks = chunks.data();
    options.chunk_count = chunks.size();
    if (has(m, "pci")) options.device = &device;
  }
  hb_error error = HB_ERROR_INIT;
  hb_export* made = nullptr;
  const hb_status status = hb_export_create(state.client(m), &options, &made, &error);
  Message out = outcome(status, error);
  if (status != HB_OK) return out;
  hb_export*& place = state.exports[text_of(m, "export", "e")];
  hb_export_destroy(std::exchange(place, made));
  hb_export_info info = HB_EXPORT_INFO_INIT;
  hb_export_get_info(made, &info);
  out.emplace("export_id", info.export_id);
  out.emplace("generation", info.generation);
  out.emplace("layout", info.layout_version);
  out.emplace("bytes", info.bytes);
  out.emplace("key", key_text(info.key));
  return out;
}

// subkey export=|import= offset= bytes=
Message subkey(ActorState& state, const Message& m) {
  hb_error error = HB_ERROR_INIT;
  hb_key key{};
  const std::uint64_t offset = number_of(m, "offset");
  const std::uint64_t bytes = number_of(m, "bytes");
  const hb_status status =
      has(m, "import")
          ? hb_import_subkey(named(state.imports, m, "import", "i"), offset, bytes, &key, &error)
          : hb_export_subkey(named(state.exports, m, "export", "e"), offset, bytes, &key, &error);
  Message out = outcome(status, error);
  if (status == HB_OK) out.emplace("key", key_text(key));
  return out;
}

// withdraw export= | id= | mem= offset= bytes= | all=1
Message withdraw(ActorState& state, const Message& m) {
  hb_error error = HB_ERROR_INIT;
  hb_withdrawn ended = HB_WITHDRAWN_INIT;
  const std::uint64_t deadline = deadline_of(m);
  hb_status status;
  if (has(m, "all"))
    status = hb_withdraw_all(state.client(m), deadline, &ended, &error);
  else if (has(m, "id"))
    status = hb_withdraw_id(state.client(m), number_of(m, "id"), deadline, &ended, &error);
  else if (has(m, "mem"))
    status = hb_withdraw_range(state.client(m), bytes_of(state, m).at, number_of(m, "bytes"), deadline,
                               &ended, &error);
  else
    status = hb_export_withdraw(named(state.exports, m, "export", "e"), deadline, &ended, &error);
  Message out = outcome(status, error);
  out.emplace("exports", ended.exports);
  out.emplace("holders", ended.holders);
  return out;
}

Message destroy(ActorState& state, const Message& m) {
  hb_export_destroy(named(state.exports, m, "export", "e"));
  state.exports.erase(text_of(m, "export", "e"));
  return {{"status", HB_OK}};
}

}  // namespace

void add_memory_verbs(VerbTable& table) {
  table["alloc"] = alloc;
  table["free"] = free_memory;
  table["grow_memory"] = grow_memory;
  table["sleep_memory"] = change_memory<hb_memory_sleep>;
  table["wake_memory"] = change_memory<hb_memory_wake>;
  table["fill"] = fill;
  table["check"] = check;
  table["poke"] = poke;
  table["peek"] = peek;
  table["memfds"] = memfds;
  table["objects"] = memfds;  // where the test does not care what they are made of
  table["put"] = put;
  table["more"] = more;
  table["chmod"] = chmod_fd;
  table["pipe"] = pipe_fd;
  table["drop_fds"] = drop_fds;
}

void add_export_verbs(VerbTable& table) {
  table["export"] = create_export;
  table["subkey"] = subkey;
  table["withdraw"] = withdraw;
  table["destroy"] = destroy;
}

}  // namespace hb::test
