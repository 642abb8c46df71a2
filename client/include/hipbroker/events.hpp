// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// C++ over events.h: handlers are callables, what they throw comes out of the dispatching call.
#ifndef HIPBROKER_EVENTS_HPP
#define HIPBROKER_EVENTS_HPP

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "hipbroker/hipbroker.hpp"

namespace hipbroker {

namespace detail {

// Carries an exception of the handler past the C frames between; the events behind it are dropped.
template <class Handler>
struct EventTrampoline {
  hb_client* loop_of;  // nullptr: one dispatch, which ends by itself
  Handler& handler;
  std::exception_ptr thrown;

  static void call(const hb_event* event, void* userdata) {
    auto& self = *static_cast<EventTrampoline*>(userdata);
    if (self.thrown) return;
    try {
      self.handler(*event);
    } catch (...) {
      self.thrown = std::current_exception();
      if (self.loop_of != nullptr) hb_dispatch_stop(self.loop_of);
    }
  }
};

}  // namespace detail

// For poll, epoll and select alone; the client's.
inline int events_fd(const Client& client) {
  int fd = -1;
  detail::call(hb_events_fd, client.get(), &fd);
  return fd;
}

// Calls handler(const hb_event&) for everything there is to tell; how often.
template <class Handler>
std::uint64_t dispatch_events(const Client& client, Handler&& handler) {
  detail::EventTrampoline<std::remove_reference_t<Handler>> trampoline{nullptr, handler, {}};
  std::uint64_t count = 0;
  hb_error error = HB_ERROR_INIT;
  const hb_status status =
      hb_events_dispatch(client.get(), &decltype(trampoline)::call, &trampoline, &count, &error);
  if (trampoline.thrown) std::rethrow_exception(trampoline.thrown);
  if (status != HB_OK) throw Error(error);
  return count;
}

// The same until stop_dispatch() or the end of the client, or until the handler throws.
template <class Handler>
void dispatch_loop(const Client& client, Handler&& handler) {
  detail::EventTrampoline<std::remove_reference_t<Handler>> trampoline{client.get(), handler, {}};
  hb_error error = HB_ERROR_INIT;
  const hb_status status = hb_dispatch_loop(client.get(), &decltype(trampoline)::call, &trampoline, &error);
  if (trampoline.thrown) std::rethrow_exception(trampoline.thrown);
  if (status != HB_OK) throw Error(error);
}
inline void stop_dispatch(const Client& client) noexcept { hb_dispatch_stop(client.get()); }

// Who holds something; owns what its entries point to.
class Holders {
 public:
  Holders() = default;
  explicit Holders(hb_holders* holders) noexcept : holders_(holders) {}
  std::size_t size() const noexcept { return hb_holders_count(holders_.get()); }
  bool empty() const noexcept { return size() == 0; }
  const hb_held& operator[](std::size_t index) const noexcept {
    return *hb_holders_at(holders_.get(), index);
  }

 private:
  detail::Owner<hb_holders, hb_holders_free> holders_;
};

struct TakenBack {
  hb_withdrawn withdrawn = HB_WITHDRAWN_INIT;
  Holders left;  // who has not given it back
};

inline TakenBack revoke(const Client& client, const std::string& name, std::chrono::nanoseconds grace = {},
                        std::uint32_t owner_uid = HB_OWN_UID, Deadline deadline = {}) {
  TakenBack taken;
  hb_holders* left = nullptr;
  detail::call(hb_revoke, client.get(), name.c_str(), owner_uid, std::uint64_t{0},
               static_cast<std::uint64_t>(grace.count()), deadline.ns(), &taken.withdrawn, &left);
  taken.left = Holders(left);
  return taken;
}
inline TakenBack revoke(const Client& client, std::uint64_t export_id, std::chrono::nanoseconds grace = {},
                        Deadline deadline = {}) {
  TakenBack taken;
  hb_holders* left = nullptr;
  detail::call(hb_revoke, client.get(), nullptr, HB_OWN_UID, export_id,
               static_cast<std::uint64_t>(grace.count()), deadline.ns(), &taken.withdrawn, &left);
  taken.left = Holders(left);
  return taken;
}
// Withdraws, and waits so long for the holders.
inline TakenBack withdraw(const Export& exported, std::chrono::nanoseconds wait, Deadline deadline = {}) {
  TakenBack taken;
  hb_holders* left = nullptr;
  detail::call(hb_export_withdraw_wait, exported.get(), static_cast<std::uint64_t>(wait.count()),
               deadline.ns(), &taken.withdrawn, &left);
  taken.left = Holders(left);
  return taken;
}

}  // namespace hipbroker

#endif
