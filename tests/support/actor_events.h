// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What an actor heard of its client's events, by a loop on a thread of its own or by dispatching itself.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "hipbroker/hipbroker.h"
#include "support/channel.h"

namespace hb::test {

struct ActorState;

class Listener {
 public:
  Listener(ActorState& state, hb_client* client, Message how);
  ~Listener();  // stops the loop
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  void start();
  // The loop's status.
  hb_status stop();
  // The same where something else ends the loop.
  hb_status join();
  hb_status dispatch(std::uint64_t* count, hb_error* error);
  // Waits until so many events have been heard; false at the watchdog's time.
  bool wait_for(std::size_t count);
  // All so far: "withdrawn i 1 0", kind, import's name ("-" none), layout version, bytes, one a line.
  std::string heard();

 private:
  static void on_event(const hb_event* event, void* userdata);
  void hear(const hb_event& event);
  void name_imports();
  void forget_closed();

  ActorState& state_;
  hb_client* client_;
  Message how_;
  std::thread thread_;
  hb_status ended_ = HB_OK;
  std::mutex lock_;
  std::condition_variable more_;
  std::vector<hb_event> events_;
  std::vector<std::string> again_;  // of each event, what came of new.verb=
  std::vector<std::string> names_;  // of each that was told, its import
  std::vector<hb_import*> closed_;
};

}  // namespace hb::test
