// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The GPU actor's streams and events, and memory that is given back when an event is done.
#include <map>

#include "integration/hip/gpu_verbs.h"

namespace hb::test {
namespace {

struct Async {
  std::map<std::string, void*> streams;
  std::map<std::string, void*> events;
};

Async& async() {
  static Async made;
  return made;
}

void* event_of(const Message& m) {
  const std::string name = text_of(m, "event");
  static int other = 0;
  if (name == "null") return nullptr;
  if (name == "none") return &other;
  return async().events.at(name);
}

std::string hex(const void* word) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", word);
  return text;
}

// named_stream stream= on=DEVICE: a new one
Message named_stream(ActorState&, const Message& m) {
  int before = 0;
  static_cast<void>(hip().hipGetDevice(&before));
  static_cast<void>(hip().hipSetDevice(static_cast<int>(number_of(m, "on"))));
  void* made = nullptr;
  const HipError code = hip().hipStreamCreateWithFlags(&made, 1);
  static_cast<void>(hip().hipSetDevice(before));
  async().streams[text_of(m, "stream")] = made;
  return {{"status", code == fh::kSuccess ? HB_OK : 1}};
}

// work stream= busy=0|1: whether the stream has work that does not end
Message work(ActorState&, const Message& m) {
  const std::string text =
      (number_of(m, "busy") != 0 ? "busy=" : "idle=") + hex(async().streams.at(text_of(m, "stream")));
  return {{"status", hip().fake_hip_control(text.c_str()) == 0 ? HB_OK : 1}};
}

// capture stream= end=0|1
Message capture(ActorState&, const Message& m) {
  void* const on = async().streams.at(text_of(m, "stream"));
  void* graph = nullptr;
  const HipError code = number_of(m, "end") != 0 ? hip().hipStreamEndCapture(on, &graph)
                                                 : hip().hipStreamBeginCapture(on, fh::kCaptureGlobal);
  return {{"status", code == fh::kSuccess ? HB_OK : 1}, {"message", "HIP error " + std::to_string(code)}};
}

// record event= stream=: made at the first time
Message record(ActorState&, const Message& m) {
  void*& event = async().events[text_of(m, "event")];
  if (event == nullptr && hip().hipEventCreateWithFlags(&event, 0) != fh::kSuccess) return {{"status", 1}};
  const HipError code = hip().hipEventRecord(event, async().streams.at(text_of(m, "stream")));
  return {{"status", code == fh::kSuccess ? HB_OK : 1}};
}

// drop_event event=
Message drop_event(ActorState&, const Message& m) {
  const auto found = async().events.find(text_of(m, "event"));
  const HipError code = hip().hipEventDestroy(found->second);
  async().events.erase(found);
  return {{"status", code == fh::kSuccess ? HB_OK : 1}};
}

// drop_streams: all of them, and the events
Message drop_streams(ActorState&, const Message&) {
  for (const auto& [name, event] : async().events) static_cast<void>(hip().hipEventDestroy(event));
  for (const auto& [name, one] : async().streams) static_cast<void>(hip().hipStreamDestroy(one));
  async() = {};
  return {{"status", HB_OK}};
}

// unmap_when import= event=NAME|null|none
Message unmap_when(ActorState& state, const Message& m) {
  hb_error error = HB_ERROR_INIT;
  const hb_status status = hb_unmap_when(named(state.imports, m, "import", "i"), event_of(m), &error);
  if (status == HB_OK) state.imports.erase(text_of(m, "import", "i"));
  return outcome(status, error);
}

// free_when mem= event=NAME|null|none
Message free_when(ActorState& state, const Message& m) {
  hb_error error = HB_ERROR_INIT;
  const hb_status status = hb_free_when(named(state.memories, m, "mem", "m"), event_of(m), &error);
  if (status == HB_OK) state.memories.erase(text_of(m, "mem", "m"));
  return outcome(status, error);
}

// reap
Message reap(ActorState&, const Message&) {
  hb_error error = HB_ERROR_INIT;
  std::uint64_t waiting = 0;
  Message out = outcome(hb_reap(&waiting, &error), error);
  out.emplace("waiting", waiting);
  return out;
}

}  // namespace

void add_async_verbs(VerbTable& table) {
  table["named_stream"] = named_stream;
  table["work"] = work;
  table["capture"] = capture;
  table["record"] = record;
  table["drop_event"] = drop_event;
  table["drop_streams"] = drop_streams;
  table["unmap_when"] = unmap_when;
  table["free_when"] = free_when;
  table["reap"] = reap;
}

}  // namespace hb::test
