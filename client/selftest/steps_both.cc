// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Steps that host and GPU memory have in common: two processes and one export.
#include <unistd.h>

#include "steps.h"

namespace hb::selftest {

std::string fresh_name() {
  static int count = 0;
  return "hipbroker-selftest/" + std::to_string(::getpid()) + "/" + std::to_string(++count);
}

namespace {

Message with(Message base, std::initializer_list<std::pair<const char*, std::uint64_t>> more) {
  for (const auto& [name, value] : more) base.set(name, value);
  return base;
}

struct Shared {
  Peer exporter;
  Peer importer;
  std::string name;
};

Shared share(Lab& lab, const Kind& kind, std::uint64_t chunks) {
  Shared out{lab.start(), lab.start(), fresh_name()};
  const Message made = out.exporter.ok(
      "alloc", with(kind.alloc, {{"bytes", chunks * kind.chunk_bytes}, {"chunk", kind.chunk_bytes}}));
  if (made.number("chunks") != chunks)
    throw Failed("alloc: " + std::to_string(chunks) + " chunks were asked for, " + made.text("chunks") +
                 " made");
  out.exporter.ok("fill", {{"mem", "1"}, {"seed", "1"}});
  out.exporter.ok("export", {{"name", out.name}});
  return out;
}

Message import_of(const Shared& shared, const Kind& kind) {
  Message out = kind.import;
  out.set("name", shared.name);
  return out;
}

void leave(Shared& shared) {
  shared.importer.leave("importer");
  shared.exporter.leave("exporter");
}

void must_be(const char* what, std::uint64_t got, std::uint64_t wanted) {
  if (got == wanted) return;
  throw Failed(std::string(what) + " is " + std::to_string(got) + ", not " + std::to_string(wanted));
}

}  // namespace

void share_and_compare(Lab& lab, const Kind& kind, std::uint64_t chunks) {
  Shared shared = share(lab, kind, chunks);
  const Message imported =
      shared.importer.ok("import", with(import_of(shared, kind), {{"access", HB_ACCESS_READ_WRITE}}));
  must_be("bytes", imported.number("bytes"), chunks * kind.chunk_bytes);
  shared.importer.ok("check", {{"seed", "1"}});
  shared.importer.ok("fill", {{"seed", "2"}});
  shared.exporter.ok("check", {{"mem", "1"}, {"seed", "2"}});
  must_be("current", shared.importer.ok("current").number("current"), 1);
  shared.importer.ok("close");
  shared.exporter.ok("free");
  leave(shared);
}

void import_a_part(Lab& lab, const Kind& kind) {
  Shared shared = share(lab, kind, 3);
  // The end of the first chunk, all of the second, the start of the third.
  const std::uint64_t at = kind.chunk_bytes - 4096;
  const std::uint64_t bytes = kind.chunk_bytes + 8192;
  const Message part =
      shared.importer.ok("import", with(import_of(shared, kind), {{"offset", at}, {"bytes", bytes}}));
  must_be("bytes", part.number("bytes"), bytes);
  must_be("chunks", part.number("chunks"), 3);
  shared.importer.ok("check", with({{"seed", "1"}}, {{"offset", at}}));
  shared.importer.ok("close");
  leave(shared);
}

void exporter_is_killed(Lab& lab, const Kind& kind) {
  Shared shared = share(lab, kind, 3);
  shared.importer.ok("import", import_of(shared, kind));
  shared.importer.say("watch", {{"seed", "1"}});
  if (const Message begun = shared.importer.hear("watch"); !begun.has("watching"))
    throw Failed("watch: " + begun.text("message"));
  shared.exporter.kill();
  const Message watched = shared.importer.hear("watch");
  if (watched.number("status", 1) != 0) throw Failed("watch: " + watched.text("message"));
  const Message again = shared.importer.call("import", import_of(shared, kind));
  if (again.number("status", 1) == 0) throw Failed("the export of a killed process can still be imported");
  shared.importer.ok("close");
  shared.importer.leave("importer");
}

void exporter_withdraws(Lab& lab, const Kind& kind) {
  Shared shared = share(lab, kind, 1);
  shared.importer.ok("import", import_of(shared, kind));
  must_be("holders", shared.exporter.ok("withdraw").number("holders"), 1);
  must_be("current", shared.importer.ok("current").number("current"), 0);
  shared.importer.ok("check", {{"seed", "1"}});  // nobody unmaps an importer
  shared.importer.ok("close");
  const Message again = shared.importer.call("import", import_of(shared, kind));
  if (again.number("status", 1) == 0) throw Failed("a withdrawn export can still be imported");
  leave(shared);
}

}  // namespace hb::selftest
