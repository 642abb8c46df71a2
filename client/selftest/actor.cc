// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "actor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>

#include <cstring>
#include <functional>
#include <vector>

#include "gpu_copy.h"
#include "hip_calls.h"
#include "hipbroker/hipbroker.h"
#include "message.h"
#include "program_memory.h"

namespace hb::selftest {
namespace {

constexpr int kConductor = 3;
constexpr std::uint64_t kWaitNs = 8'000'000'000;  // less than the conductor waits: this side knows more

using Bytes = std::vector<unsigned char>;

// What is written at `offset` of an export.
Bytes pattern(std::uint64_t seed, std::uint64_t offset, std::size_t bytes) {
  Bytes out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::uint64_t at = offset + i;
    out[i] = static_cast<unsigned char>(at * 31 + (at >> 12) + seed * 17);
  }
  return out;
}

class Actor {
 public:
  explicit Actor(UniqueFd conductor) : conductor_(std::move(conductor)) {}
  ~Actor() {
    hb_import_close(import_);
    hb_export_destroy(export_);
    hb_memory_free(memory_);
    hb_client_close(client_);
  }
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;

  int run() {
    while (const auto asked = receive_message(conductor_, HB_NO_DEADLINE)) {
      Message answer;
      const std::string verb = asked->text("verb");
      const auto found = verbs_.find(verb);
      if (found == verbs_.end())
        answer = failed("unknown verb " + verb);
      else
        answer = (this->*found->second)(*asked);
      if (!send_message(conductor_, answer)) break;
    }
    return 0;
  }

 private:
  using Verb = Message (Actor::*)(const Message&);

  static Message failed(const std::string& message) {
    Message out;
    out.set("status", 1);
    out.set("message", message);
    return out;
  }
  Message outcome(hb_status status) const {
    Message out;
    out.set("status", std::uint64_t{0});
    if (status == HB_OK) return out;
    out = failed(std::string(hb_status_name(status)) + ": " + error_.message);
    out.set("code", hb_status_name(status));
    return out;
  }
  Message outcome(const std::string& wrong) const { return wrong.empty() ? outcome(HB_OK) : failed(wrong); }

  Message open(const Message& m) {
    hb_client_options options = HB_CLIENT_OPTIONS_INIT;
    const std::string socket = m.text("socket");
    options.socket = socket.c_str();
    options.deadline_ns = hb_deadline_in(kWaitNs);
    return outcome(hb_client_open(&options, &client_, &error_));
  }

  Message alloc(const Message& m) {
    hb_memory_options options = HB_MEMORY_OPTIONS_INIT;
    options.bytes = m.number("bytes");
    options.chunk_bytes = m.number("chunk");
    if (m.has("gpu")) {
      options.provider = HB_PROVIDER_HIP;
      options.device = static_cast<std::int32_t>(m.number("gpu"));
      options.host_access = static_cast<std::uint32_t>(m.number("host"));
    }
    Message out = outcome(hb_memory_alloc(client_, &options, &memory_, &error_));
    if (memory_ == nullptr) return out;
    hb_memory_info info = HB_MEMORY_INFO_INIT;
    hb_memory_get_info(memory_, &info);
    memory_gpu_ = m.has("gpu") ? static_cast<int>(m.number("gpu")) : kCpu;
    out.set("host_granted", static_cast<std::uint64_t>(info.host_granted));
    out.set("chunks", info.chunks);
    return out;
  }

  Message make(const Message& m) {
    return outcome(program_.make(m.text("how"), static_cast<int>(m.number("gpu"))));
  }

  struct Place {
    char* at;
    std::size_t bytes;
    int gpu;
  };
  Place place(const Message& m) const {
    if (m.has("mem"))
      return {static_cast<char*>(hb_memory_ptr(memory_)), hb_memory_bytes(memory_), memory_gpu_};
    if (m.has("program")) return {program_.at(), program_.bytes(), program_.device()};
    hb_import_info info = HB_IMPORT_INFO_INIT;
    hb_import_get_info(import_, &info);
    return {static_cast<char*>(info.ptr), info.bytes, import_gpu_};
  }

  Message fill(const Message& m) {
    const Place to = place(m);
    const Bytes bytes = pattern(m.number("seed"), m.number("offset"), to.bytes);
    if (to.gpu == kCpu) {
      std::memcpy(to.at, bytes.data(), bytes.size());
      return outcome(HB_OK);
    }
    const std::string wrong = gpu_copy(to.gpu, Direction::kToGpu, to.at, bytes.data(), bytes.size());
    return wrong.empty() ? outcome(HB_OK) : failed("writing by the GPU: " + wrong);
  }

