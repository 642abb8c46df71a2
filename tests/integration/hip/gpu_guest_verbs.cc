// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What a program does around the library: streams that are busy or captured, a current device and a pending
// error of its own, threads, and an end that does not wait for anybody.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "hipbroker/hipbroker.hpp"
#include "integration/hip/gpu_fixture.h"
#include "integration/hip/gpu_verbs.h"

namespace hb::test {
namespace {

Message code_of(HipError code) {
  return {{"status", code == fh::kSuccess ? 0 : 1},
          {"code", code},
          {"message", std::string(hip().hipGetErrorName(code))}};
}

void* stream_of(const Message& m) {
  return reinterpret_cast<void*>(std::strtoull(text_of(m, "stream").c_str(), nullptr, 16));
}

// stream [on=DEVICE] [blocking=1]
Message make_stream(ActorState&, const Message& m) {
  void* stream = nullptr;
  int before = 0;
  static_cast<void>(hip().hipGetDevice(&before));
  static_cast<void>(hip().hipSetDevice(static_cast<int>(number_of(m, "on", kDefaultDevice))));
  Message out = code_of(hip().hipStreamCreateWithFlags(&stream, has(m, "blocking") ? 0 : 1));
  static_cast<void>(hip().hipSetDevice(before));
  char text[32];
  std::snprintf(text, sizeof text, "%p", stream);
  out.emplace("stream", text);
  return out;
}
Message drop_stream(ActorState&, const Message& m) { return code_of(hip().hipStreamDestroy(stream_of(m))); }
Message begin_capture(ActorState&, const Message& m) {
  return code_of(hip().hipStreamBeginCapture(stream_of(m), static_cast<int>(number_of(m, "mode"))));
}
Message end_capture(ActorState&, const Message& m) {
  void* graph = nullptr;
  return code_of(hip().hipStreamEndCapture(stream_of(m), &graph));
}

Message set_device(ActorState&, const Message& m) {
  return code_of(hip().hipSetDevice(static_cast<int>(number_of(m, "device"))));
}
// pend_error: something of the program's own went wrong, and it has not looked yet
Message pend_error(ActorState&, const Message&) {
  static_cast<void>(hip().hipSetDevice(99));
  return {{"status", HB_OK}};
}
Message fetch_error(ActorState&, const Message&) {
  return {{"status", HB_OK}, {"code", hip().hipGetLastError()}};
}

// control text=, and what is to be read of the fake after it. No driver call.
Message control(ActorState&, const Message& m) {
  if (has(m, "text") && hip().fake_hip_control(text_of(m, "text").c_str()) != 0)
    return {{"status", 1}, {"message", "not a control: " + text_of(m, "text")}};
  Message out{{"status", HB_OK}};
  for (const char* what :
       {"handles", "imports", "mappings", "reservations", "violations", "waiting", "null_stream"})
    out.emplace(what, hip().fake_hip_count(what));
  out.emplace("device_bytes", hip().fake_hip_device_bytes(kDefaultDevice));
  for (const char* call : {"hipMemcpy", "hipMemcpyAsync", "hipDeviceSynchronize", "hipStreamSynchronize",
                           "hipInit", "hipMemImportFromShareableHandle", "hipMemMap", "hipMemUnmap"})
    out.emplace(call, hip().fake_hip_count((std::string("calls:") + call).c_str()));
  return out;
}

const VerbTable& all_verbs() {
  static const VerbTable table = [] {
    VerbTable out;
    add_memory_verbs(out);
    add_export_verbs(out);
    add_import_verbs(out);
    add_gpu_memory_verbs(out);
    return out;
  }();
  return table;
}

// A verb in a thread of its own, with objects of its own: tables are not for two threads.
struct Task {
  ActorState state;
  Message answer;
  std::atomic<bool> done{false};
  std::thread thread;
};
std::map<std::string, std::unique_ptr<Task>>& tasks() {
  static std::map<std::string, std::unique_ptr<Task>> table;
  return table;
}
template <class Map>
void hand_over(Map& from, Map& to) {
  to.merge(from);
  from.clear();
}
template <class Map>
void hand_over(Map& from, Map& to, const std::string& name) {
  if (auto node = from.extract(name); !node.empty()) to.insert(std::move(node));
}

// begin id= do=VERB ... [device=]: what the verb is about is the thread's until `end`
Message begin(ActorState& state, const Message& m) {
  auto task = std::make_unique<Task>();
  task->state.clients = state.clients;
  hand_over(state.memories, task->state.memories, text_of(m, "mem", "m"));
  hand_over(state.imports, task->state.imports, text_of(m, "import", "i"));
  hand_over(state.exports, task->state.exports, text_of(m, "export", "e"));
  Task& one = *task;
  one.thread = std::thread([&one, m] {
    try {
      one.answer = all_verbs().at(text_of(m, "do"))(one.state, m);
    } catch (const std::exception& e) {
      one.answer = {{"status", 1}, {"message", e.what()}};
    }
    one.done = true;
  });
  tasks()[text_of(m, "id", "t")] = std::move(task);
  return {{"status", HB_OK}};
}
Message is_done(ActorState&, const Message& m) {
  return {{"status", HB_OK}, {"done", named(tasks(), m, "id", "t")->done ? 1 : 0}};
}
Message end(ActorState& state, const Message& m) {
  Task& task = *named(tasks(), m, "id", "t");
  task.thread.join();
  Message out = task.answer;
  hand_over(task.state.memories, state.memories);
  hand_over(task.state.imports, state.imports);
  hand_over(task.state.exports, state.exports);
  task.state.clients.clear();
  tasks().erase(text_of(m, "id", "t"));
  return out;
}

// together threads= name=: as many threads import the same at once; the handles are imports 0, 1, ...
Message together(ActorState& state, const Message& m) {
  const std::size_t count = number_of(m, "threads", 2);
  hb_client* const client = state.client(m);
  std::vector<hb_import*> made(count);
  std::vector<hb_status> results(count);
  std::atomic<std::size_t> ready{0};
  std::vector<std::thread> threads;
  const std::string name = text_of(m, "name");
  for (std::size_t i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      hb_import_options options = HB_IMPORT_OPTIONS_INIT;
      options.name = name.c_str();
      ++ready;
      while (ready < count) std::this_thread::yield();
      results[i] = hb_import_open(client, &options, &made[i], nullptr);
    });
  for (std::thread& thread : threads) thread.join();
  Message out{{"status", HB_OK}};
  for (std::size_t i = 0; i < count; ++i) {
    if (results[i] != HB_OK) {
      out.insert_or_assign("status", results[i]);
      continue;
    }
    state.imports[std::to_string(i)] = made[i];
    hb_import_info info = HB_IMPORT_INFO_INIT;
    hb_import_get_info(made[i], &info);
    out.emplace("ptr" + std::to_string(i), reinterpret_cast<std::uintptr_t>(info.ptr));
  }
  return out;
}

// given_back_twice name=: by owners in C++, of which each lets go twice
Message given_back_twice(ActorState& state, const Message& m) {
  hb_import_options options = HB_IMPORT_OPTIONS_INIT;
  const std::string name = text_of(m, "name");
  options.name = name.c_str();
  hb_import* made[3] = {};
  for (hb_import*& one : made)
    if (const hb_status status = hb_import_open(state.client(m), &options, &one, nullptr); status != HB_OK)
      return {{"status", status}};
  for (hb_import* one : made) {
    hipbroker::Import owner(one);
    owner = hipbroker::Import();
    owner = hipbroker::Import();
  }
  hb_import_close(nullptr);
  return {{"status", HB_OK}};
}

// One round of a thread that works on `mine` and has memory on `other`. Empty: all is as it should be.
std::string round_of(hb_client* client, int mine, int other, const std::string& name, bool pending) {
  hb_memory_options what = HB_MEMORY_OPTIONS_INIT;
  what.provider = HB_PROVIDER_HIP;
  what.bytes = 2 * kGpuChunk;
  what.chunk_bytes = kGpuChunk;
  what.device = other;
  hb_error error = HB_ERROR_INIT;
  std::string wrong;
  const auto as_before = [&](const char* after) {
    int device = -1;
    const HipError now = hip().hipPeekAtLastError();
    static_cast<void>(hip().hipGetDevice(&device));
    if (device != mine) wrong += std::string(after) + " left device " + std::to_string(device) + "; ";
    if (now != (pending ? 101 : fh::kSuccess))
      wrong += std::string(after) + " left error " + std::to_string(now) + "; ";
  };
  if (pending) static_cast<void>(hip().hipSetDevice(99));
  hb_memory* memory = nullptr;
  if (hb_memory_alloc(client, &what, &memory, &error) != HB_OK) return std::string("alloc: ") + error.message;
  as_before("hb_memory_alloc");
  hb_export_options share = HB_EXPORT_OPTIONS_INIT;
  share.name = name.c_str();
  share.ptr = hb_memory_ptr(memory);
  share.bytes = hb_memory_bytes(memory);
  hb_export* exported = nullptr;
  hb_import* imported = nullptr;
  if (hb_export_create(client, &share, &exported, &error) != HB_OK) {
    wrong += std::string("export: ") + error.message;
  } else {
    as_before("hb_export_create");
    hb_import_options take = HB_IMPORT_OPTIONS_INIT;
    take.name = name.c_str();
    if (hb_import_open(client, &take, &imported, &error) != HB_OK)
      wrong += std::string("import: ") + error.message;
    as_before("hb_import_open");
    hb_import_close(imported);
    as_before("hb_import_close");
    static_cast<void>(hb_export_withdraw(exported, HB_NO_DEADLINE, nullptr, nullptr));
    hb_export_destroy(exported);
  }
  hb_memory_free(memory);
  as_before("hb_memory_free");
  if (pending) static_cast<void>(hip().hipGetLastError());
  return wrong;
}

// at_once rounds=: a thread a device, each with memory on the next one's
Message at_once(ActorState& state, const Message& m) {
  constexpr int kDevices = 4;
  hb_client* const client = state.client(m);
  std::vector<std::string> wrong(kDevices);
  std::vector<std::thread> threads;
  for (int t = 0; t < kDevices; ++t)
    threads.emplace_back([&, t] {
      static_cast<void>(hip().hipSetDevice(t));
      for (std::uint64_t i = 0; i < number_of(m, "rounds", 1) && wrong[static_cast<std::size_t>(t)].empty();
           ++i)
        wrong[static_cast<std::size_t>(t)] =
            round_of(client, t, (t + 1) % kDevices, "at_once/" + std::to_string(t), i % 2 == 1);
    });
  for (std::thread& thread : threads) thread.join();
  std::string all;
  for (const std::string& one : wrong) all += one;
  return {{"status", all.empty() ? 0 : 1}, {"message", all}};
}

// in_child_with_client socket=: what a forked child gets that opens a client and asks for GPU memory
Message in_child_with_client(ActorState&, const Message& m) {
  auto [mine, theirs] = channel_pair();
  const pid_t child = ::fork();
  if (child == 0) {
    hb_client_options options = HB_CLIENT_OPTIONS_INIT;
    const std::string socket = text_of(m, "socket");
    options.socket = socket.c_str();
    hb_client* client = nullptr;
    hb_memory* memory = nullptr;
    hb_memory_options what = HB_MEMORY_OPTIONS_INIT;
    what.provider = HB_PROVIDER_HIP;
    what.bytes = 1;
    hb_error error = HB_ERROR_INIT;
    hb_status status = hb_client_open(&options, &client, &error);
    if (status == HB_OK) status = hb_memory_alloc(client, &what, &memory, &error);
    send_message(theirs.get(), outcome(status, error));
    ::_exit(0);
  }
  theirs.reset();
  auto answer = receive_message(mine.get(), kWatchdogNs);
  if (!answer) ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return answer.value_or(Message{{"status", 1}, {"message", "the child did not answer"}});
}

// Destroyed after main(), among the last: it is older than the library's first use.
struct Left {
  ActorState state;
} left;

// exit how=exit|static: the process ends with everything alive; a static object frees it then, or nobody
Message end_process(ActorState& state, const Message& m) {
  if (text_of(m, "how") == "static") {
    hand_over(state.imports, left.state.imports);
    hand_over(state.exports, left.state.exports);
    hand_over(state.memories, left.state.memories);
    hand_over(state.clients, left.state.clients);
  }
  std::exit(0);
}

}  // namespace

void add_gpu_guest_verbs(VerbTable& table) {
  table["stream"] = make_stream;
  table["drop_stream"] = drop_stream;
  table["begin_capture"] = begin_capture;
  table["end_capture"] = end_capture;
  table["set_device"] = set_device;
  table["pend_error"] = pend_error;
  table["fetch_error"] = fetch_error;
  table["control"] = control;
  table["begin"] = begin;
  table["is_done"] = is_done;
  table["end"] = end;
  table["together"] = together;
  table["given_back_twice"] = given_back_twice;
  table["at_once"] = at_once;
  table["exit"] = end_process;
  table["in_child_with_client"] = in_child_with_client;
}

}  // namespace hb::test
