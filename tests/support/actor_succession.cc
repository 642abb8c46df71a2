// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Verbs about what outlives its owner, tickets, and steps.
#include <poll.h>

#include <memory>
#include <thread>

#include "support/actor_verbs.h"
#include "support/memfd.h"

namespace hb::test {
namespace {

hb_key key_of(const Message& m) {
  hb_key key{};
  if (hb_key_from_text(text_of(m, "key").c_str(), &key, nullptr) != HB_OK)
    throw std::runtime_error("not a key: " + text_of(m, "key"));
  return key;
}

// claim [export=] name=|key= [lifetime=] [linger_ms=]
Message claim(ActorState& state, const Message& m) {
  hb_claim_options options = HB_CLAIM_OPTIONS_INIT;
  const std::string name = text_of(m, "name");
  hb_key key{};
  if (has(m, "name")) options.name = name.c_str();
  if (has(m, "key")) {
    key = key_of(m);
    options.key = &key;
  }
  options.lifetime = static_cast<std::uint32_t>(number_of(m, "lifetime"));
  options.linger_ns = number_of(m, "linger_ms") * 1'000'000;
  options.deadline_ns = deadline_of(m);
  hb_error error = HB_ERROR_INIT;
  hb_export* made = nullptr;
  const hb_status status = hb_claim(state.client(m), &options, &made, &error);
  Message out = outcome(status, error);
  if (status != HB_OK) return out;
  state.exports[text_of(m, "export", "e")] = made;
  hb_export_info info = HB_EXPORT_INFO_INIT;
  hb_export_get_info(made, &info);
  out.emplace("export_id", info.export_id);
  out.emplace("generation", info.generation);
  out.emplace("bytes", info.bytes);
  out.emplace("key", key_text(info.key));
  return out;
}

// ticket export=|import= [offset=] [bytes=] [access=] [ttl_ms=]
Message ticket(ActorState& state, const Message& m) {
  const std::uint64_t offset = number_of(m, "offset");
  const std::uint64_t bytes = number_of(m, "bytes", HB_WHOLE);
  const auto access = static_cast<std::uint32_t>(number_of(m, "access", HB_ACCESS_READ));
  const std::uint64_t ttl = number_of(m, "ttl_ms", 60'000) * 1'000'000;
  hb_error error = HB_ERROR_INIT;
  hb_key key{};
  const hb_status status = has(m, "import")
                               ? hb_import_ticket(named(state.imports, m, "import", "i"), offset, bytes,
                                                  access, ttl, deadline_of(m), &key, &error)
                               : hb_export_ticket(named(state.exports, m, "export", "e"), offset, bytes,
                                                  access, ttl, deadline_of(m), &key, &error);
  Message out = outcome(status, error);
  if (status != HB_OK) return out;
  hb_key_info info = HB_KEY_INFO_INIT;
  hb_key_inspect(&key, &info, nullptr);
  out.emplace("key", key_text(key));
  out.emplace("kind", info.kind);
  out.emplace("offset", info.offset);
  out.emplace("length", info.length);
  return out;
}

Message drop_ticket(ActorState& state, const Message& m) {
  const hb_key key = key_of(m);
  hb_error error = HB_ERROR_INIT;
  return outcome(hb_ticket_drop(state.client(m), &key, deadline_of(m), &error), error);
}

// ---- steps -------------------------------------------------------------------------------------

Message publish(ActorState& state, const Message& m) {
  hb_error error = HB_ERROR_INIT;
  return outcome(
      hb_export_publish(named(state.exports, m, "export", "e"), number_of(m, "step"), deadline_of(m), &error),
      error);
}

Message wait_step(ActorState& state, const Message& m) {
  hb_error error = HB_ERROR_INIT;
  std::uint64_t reached = 0;
  Message out = outcome(hb_import_wait_step(named(state.imports, m, "import", "i"), number_of(m, "step"),
                                            deadline_of(m), &reached, &error),
                        error);
  out.emplace("reached", reached);
  return out;
}

Message ack_step(ActorState& state, const Message& m) {
  hb_error error = HB_ERROR_INIT;
  return outcome(hb_import_ack_step(named(state.imports, m, "import", "i"), number_of(m, "step"), &error),
                 error);
}

std::string pids_of(const hb_held* list, std::size_t count) {
  std::string pids;
  for (std::size_t i = 0; i < count; ++i) pids += (i == 0 ? "" : " ") + std::to_string(list[i].process.pid);
  return pids;
}

// wait_acks [export=] step= [timeout_ms=]: acked, missing and left as pids
Message wait_acks(ActorState& state, const Message& m) {
  hb_error error = HB_ERROR_INIT;
  hb_acks* acks = nullptr;
  const hb_status status = hb_export_wait_acks(named(state.exports, m, "export", "e"), number_of(m, "step"),
                                               deadline_of(m), &acks, &error);
  Message out = outcome(status, error);
  if (status != HB_OK) return out;
  hb_acks_info info = HB_ACKS_INFO_INIT;
  hb_acks_get_info(acks, &info);
  out.emplace("acked", info.acked);
  out.emplace("missing", pids_of(info.missing, info.missing_count));
  out.emplace("left", pids_of(info.left, info.left_count));
  out.emplace("left_command", info.left_count != 0 ? info.left[0].process.command : "");
  hb_acks_destroy(acks);
  return out;
}

// lead [export=] steps= [timeout_ms=]: publishes 1 to `steps` and waits for all at each
Message lead(ActorState& state, const Message& m) {
  hb_export* const exported = named(state.exports, m, "export", "e");
  hb_error error = HB_ERROR_INIT;
  for (std::uint64_t step = 1; step <= number_of(m, "steps"); ++step) {
    if (hb_export_publish(exported, step, deadline_of(m), &error) != HB_OK)
      return outcome(error.status, error);
    hb_acks* acks = nullptr;
    if (hb_export_wait_acks(exported, step, deadline_of(m), &acks, &error) != HB_OK)
      return outcome(error.status, error);
    hb_acks_info info = HB_ACKS_INFO_INIT;
    hb_acks_get_info(acks, &info);
    const bool all = info.missing_count == 0 && info.left_count == 0 && info.acked == number_of(m, "count");
    const std::string message = "step " + std::to_string(step) + ": " + std::to_string(info.acked) +
                                " acked, missing " + pids_of(info.missing, info.missing_count);
    hb_acks_destroy(acks);
    if (!all) return {{"status", 1}, {"message", message}};
  }
  return {{"status", HB_OK}};
}

// follow [import=] steps=: waits for 1 to `steps` one by one and acknowledges each
Message follow(ActorState& state, const Message& m) {
  hb_import* const imported = named(state.imports, m, "import", "i");
  hb_error error = HB_ERROR_INIT;
  for (std::uint64_t step = 1; step <= number_of(m, "steps"); ++step) {
    std::uint64_t reached = 0;
    if (hb_import_wait_step(imported, step, deadline_of(m), &reached, &error) != HB_OK)
      return outcome(error.status, error);
    if (reached != step) return {{"status", 1}, {"message", "reached " + std::to_string(reached)}};
    if (hb_import_ack_step(imported, step, &error) != HB_OK) return outcome(error.status, error);
  }
  return {{"status", HB_OK}};
}

// wait_step_beside [import=] step= rounds=: a thread waits; meanwhile this one asks the daemon and imports
// anew, and only then publishes with export=.
Message wait_step_beside(ActorState& state, const Message& m) {
  Message waited;
  std::thread waiter([&] { waited = wait_step(state, m); });
  Message out{{"status", HB_OK}};
  hb_error error = HB_ERROR_INIT;
  for (std::uint64_t i = 0; i < number_of(m, "rounds") && number_of(out, "status") == HB_OK; ++i) {
    out = outcome(hb_ping(state.client(m), deadline_of(m), nullptr, &error), error);
    hb_import_options options = HB_IMPORT_OPTIONS_INIT;
    const std::string name = text_of(m, "name");
    options.name = name.c_str();
    options.deadline_ns = deadline_of(m);
    hb_handles* handles = nullptr;
    if (hb_handles_acquire(state.client(m), &options, &handles, &error) != HB_OK)
      out = outcome(error.status, error);
    hb_handles_release(handles);
  }
  if (number_of(out, "status") == HB_OK) out = publish(state, m);
  waiter.join();
  return number_of(out, "status") == HB_OK ? waited : out;
}

// ---- what is told ------------------------------------------------------------------------------

void note_event(const hb_event* event, void* userdata) {
  auto& names = *static_cast<std::string*>(userdata);
  names += (names.empty() ? "" : " ") + std::string(hb_event_name(event->kind));
}

// told [timeout_ms=]: waits for something to be told; the names of all of it
Message told(ActorState& state, const Message& m) {
  hb_error error = HB_ERROR_INIT;
  int fd = -1;
  if (hb_events_fd(state.client(m), &fd, &error) != HB_OK) return outcome(error.status, error);
  std::string names;
  std::uint64_t count = 0;
  const std::uint64_t deadline = now_ns() + number_of(m, "timeout_ms", 10'000) * 1'000'000;
  while (count == 0 && now_ns() < deadline) {
    if (!wait_readable(fd, deadline - now_ns())) break;
    if (hb_events_dispatch(state.client(m), note_event, &names, &count, &error) != HB_OK)
      return outcome(error.status, error);
  }
  return {{"status", HB_OK}, {"events", names}};
}

// ---- races -------------------------------------------------------------------------------------

// consume name= chunks=: imports the name again and again until its metadata says "last". The run number of
// an export is its metadata, and its objects are numbered run * chunks and up.
Message consume(ActorState& state, const Message& m) {
  const std::uint64_t chunks = number_of(m, "chunks");
  const std::string name = text_of(m, "name");
  std::uint64_t good = 0;
  std::uint64_t refused = 0;
  for (;;) {
    hb_import_options options = HB_IMPORT_OPTIONS_INIT;
    options.name = name.c_str();
    options.deadline_ns = deadline_of(m);
    hb_error error = HB_ERROR_INIT;
    hb_import* imported = nullptr;
    const hb_status status = hb_import_open(state.client(m), &options, &imported, &error);
    if (status == HB_NOT_FOUND || status == HB_GONE || status == HB_STALE) {
      ++refused;
      continue;
    }
    if (status != HB_OK) return outcome(status, error);
    hb_import_info info = HB_IMPORT_INFO_INIT;
    hb_import_get_info(imported, &info);
    const std::string run(static_cast<const char*>(info.metadata), info.metadata_bytes);
    std::string wrong;
    const std::uint64_t first = run == "last" ? 0 : std::strtoull(run.c_str(), nullptr, 10) * chunks;
    for (std::uint64_t i = 0; i < chunks && wrong.empty(); ++i)
      wrong = pattern_error(static_cast<const char*>(info.ptr) + i * kPage, kPage, first + i);
    hb_import_close(imported);
    if (!wrong.empty()) return {{"status", 1}, {"message", "run " + run + ": " + wrong}};
    ++good;
    if (run == "last") break;
  }
  return {{"status", HB_OK}, {"good", good}, {"refused", refused}};
}

}  // namespace

void add_succession_verbs(VerbTable& table) {
  table["claim"] = claim;
  table["ticket"] = ticket;
  table["drop_ticket"] = drop_ticket;
  table["publish"] = publish;
  table["wait_step"] = wait_step;
  table["ack_step"] = ack_step;
  table["wait_acks"] = wait_acks;
  table["lead"] = lead;
  table["follow"] = follow;
  table["wait_step_beside"] = wait_step_beside;
  table["told"] = told;
  table["consume"] = consume;
}

}  // namespace hb::test
