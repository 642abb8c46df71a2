// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Verbs about groups. What a member's bytes are, the verbs about memory tell by ptr= and size=.
#include <sstream>

#include "support/actor_verbs.h"

namespace hb::test {
namespace {

void describe_members(const hb_group* group, Message& out) {
  for (std::uint32_t rank = 0; rank < hb_group_world(group); ++rank) {
    hb_group_member member = HB_GROUP_MEMBER_INIT;
    if (hb_group_get_member(group, rank, &member, nullptr) != HB_OK) continue;
    const std::string number = std::to_string(rank);
    out.emplace(number + ".ptr", reinterpret_cast<std::uintptr_t>(member.ptr));
    out.emplace(number + ".bytes", member.bytes);
    out.emplace(number + ".pid", member.pid);
    out.emplace(number + ".export_id", member.export_id);
    out.emplace(number + ".import", member.imported != nullptr ? 1 : 0);
  }
}

// group_join [group=] name= rank= world= [attempt=] (export= | mem= [max=]) [access=] [agreement=]
//   [any_layout=] [flat=] [base=] [bases="0 4096 ..."] [stride=] [reserve=] [host=] [timeout_ms=]
Message join(ActorState& state, const Message& m) {
  hb_group_options options = HB_GROUP_OPTIONS_INIT;
  const std::string name = text_of(m, "name");
  options.name = name.c_str();
  options.rank = static_cast<std::uint32_t>(number_of(m, "rank"));
  options.world = static_cast<std::uint32_t>(number_of(m, "world"));
  options.attempt = number_of(m, "attempt");
  if (has(m, "mem")) {
    hb_memory* const memory = named(state.memories, m, "mem", "m");
    options.ptr = hb_memory_ptr(memory);
    options.bytes = number_of(m, "bytes", hb_memory_bytes(memory));
    options.max_bytes = number_of(m, "max");
  } else {
    options.exported = named(state.exports, m, "export", "e");
  }
  options.access = static_cast<std::uint32_t>(number_of(m, "access", HB_ACCESS_READ_WRITE));
  const std::string agreement = text_of(m, "agreement");
  options.agreement = agreement.data();
  options.agreement_bytes = agreement.size();
  options.any_layout = static_cast<int>(number_of(m, "any_layout"));
  options.layout = has(m, "flat") ? HB_GROUP_FLAT : HB_GROUP_AT;
  options.base = reinterpret_cast<void*>(number_of(m, "base"));
  std::vector<void*> bases;
  std::istringstream in(text_of(m, "bases"));
  for (std::uint64_t base = 0; in >> base;) bases.push_back(reinterpret_cast<void*>(base));
  if (!bases.empty()) options.bases = bases.data();
  options.stride = number_of(m, "stride");
  options.reserve_bytes = number_of(m, "reserve");
  options.host_access = static_cast<std::uint32_t>(number_of(m, "host"));
  options.deadline_ns = deadline_of(m);
  hb_error error = HB_ERROR_INIT;
  hb_group* made = nullptr;
  Message out = outcome(hb_group_join(state.client(m), &options, &made, &error), error);
  if (made == nullptr) return out;
  state.groups[text_of(m, "group", "g")] = made;
  describe_members(made, out);
  return out;
}

Message members(ActorState& state, const Message& m) {
  Message out{{"status", HB_OK}};
  describe_members(named(state.groups, m, "group", "g"), out);
  return out;
}

// group_append [group=] mem= offset= [bytes=]: from there to the end of the memory
Message append(ActorState& state, const Message& m) {
  hb_group* const group = named(state.groups, m, "group", "g");
  hb_source source = HB_SOURCE_INIT;
  const Bytes bytes = bytes_of(state, m);
  source.ptr = bytes.at;
  source.bytes = number_of(m, "bytes", bytes.size);
  hb_error error = HB_ERROR_INIT;
  Message out = outcome(hb_group_append(group, &source, deadline_of(m), &error), error);
  describe_members(group, out);
  return out;
}

Message check(ActorState& state, const Message& m) {
  hb_error error = HB_ERROR_INIT;
  return outcome(hb_group_check(named(state.groups, m, "group", "g"), deadline_of(m), &error), error);
}

Message leave(ActorState& state, const Message& m) {
  hb_group_leave(named(state.groups, m, "group", "g"));
  state.groups.erase(text_of(m, "group", "g"));
  return {{"status", HB_OK}};
}

}  // namespace

void add_group_verbs(VerbTable& table) {
  table["group_join"] = join;
  table["group_members"] = members;
  table["group_append"] = append;
  table["group_check"] = check;
  table["group_leave"] = leave;
}

}  // namespace hb::test
