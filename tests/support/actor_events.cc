// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Verbs about events, and about taking back.
#include "support/actor_events.h"

#include <poll.h>

#include <chrono>
#include <sstream>

#include "support/actor_verbs.h"

namespace hb::test {

namespace {

bool is_end(const hb_event& event) {
  return event.kind == HB_EVENT_WITHDRAWN || event.kind == HB_EVENT_REVOKED || event.kind == HB_EVENT_GONE ||
         event.kind == HB_EVENT_OWNER_DIED;
}

}  // namespace

Listener::Listener(ActorState& state, hb_client* client, Message how)
    : state_(state), client_(client), how_(std::move(how)) {}

Listener::~Listener() {
  static_cast<void>(stop());
  forget_closed();
}

void Listener::start() {
  thread_ = std::thread([this] {
    hb_error error = HB_ERROR_INIT;
    ended_ = hb_dispatch_loop(client_, on_event, this, &error);
    const std::lock_guard guard(lock_);
    more_.notify_all();
  });
}

hb_status Listener::stop() {
  if (thread_.joinable()) hb_dispatch_stop(client_);
  return join();
}

hb_status Listener::join() {
  if (thread_.joinable()) thread_.join();
  return ended_;
}

hb_status Listener::dispatch(std::uint64_t* count, hb_error* error) {
  return hb_events_dispatch(client_, on_event, this, count, error);
}

void Listener::on_event(const hb_event* event, void* userdata) {
  static_cast<Listener*>(userdata)->hear(*event);
}

// How it was started says what to do: close=1 gives back what ended, new.verb= and the like is done when
// there is a session again, stop=KIND ends the loop.
void Listener::hear(const hb_event& event) {
  std::string again;
  if (event.kind == HB_EVENT_SESSION_NEW && has(how_, "new.verb")) {
    Message arguments;
    for (const auto& [key, value] : how_)
      if (key.starts_with("new.")) arguments.emplace(key.substr(4), value);
    const Message answer = verbs_of_this_actor().at(text_of(how_, "new.verb"))(state_, arguments);
    again = "status=" + text_of(answer, "status");
  }
  if (text_of(how_, "stop") == hb_event_name(event.kind)) hb_dispatch_stop(client_);
  const bool close = has(how_, "close") && event.imported != nullptr && is_end(event);
  if (close) hb_import_close(event.imported);
  const std::lock_guard guard(lock_);
  if (close) closed_.push_back(event.imported);
  events_.push_back(event);
  again_.push_back(again);
  more_.notify_all();
}

bool Listener::wait_for(std::size_t count) {
  std::unique_lock lock(lock_);
  return more_.wait_for(lock, std::chrono::nanoseconds(kWatchdogNs), [&] { return events_.size() >= count; });
}

std::string Listener::heard() {
  name_imports();
  forget_closed();
  const std::lock_guard guard(lock_);
  std::ostringstream out;
  for (std::size_t i = 0; i < events_.size(); ++i)
    out << (i == 0 ? "" : "\n") << hb_event_name(events_[i].kind) << ' ' << names_[i] << ' '
        << events_[i].layout_version << ' ' << events_[i].bytes;
  return out.str();
}

// Here and not on the loop's thread: the table is this thread's.
void Listener::name_imports() {
  const std::lock_guard guard(lock_);
  for (std::size_t i = names_.size(); i < events_.size(); ++i) {
    std::string name = again_[i].empty() ? "-" : again_[i];
    for (const auto& [known, imported] : state_.imports)
      if (imported == events_[i].imported) name = known;
    names_.push_back(name);
  }
}

void Listener::forget_closed() {
  const std::lock_guard guard(lock_);
  for (hb_import* const gone : closed_)
    std::erase_if(state_.imports, [&](const auto& entry) { return entry.second == gone; });
  closed_.clear();
}

namespace {

Listener& listener_of(ActorState& state, const Message& m) {
  auto& kept = state.listeners[text_of(m, "client", "c")];
  if (kept == nullptr) kept = std::make_unique<Listener>(state, state.client(m), m);
  return *kept;
}

// listen [client=] [close=1] [stop=KIND] [new.verb= new.ARGUMENT= ...]: a loop on a thread of its own. Until
// it is told to heard or unlisten, no import may be opened or closed elsewhere.
Message listen(ActorState& state, const Message& m) {
  state.listeners[text_of(m, "client", "c")] = std::make_unique<Listener>(state, state.client(m), m);
  listener_of(state, m).start();
  return {{"status", HB_OK}};
}

// heard [count=]: waits for so many
Message heard(ActorState& state, const Message& m) {
  Listener& listener = listener_of(state, m);
  if (!listener.wait_for(number_of(m, "count")))
    return {{"status", 1}, {"message", "heard only: " + listener.heard()}};
  return {{"status", HB_OK}, {"events", listener.heard()}};
}

Message unlisten(ActorState& state, const Message& m) {
  Listener& listener = listener_of(state, m);
  const hb_status status = listener.stop();
  Message out{{"status", status}, {"events", listener.heard()}};
  state.listeners.erase(text_of(m, "client", "c"));
  return out;
}

// events_fd: number, and whether it is readable
Message events_fd(ActorState& state, const Message& m) {
  hb_error error = HB_ERROR_INIT;
  int fd = -1;
  Message out = outcome(hb_events_fd(state.client(m), &fd, &error), error);
  pollfd poller{fd, POLLIN, 0};
  out.emplace("fd", fd);
  out.emplace("readable", ::poll(&poller, 1, static_cast<int>(number_of(m, "wait_ms"))));
  return out;
}

// dispatch [count=]: polls and dispatches until so many came; without, once
Message dispatch(ActorState& state, const Message& m) {
  Listener& listener = listener_of(state, m);
  hb_error error = HB_ERROR_INIT;
  int fd = -1;
  hb_status status = hb_events_fd(state.client(m), &fd, &error);
  std::uint64_t all = 0;
  while (status == HB_OK) {
    std::uint64_t count = 0;
    status = listener.dispatch(&count, &error);
    all += count;
    if (all >= number_of(m, "count") || !wait_readable(fd)) break;
  }
  Message out = outcome(status, error);
  out.emplace("count", all);
  out.emplace("events", listener.heard());
  return out;
}

void describe_left(const hb_withdrawn& withdrawn, hb_holders* left, Message& out) {
  out.emplace("exports", withdrawn.exports);
  out.emplace("holders", withdrawn.holders);
  std::string pids;
  for (std::size_t i = 0; i < hb_holders_count(left); ++i)
    pids += (i == 0 ? "" : " ") + std::to_string(hb_holders_at(left, i)->process.pid);
  out.emplace("left", pids);
  hb_holders_free(left);
}

// revoke name=|id= [owner=] [grace_ms=]
Message revoke(ActorState& state, const Message& m) {
  hb_error error = HB_ERROR_INIT;
  hb_withdrawn withdrawn = HB_WITHDRAWN_INIT;
  hb_holders* left = nullptr;
  const std::string name = text_of(m, "name");
  Message out =
      outcome(hb_revoke(state.client(m), has(m, "name") ? name.c_str() : nullptr,
                        static_cast<std::uint32_t>(number_of(m, "owner", HB_OWN_UID)), number_of(m, "id"),
                        number_of(m, "grace_ms") * 1'000'000, deadline_of(m), &withdrawn, &left, &error),
              error);
  describe_left(withdrawn, left, out);
  return out;
}

// withdraw_wait export= [wait_ms=]
Message withdraw_wait(ActorState& state, const Message& m) {
  hb_error error = HB_ERROR_INIT;
  hb_withdrawn withdrawn = HB_WITHDRAWN_INIT;
  hb_holders* left = nullptr;
  Message out = outcome(
      hb_export_withdraw_wait(named(state.exports, m, "export", "e"), number_of(m, "wait_ms") * 1'000'000,
                              deadline_of(m), &withdrawn, &left, &error),
      error);
  describe_left(withdrawn, left, out);
  return out;
}

}  // namespace

void add_event_verbs(VerbTable& table) {
  table["listen"] = listen;
  table["heard"] = heard;
  table["unlisten"] = unlisten;
  table["events_fd"] = events_fd;
  table["dispatch"] = dispatch;
  table["revoke"] = revoke;
  table["withdraw_wait"] = withdraw_wait;
}

}  // namespace hb::test