  Message compare(const Place& from, const Message& m) {
    Bytes got(from.bytes);
    if (from.gpu == kCpu) {
      std::memcpy(got.data(), from.at, got.size());
    } else if (const std::string wrong =
                   gpu_copy(from.gpu, Direction::kFromGpu, got.data(), from.at, got.size());
               !wrong.empty()) {
      return failed("reading by the GPU: " + wrong);
    }
    const Bytes wanted = pattern(m.number("seed"), m.number("offset"), from.bytes);
    for (std::size_t i = 0; i < got.size(); ++i)
      if (got[i] != wanted[i])
        return failed("other bytes than were written, first at " + std::to_string(i) + " of " +
                      std::to_string(got.size()));
    return outcome(HB_OK);
  }
  Message check(const Message& m) { return compare(place(m), m); }
  Message cpu_check(const Message& m) {
    Place from = place(m);
    from.gpu = kCpu;
    return compare(from, m);
  }

  Message share_program(const Message& m) {
    hb_export_options options = HB_EXPORT_OPTIONS_INIT;
    const std::string name = m.text("name");
    options.name = name.c_str();
    options.deadline_ns = hb_deadline_in(kWaitNs);
    if (m.has("handles")) {
      options.handles = program_.handles().data();
      options.handle_count = program_.handles().size();
    } else {
      options.ptr = program_.at();
      options.bytes = program_.bytes();
      options.memory = static_cast<std::uint32_t>(m.number("claim"));
    }
    return outcome(hb_export_create(client_, &options, &export_, &error_));
  }

  Message share(const Message& m) {
    if (m.has("program")) return share_program(m);
    hb_export_options options = HB_EXPORT_OPTIONS_INIT;
    const std::string name = m.text("name");
    options.name = name.c_str();
    options.ptr = static_cast<char*>(hb_memory_ptr(memory_)) + m.number("offset");
    options.bytes = m.number("bytes", hb_memory_bytes(memory_) - m.number("offset"));
    options.deadline_ns = hb_deadline_in(kWaitNs);
    return outcome(hb_export_create(client_, &options, &export_, &error_));
  }

  Message import(const Message& m) {
    hb_import_options options = HB_IMPORT_OPTIONS_INIT;
    const std::string name = m.text("name");
    options.name = name.c_str();
    options.offset = m.number("offset");
    options.bytes = m.number("bytes", HB_WHOLE);
    options.access = static_cast<std::uint32_t>(m.number("access", HB_ACCESS_READ));
    options.host_access = static_cast<std::uint32_t>(m.number("host"));
    options.deadline_ns = hb_deadline_in(kWaitNs);
    if (m.has("external")) {  // for the device that is current
      options.mapping = HB_MAP_EXTERNAL;
      const HipCalls& hip = hip_calls();
      if (!hip.wrong.empty()) return failed(hip.wrong);
      if (const int code = hip.hipSetDevice(static_cast<int>(m.number("gpu"))); code != 0)
        return failed(hip_failure("hipSetDevice", code));
    }
    Message out = outcome(hb_import_open(client_, &options, &import_, &error_));
    if (import_ == nullptr) return out;
    hb_import_info info = HB_IMPORT_INFO_INIT;
    hb_import_get_info(import_, &info);
    import_gpu_ = m.has("gpu") ? static_cast<int>(m.number("gpu")) : kCpu;
    out.set("bytes", info.bytes);
    out.set("chunks", info.chunks);
    out.set("host_granted", static_cast<std::uint64_t>(info.host_granted));
    out.set("mapping", std::uint64_t{info.mapping});
    return out;
  }

  Message classify(const Message& m) {
    hb_pointer_info info = HB_POINTER_INFO_INIT;
    const void* const at = m.has("nowhere") ? static_cast<const void*>(&info) : place(m).at;
    Message out = outcome(hb_classify(at, &info, &error_));
    out.set("memory", std::uint64_t{info.memory});
    out.set("shareable", std::to_string(info.shareable));
    out.set("reason", info.reason);
    return out;
  }

