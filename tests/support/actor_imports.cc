// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Verbs about imports and acquired descriptors.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

#include "support/actor_verbs.h"
#include "support/memfd.h"

namespace hb::test {

hb_import_options import_options(const Message& m, hb_key* key_storage, std::string* name_storage,
                                 Peers* peers_storage) {
  hb_import_options options = HB_IMPORT_OPTIONS_INIT;
  if (has(m, "key")) {
    if (hb_key_from_text(text_of(m, "key").c_str(), key_storage, nullptr) != HB_OK)
      throw std::runtime_error("not a key: " + text_of(m, "key"));
    options.key = key_storage;
  }
  if (has(m, "name")) {
    *name_storage = text_of(m, "name");
    options.name = name_storage->c_str();
  }
  options.owner_uid = static_cast<std::uint32_t>(number_of(m, "owner", HB_OWN_UID));
  options.access = static_cast<std::uint32_t>(number_of(m, "access", HB_ACCESS_READ));
  options.offset = number_of(m, "offset");
  options.bytes = number_of(m, "bytes", HB_WHOLE);
  options.address = reinterpret_cast<void*>(number_of(m, "address"));
  options.demand_level = static_cast<std::uint32_t>(number_of(m, "demand"));
  options.alias = static_cast<int>(number_of(m, "alias"));
  options.wait = static_cast<int>(number_of(m, "wait"));
  options.deadline_ns = deadline_of(m);
  options.host_access = static_cast<std::uint32_t>(number_of(m, "host"));
  options.mapping = static_cast<std::uint32_t>(number_of(m, "mapping"));
  options.reserve_bytes = number_of(m, "reserve");
  if (peers_storage != nullptr) {
    *peers_storage = peers_of(m);
    options.peers = peers_storage->ordinals.data();
    options.peer_count = peers_storage->count;
  }
  return options;
}

void describe_import(const hb_import_info& info, Message& out) {
  out.emplace("ptr", reinterpret_cast<std::uintptr_t>(info.ptr));
  out.emplace("bytes", info.bytes);
  out.emplace("offset", info.offset);
  out.emplace("export_id", info.export_id);
  out.emplace("generation", info.generation);
  out.emplace("layout", info.layout_version);
  out.emplace("export_bytes", info.export_bytes);
  out.emplace("chunks", info.chunks);
  out.emplace("owner", info.owner_uid);
  out.emplace("access", info.access);
  out.emplace("level", info.level);
  out.emplace("kind", info.kind);
  out.emplace("host_granted", info.host_granted);
  describe_device(info.device, out);
  out.emplace("ordinal", info.ordinal);
  out.emplace("mapping", info.mapping);
  std::string peers;  // "GPU-f00d000000000003=0+" is ordinal 0, let in
  for (std::size_t i = 0; i < info.peer_count; ++i)
    peers += (i == 0 ? "" : " ") + std::string(info.peers[i].device.uuid) + "=" +
             std::to_string(info.peers[i].ordinal) + (info.peers[i].granted != 0 ? "+" : "-");
  out.emplace("peers", peers);
  if (info.metadata != nullptr)
    out.emplace("meta", std::string(static_cast<const char*>(info.metadata), info.metadata_bytes));
}

namespace {

// import [import=] key=|name= [owner=] [access=] [offset=] [bytes=] [address=] [demand=] [alias=] [wait=]
//   [peers=] [host=] [mapping=]
Message open_import(ActorState& state, const Message& m) {
  hb_key key{};
  std::string name;
  Peers peers;
  const hb_import_options options = import_options(m, &key, &name, &peers);
  hb_error error = HB_ERROR_INIT;
  hb_import* made = nullptr;
  const hb_status status = hb_import_open(state.client(m), &options, &made, &error);
  Message out = outcome(status, error);
  if (status != HB_OK) return out;
  state.imports[text_of(m, "import", "i")] = made;
  hb_import_info info = HB_IMPORT_INFO_INIT;
  hb_import_get_info(made, &info);
  describe_import(info, out);
  return out;
}

Message close_import(ActorState& state, const Message& m) {
  hb_import_close(named(state.imports, m, "import", "i"));
  state.imports.erase(text_of(m, "import", "i"));
  return {{"status", HB_OK}};
}

Message current(ActorState& state, const Message& m) {
  return {{"status", HB_OK}, {"current", hb_import_is_current(named(state.imports, m, "import", "i"))}};
}

hb_import_info info_of(ActorState& state, const Message& m) {
  hb_import_info info = HB_IMPORT_INFO_INIT;
  hb_import_get_info(named(state.imports, m, "import", "i"), &info);
  return info;
}

// pattern import= chunk_bytes= [first=] [from=] [count=]: chunk i must be object first + i; each by its first
// and last page
Message pattern(ActorState& state, const Message& m) {
  const hb_import_info info = info_of(state, m);
  const std::uint64_t bytes = number_of(m, "chunk_bytes", kPage);
  const std::uint64_t from = number_of(m, "from");
  const std::uint64_t end = from + number_of(m, "count", info.bytes / bytes);
  for (std::uint64_t i = from; i < end && i * bytes < info.bytes; ++i) {
    const std::string error =
        pattern_error(static_cast<const char*>(info.ptr) + i * bytes, bytes, number_of(m, "first") + i);
    if (!error.empty()) return {{"status", 1}, {"message", "chunk " + std::to_string(i) + ": " + error}};
  }
  return {{"status", HB_OK}, {"chunks", info.bytes / bytes}};
}

// In a forked child, so that the actor survives: the signal that a write raises, 0 when it goes through.
int signal_of_write(void* at) {
  const pid_t child = ::fork();
  if (child == 0) {
    *static_cast<volatile unsigned char*>(at) = 0xee;
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

// write import= [offset=]: signal, and errno of making the mapping writable
Message try_write(ActorState& state, const Message& m) {
  const hb_import_info info = info_of(state, m);
  char* at = static_cast<char*>(info.ptr) + number_of(m, "offset");
  Message out{{"status", HB_OK}, {"signal", signal_of_write(at)}};
  const auto page = reinterpret_cast<std::uintptr_t>(at) & ~(kPage - 1);
  const int result = ::mprotect(reinterpret_cast<void*>(page), kPage, PROT_READ | PROT_WRITE);
  out.emplace("mprotect", result == 0 ? 0 : errno);
  if (result == 0) {
    ::mprotect(reinterpret_cast<void*>(page), kPage, PROT_READ);
  }
  return out;
}

// acquire handles= and the arguments of import
Message acquire(ActorState& state, const Message& m) {
  hb_key key{};
  std::string name;
  const hb_import_options options = import_options(m, &key, &name);
  hb_error error = HB_ERROR_INIT;
  hb_handles* made = nullptr;
  const hb_status status = hb_handles_acquire(state.client(m), &options, &made, &error);
  Message out = outcome(status, error);
  if (status != HB_OK) return out;
  state.handles[text_of(m, "handles", "h")] = made;
  hb_import_info info = HB_IMPORT_INFO_INIT;
  hb_handles_get_info(made, &info);
  describe_import(info, out);
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < hb_handles_chunk_count(made); ++i) total += hb_handles_chunks(made)[i].bytes;
  out.emplace("handle_chunks", hb_handles_chunk_count(made));
  out.emplace("fd_count", hb_handles_fd_count(made));
  out.emplace("chunk_total", total);
  if (hb_handles_chunk_count(made) != 0) {
    out.emplace("object_offset", hb_handles_chunks(made)[0].object_offset);
    out.emplace("first_offset", hb_handles_chunks(made)[0].offset);
  }
  return out;
}

Message release(ActorState& state, const Message& m) {
  hb_handles_release(named(state.handles, m, "handles", "h"));
  state.handles.erase(text_of(m, "handles", "h"));
  return {{"status", HB_OK}};
}

// handle_pattern handles= [first=]: chunk i must be object first + i, at its offset in its descriptor
Message handle_pattern(ActorState& state, const Message& m) {
  const hb_handles* handles = named(state.handles, m, "handles", "h");
  std::uint64_t offset = hb_handles_chunks(handles)[0].offset;
  for (std::size_t i = 0; i < hb_handles_chunk_count(handles); ++i) {
    const hb_handle_chunk& chunk = hb_handles_chunks(handles)[i];
    if (chunk.offset != offset)
      return {{"status", 1},
              {"message", "chunk " + std::to_string(i) + " is at " + std::to_string(chunk.offset)}};
    offset += chunk.bytes;
    const std::string error = pattern_error(hb_handles_fd(handles, chunk.handle), chunk.object_offset,
                                            chunk.bytes, number_of(m, "first") + i);
    if (!error.empty()) return {{"status", 1}, {"message", "chunk " + std::to_string(i) + ": " + error}};
  }
  return {{"status", HB_OK}, {"chunks", hb_handles_chunk_count(handles)}};
}

// write_handle handles= [index=]: errno of each way to write through the descriptor; 0 = it was possible
Message write_handle(ActorState& state, const Message& m) {
  const int fd = hb_handles_fd(named(state.handles, m, "handles", "h"), number_of(m, "index"));
  Message out{{"status", HB_OK}};
  const auto note = [&out](const char* how, bool worked) { out.emplace(how, worked ? 0 : errno); };
  void* mapped = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  note("mmap", mapped != MAP_FAILED);
  if (mapped != MAP_FAILED) ::munmap(mapped, kPage);
  mapped = ::mmap(nullptr, kPage, PROT_READ, MAP_SHARED, fd, 0);
  note("mmap_read", mapped != MAP_FAILED);
  if (mapped != MAP_FAILED) {
    note("mprotect", ::mprotect(mapped, kPage, PROT_READ | PROT_WRITE) == 0);
    ::munmap(mapped, kPage);
  }
  const char byte = 'w';
  note("pwrite", ::pwrite(fd, &byte, 1, kPage / 2) == 1);
  const UniqueFd again(::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDWR | O_CLOEXEC));
  note("reopen", static_cast<bool>(again));
  if (again) {
    mapped = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, again.get(), 0);
    note("reopen_mmap", mapped != MAP_FAILED);
    if (mapped != MAP_FAILED) ::munmap(mapped, kPage);
  }
  note("truncate", ::ftruncate(fd, 0) == 0);
  out.emplace("mode", ::fcntl(fd, F_GETFL) & O_ACCMODE);
  return out;
}

}  // namespace

void add_import_verbs(VerbTable& table) {
  table["import"] = open_import;
  table["close_import"] = close_import;
  table["current"] = current;
  table["pattern"] = pattern;
  table["try_write"] = try_write;
}

void add_handle_verbs(VerbTable& table) {
  table["acquire"] = acquire;
  table["release"] = release;
  table["handle_pattern"] = handle_pattern;
  table["write_handle"] = write_handle;
}

}  // namespace hb::test
