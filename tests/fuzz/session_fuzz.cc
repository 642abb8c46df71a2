// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Whole sessions: frames cut, glued, with wrong counts and with descriptors of many kinds, through real
// sockets into the real Server, Session and Engine in one process. The input is a list of steps:
//
//   0 S            open session S (of 3)
//   1 S            close it
//   2 S F N B..    a frame built right: type F mod 48, N bytes of body
//   3 S N B..      a packet of N raw bytes
//   4 K            a descriptor of kind K more for the next packet (16 at most)
//   5 D            D mod 4 more announced than are sent, from now on
//   6 S            read what has come
//   7              the loop turns
//
// After every input, no session is left and the process has as many descriptors as before.
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fuzz/require.h"
#include "ipc/engine.h"
#include "ipc/server.h"
#include "support/wait.h"
#include "wire/frame.h"
#include "wire/limits.h"
#include "wire/packet_socket.h"

namespace {

using namespace hb;

constexpr std::size_t kSessions = 3;
constexpr std::size_t kMostSteps = 200;

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : left_(data, size) {}
  [[nodiscard]] bool empty() const { return left_.empty(); }
  std::uint8_t byte() {
    if (left_.empty()) return 0;
    const std::uint8_t value = left_.front();
    left_ = left_.subspan(1);
    return value;
  }
  std::span<const std::byte> bytes(std::size_t count) {
    const auto taken = std::as_bytes(left_.first(std::min(count, left_.size())));
    left_ = left_.subspan(taken.size());
    return taken;
  }

 private:
  std::span<const std::uint8_t> left_;
};

std::size_t open_descriptors() {
  DIR* directory = ::opendir("/proc/self/fd");
  HB_REQUIRE(directory != nullptr);
  std::size_t count = 0;
  while (::readdir(directory) != nullptr) ++count;
  ::closedir(directory);
  return count;
}

UniqueFd descriptor_of(std::uint8_t kind) {
  std::array<int, 2> ends{-1, -1};
  switch (kind % 8) {
    case 0: {
      UniqueFd memory(::memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
      static_cast<void>(::ftruncate(memory.get(), 4096));
      ::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW);
      return memory;
    }
    case 1:
      return UniqueFd(::memfd_create("fuzz", MFD_CLOEXEC));
    case 2:
      return UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC));
    case 3:
      return UniqueFd(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    case 4:
      static_cast<void>(::pipe2(ends.data(), O_CLOEXEC));
      ::close(ends[1]);
      return UniqueFd(ends[0]);
    case 5:
      static_cast<void>(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()));
      ::close(ends[1]);
      return UniqueFd(ends[0]);
    case 6:
      return UniqueFd(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
    default:
      return UniqueFd(::open("/", O_PATH | O_CLOEXEC));
  }
}

class Harness {
 public:
  Harness() : engine_(io_, config(), {}), server_(io_, engine_) {}

  void run(Input input) {
    for (std::size_t step = 0; step < kMostSteps && !input.empty(); ++step) {
      const std::uint8_t what = input.byte() % 8;
      if (what == 4) {
        if (fds_.size() < 16) fds_.push_back(descriptor_of(input.byte()));
        continue;
      }
      if (what == 5) {
        more_ = input.byte() % 4;
        continue;
      }
      if (what == 7) {
        turn();
        continue;
      }
      one(what, clients_[input.byte() % kSessions], input);
    }
    finish();
  }

 private:
  static core::BrokerConfig config() {
    core::BrokerConfig config;
    config.fd_limit = 4096;
    config.fd_base = 64;
    return config;
  }
  void one(std::uint8_t what, UniqueFd& client, Input& input) {
    switch (what) {
      case 0: {
        std::array<int, 2> ends{-1, -1};
        HB_REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0);
        client = UniqueFd(ends[0]);
        server_.accepted(UniqueFd(ends[1]), {});
        return;
      }
      case 1:
        client.reset();
        return;
      case 2: {
        const auto type = static_cast<FrameType>(input.byte() % 48);
        const auto body = input.bytes(input.byte());
        std::array<std::byte, kFrameHeaderBytes> head{};
        encode_frame_header(head, {type, 0, static_cast<std::uint16_t>(fds_.size() + more_), ++request_id_},
                            static_cast<std::uint32_t>(body.size()));
        return send(client, head, body);
      }
      case 3:
        return send(client, {}, input.bytes(input.byte()));
      default:
        return read(client);
    }
  }
  void send(const UniqueFd& client, std::span<const std::byte> head, std::span<const std::byte> body) {
    std::vector<int> borrowed;
    for (const UniqueFd& fd : fds_) borrowed.push_back(fd.get());
    if (client && (!head.empty() || !body.empty()))
      static_cast<void>(send_packet(client.get(), head, body, borrowed));
    fds_.clear();
  }
  void read(const UniqueFd& client) {
    std::vector<std::byte> buffer(limits::kFrameBytes);
    while (client) {
      const auto got = receive_packet(client.get(), buffer);
      if (!got || got->outcome != ReceiveOutcome::kPacket) return;
      const auto frame = decode_frame(std::span(buffer).first(got->bytes));
      HB_REQUIRE(frame);
      HB_REQUIRE(frame->header.fd_count == got->fds.size());
    }
  }
  void turn() {
    io_.restart();
    while (io_.poll() != 0) {
    }
  }
  // All peers leave: then everything goes, on threads that need their time.
  void finish() {
    turn();
    for (UniqueFd& client : clients_) client.reset();
    fds_.clear();
    const std::uint64_t room = limits::fd_reserve(config().fd_limit) + config().fd_base;
    static_cast<void>(test::poll_until([&] {
      turn();
      return engine_.counters().sessions == 0 && engine_.in_flight().kept() == 0 &&
             engine_.has_room(config().fd_limit - room);
    }));
    HB_REQUIRE(engine_.counters().sessions == 0);
    HB_REQUIRE(engine_.has_room(config().fd_limit - room));
    HB_REQUIRE(engine_.unanswered().empty());
    HB_REQUIRE(engine_.handles().size() == 0);
    server_.stop();
    engine_.stop();
  }

  boost::asio::io_context io_{1};
  ipc::Engine engine_;
  ipc::Server server_;
  std::array<UniqueFd, kSessions> clients_;
  std::vector<UniqueFd> fds_;
  std::size_t more_ = 0;
  std::uint64_t request_id_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool quiet = [] {
    observe::start_log(observe::Level::kError);
    return true;
  }();
  static_cast<void>(quiet);
  const std::size_t before = open_descriptors();
  {
    Harness harness;
    harness.run(Input(data, size));
  }
  HB_REQUIRE(open_descriptors() == before);
  return 0;
}
