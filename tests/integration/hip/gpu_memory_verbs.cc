// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The same words as of every actor, for memory on a GPU: made there, and seen by copies, since the CPU is not
// let in.
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "integration/hip/gpu_fixture.h"
#include "integration/hip/gpu_verbs.h"
#include "support/memfd.h"

namespace hb::test {
namespace {

const VerbTable& of_every_actor() {
  static const VerbTable table = [] {
    VerbTable out;
    add_memory_verbs(out);
    add_export_verbs(out);
    add_life_verbs(out);
    return out;
  }();
  return table;
}

Message done(HipError code) {
  if (code == fh::kSuccess) return {{"status", HB_OK}};
  return {{"status", 1}, {"message", std::string("copy: ") + hip().hipGetErrorName(code)}};
}

int device_of(const Message& m) { return static_cast<int>(number_of(m, "on", kDefaultDevice)); }

Message alloc(ActorState& state, const Message& m) {
  Message asked = m;
  asked.emplace("provider", HB_PROVIDER_HIP);
  asked.emplace("device", kDefaultDevice);
  return of_every_actor().at("alloc")(state, asked);
}

// fill|check mem=|import= seed= [at=] [on=DEVICE]
std::vector<std::uint64_t> words_of(const Message& m, std::uint64_t bytes) {
  std::vector<std::uint64_t> words(bytes / 8);
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = fill_word(number_of(m, "seed"), number_of(m, "at") + i * 8);
  return words;
}
Message fill(ActorState& state, const Message& m) {
  const Bytes bytes = bytes_of(state, m);
  const auto words = words_of(m, bytes.size);
  return done(copy_on(device_of(m), bytes.at, words.data(), words.size() * 8));
}
Message check(ActorState& state, const Message& m) {
  const Bytes bytes = bytes_of(state, m);
  const auto wanted = words_of(m, bytes.size);
  std::vector<std::uint64_t> words(wanted.size());
  const HipError code = copy_on(device_of(m), words.data(), bytes.at, words.size() * 8);
  if (code != fh::kSuccess) return done(code);
  const auto [got, want] = std::mismatch(words.begin(), words.end(), wanted.begin());
  if (got != words.end())
    return {{"status", 1}, {"message", "wrong at byte " + std::to_string((got - words.begin()) * 8)}};
  return {{"status", HB_OK}, {"bytes", bytes.size}};
}

Message poke(ActorState& state, const Message& m) {
  const auto value = static_cast<unsigned char>(number_of(m, "value"));
  return done(copy_on(device_of(m), bytes_of(state, m).at, &value, 1));
}

Message peek(ActorState& state, const Message& m) {
  const Bytes bytes = bytes_of(state, m);
  std::string got(number_of(m, "count", 1), '\0');
  if (got.size() > bytes.size) throw std::runtime_error("peek past the end");
  Message out = done(copy_on(device_of(m), got.data(), bytes.at, got.size()));
  out.emplace("hex", to_hex(got));
  out.emplace("value", static_cast<unsigned>(static_cast<unsigned char>(got[0])));
  return out;
}

// An object's first and last page are what its pattern consists of.
HipError put_pattern_at(unsigned char* at, std::uint64_t bytes, std::uint64_t number, int device) {
  std::vector<unsigned char> page(std::min(bytes, kPage), static_cast<unsigned char>(number & 0xff));
  if (bytes >= 2 * kPage)
    if (const HipError code = copy_on(device, at + bytes - kPage, page.data(), kPage); code != fh::kSuccess)
      return code;
  std::memcpy(page.data(), &number, std::min<std::size_t>(sizeof number, page.size()));
  return copy_on(device, at, page.data(), page.size());
}

// objects fds= count= bytes= [first=]: chunks numbered first, first + 1, ... of one allocation, named `fds`
Message objects(ActorState& state, const Message& m) {
  const std::string name = text_of(m, "fds", "f");
  const std::uint64_t bytes = number_of(m, "bytes", kGpuChunk);
  const std::uint64_t count = number_of(m, "count", 1);
  if (const auto old = state.memories.find(name); old != state.memories.end()) {
    hb_memory_free(old->second);
    state.memories.erase(old);
  }
  Message out = alloc(state, {{"mem", name}, {"bytes", count * bytes}, {"chunk", bytes}});
  if (number_of(out, "status") != HB_OK) return out;
  auto* const at = static_cast<unsigned char*>(hb_memory_ptr(state.memories.at(name)));
  for (std::uint64_t i = 0; i < count; ++i)
    if (const HipError code = put_pattern_at(at + i * bytes, bytes, number_of(m, "first") + i, device_of(m));
        code != fh::kSuccess)
      return done(code);
  return out;
}

// put fds= offset= bytes= number=
Message put(ActorState& state, const Message& m) {
  auto* const at = static_cast<unsigned char*>(hb_memory_ptr(named(state.memories, m, "fds", "f")));
  return done(put_pattern_at(at + number_of(m, "offset"), number_of(m, "bytes", kPage),
                             number_of(m, "number"), device_of(m)));
}

// export fds= [index= [from=] [bytes=]]: of what `objects` made, all or a part of one
Message create_export(ActorState& state, const Message& m) {
  if (!has(m, "fds")) return of_every_actor().at("export")(state, m);
  hb_memory_info info = HB_MEMORY_INFO_INIT;
  hb_memory_get_info(named(state.memories, m, "fds", "f"), &info);
  Message asked = m;
  asked.insert_or_assign("mem", text_of(m, "fds", "f"));
  if (has(m, "index"))
    asked.insert_or_assign("offset", number_of(m, "index") * info.chunk_bytes + number_of(m, "from"));
  if (has(m, "index") && !has(m, "bytes")) asked.insert_or_assign("bytes", info.chunk_bytes);
  if (!has(m, "index")) asked.erase("bytes");  // of each: all of it
  asked.erase("fds");
  asked.erase("index");
  return of_every_actor().at("export")(state, asked);
}

// append, replace, resume: of what `objects` made
Message source_verb(ActorState& state, const Message& m, const char* verb) {
  Message asked = m;
  if (has(m, "fds")) {
    asked.insert_or_assign("mem", text_of(m, "fds"));
    asked.erase("fds");
    asked.erase("bytes");  // of each: all of it
  }
  return of_every_actor().at(verb)(state, asked);
}
Message append(ActorState& state, const Message& m) { return source_verb(state, m, "append"); }
Message replace(ActorState& state, const Message& m) { return source_verb(state, m, "replace"); }
Message resume(ActorState& state, const Message& m) { return source_verb(state, m, "resume"); }

// pattern import= chunk_bytes= [first=] [from=] [count=]
Message pattern(ActorState& state, const Message& m) {
  const Bytes bytes = bytes_of(state, {{"import", text_of(m, "import", "i")}});
  const std::uint64_t size = number_of(m, "chunk_bytes", kGpuChunk);
  const std::uint64_t first = number_of(m, "first");
  const std::uint64_t from = number_of(m, "from");
  const std::uint64_t end = from + number_of(m, "count", bytes.size / size);
  for (std::uint64_t i = from; i < end && i * size < bytes.size; ++i) {
    // Both ends, put side by side, are an object of two pages.
    std::vector<unsigned char> ends(2 * kPage);
    const unsigned char* at = bytes.at + i * size;
    if (const HipError code = copy_on(device_of(m), ends.data(), at, kPage); code != fh::kSuccess)
      return done(code);
    if (const HipError code = copy_on(device_of(m), ends.data() + kPage, at + size - kPage, kPage);
        code != fh::kSuccess)
      return done(code);
    const std::string error = pattern_error(ends.data(), ends.size(), first + i);
    if (!error.empty()) return {{"status", 1}, {"message", "chunk " + std::to_string(i) + ": " + error}};
  }
  return {{"status", HB_OK}, {"chunks", bytes.size / size}};
}

// try_write import= [offset=]: a GPU that may not write faults, which is told as the CPU's signal is
Message try_write(ActorState& state, const Message& m) {
  const unsigned char byte = 0xee;
  const Bytes bytes =
      bytes_of(state, {{"import", text_of(m, "import", "i")}, {"offset", number_of(m, "offset")}});
  const HipError code = copy_on(device_of(m), bytes.at, &byte, 1);
  static_cast<void>(hip().hipGetLastError());
  return {{"status", HB_OK}, {"signal", code == fh::kIllegalAddress ? SIGSEGV : 0}};
}

}  // namespace

void add_gpu_memory_verbs(VerbTable& table) {
  table["alloc"] = alloc;
  table["fill"] = fill;
  table["check"] = check;
  table["poke"] = poke;
  table["peek"] = peek;
  table["objects"] = objects;
  table["put"] = put;
  table["export"] = create_export;
  table["append"] = append;
  table["replace"] = replace;
  table["resume"] = resume;
  table["pattern"] = pattern;
  table["try_write"] = try_write;
}

}  // namespace hb::test