  Message watch(const Message& m) {
    Message begun;
    begun.set("watching", 1);
    if (Message first = check(m); first.number("status") != 0) return first;
    if (!send_message(conductor_, begun)) return failed("the conductor is gone");
    const std::uint64_t deadline = hb_deadline_in(kWaitNs);
    std::uint64_t rounds = 0;
    while (hb_import_is_current(import_) == 1) {
      if (Message one = check(m); one.number("status") != 0) return one;
      ++rounds;
      if (hb_deadline_in(0) >= deadline) return failed("the import is still called current after 8 s");
    }
    // What was mapped stays, and stays right, after its exporter is gone.
    Message out = check(m);
    out.set("rounds", rounds);
    return out;
  }

  Message current(const Message&) {
    Message out = outcome(HB_OK);
    out.set("current", static_cast<std::uint64_t>(hb_import_is_current(import_)));
    return out;
  }

  Message withdraw(const Message&) {
    hb_withdrawn withdrawn = HB_WITHDRAWN_INIT;
    Message out = outcome(hb_export_withdraw(export_, hb_deadline_in(kWaitNs), &withdrawn, &error_));
    out.set("holders", withdrawn.holders);
    return out;
  }

  Message gone(const Message&) {
    hb_withdrawn withdrawn = HB_WITHDRAWN_INIT;
    Message out = outcome(hb_range_gone(program_.at(), program_.bytes(), &withdrawn, &error_));
    out.set("exports", withdrawn.exports);
    out.set("holders", withdrawn.holders);
    return out;
  }

  Message unmap_when(const Message& m) {
    const Place from = place(m);
    Bytes got(from.bytes);
    CopyUnderWay copy;
    if (const std::string wrong = copy.begin(from.gpu, got.data(), from.at, got.size()); !wrong.empty())
      return failed(wrong);
    if (const hb_status status = hb_unmap_when(import_, copy.event(), &error_); status != HB_OK)
      return outcome(status);
    import_ = nullptr;
    std::uint64_t waiting = 1;
    for (const std::uint64_t deadline = hb_deadline_in(kWaitNs); waiting != 0; ::poll(nullptr, 0, 1)) {
      if (const hb_status status = hb_reap(&waiting, &error_); status != HB_OK) return outcome(status);
      if (waiting != 0 && hb_deadline_in(0) >= deadline)
        return failed("the event behind a copy is not done after 8 s, and the import stays mapped");
    }
    if (const std::string wrong = copy.end(); !wrong.empty()) return failed(wrong);
    // An answer of this session: what was given back before it has arrived.
    if (const hb_status status = hb_ping(client_, hb_deadline_in(kWaitNs), nullptr, &error_); status != HB_OK)
      return outcome(status);
    return compare({reinterpret_cast<char*>(got.data()), got.size(), kCpu}, m);
  }

  Message close(const Message&) {
    hb_import_close(std::exchange(import_, nullptr));
    return outcome(HB_OK);
  }
  Message free(const Message&) {
    hb_export_destroy(std::exchange(export_, nullptr));
    hb_memory_free(std::exchange(memory_, nullptr));
    return outcome(HB_OK);
  }
  Message unmake(const Message& m) {
    if (Message out = gone(m); out.number("status") != 0) return out;
    hb_export_destroy(std::exchange(export_, nullptr));
    return outcome(program_.give_back());
  }

  static constexpr int kCpu = -1;
  const std::map<std::string, Verb> verbs_{
      {"open", &Actor::open},    {"alloc", &Actor::alloc},           {"make", &Actor::make},
      {"fill", &Actor::fill},    {"check", &Actor::check},           {"cpu_check", &Actor::cpu_check},
      {"export", &Actor::share}, {"import", &Actor::import},         {"classify", &Actor::classify},
      {"watch", &Actor::watch},  {"current", &Actor::current},       {"withdraw", &Actor::withdraw},
      {"gone", &Actor::gone},    {"unmap_when", &Actor::unmap_when}, {"close", &Actor::close},
      {"free", &Actor::free},    {"unmake", &Actor::unmake}};

  UniqueFd conductor_;
  hb_error error_ = HB_ERROR_INIT;
  hb_client* client_ = nullptr;
  hb_memory* memory_ = nullptr;
  hb_export* export_ = nullptr;
  hb_import* import_ = nullptr;
  ProgramMemory program_;
  int memory_gpu_ = kCpu;
  int import_gpu_ = kCpu;
};

}  // namespace

int run_actor() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  return Actor(UniqueFd(kConductor)).run();
}

}  // namespace hb::selftest
