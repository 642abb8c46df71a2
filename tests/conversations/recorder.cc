// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Writes down the suite as it is said between the library this program is run with and the daemon of
// HB_TEST_DAEMON. How the oldest supported version was recorded stands at the top of its file:
//   HB_TEST_DAEMON=<hipbrokerd of that version> LD_LIBRARY_PATH=<where its libhipbroker.so.0 lies> \
//     record_conversation tests/conversations/VERSION.txt "what it is of"
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <thread>

#include "conversations/conversation.h"
#include "conversations/suite.h"
#include "support/daemon_process.h"
#include "wire/limits.h"
#include "wire/packet_socket.h"

namespace hb::test {
namespace {

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::runtime_error("path too long: " + path);
  std::memcpy(address.sun_path, path.c_str(), path.size());
  return address;
}

SaidFd seen(const UniqueFd& fd) {
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) throw std::runtime_error("fstat");
  if (S_ISSOCK(st.st_mode)) return {'s', 0};
  return {'m', static_cast<std::uint64_t>(st.st_size)};
}

// Between every client that connects and the daemon. One thread: what is written down is in the order in
// which it was passed on.
class Relay {
 public:
  Relay(const std::string& path, const std::string& daemon)
      : daemon_(daemon), listener_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    const sockaddr_un address = address_of(path);
    if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener_.get(), 16) != 0)
      throw std::runtime_error("cannot listen on " + path);
    thread_ = std::thread([this] { run(); });
  }
  std::vector<Said> finish() {
    over_.store(true);
    thread_.join();
    return std::move(all_);
  }

 private:
  struct Pair {
    UniqueFd client, daemon;
  };

  void run() {
    while (!over_.load()) {
      std::vector<pollfd> polled{{listener_.get(), POLLIN, 0}};
      for (const Pair& pair : pairs_) {
        polled.push_back({pair.client.get(), POLLIN, 0});
        polled.push_back({pair.daemon.get(), POLLIN, 0});
      }
      if (::poll(polled.data(), polled.size(), 20) <= 0) continue;
      // A client that has gone has gone before what another says meanwhile: to the end, the daemon's too.
      for (std::size_t i = 0; i < pairs_.size(); ++i) {
        if ((polled[1 + 2 * i].revents & POLLHUP) == 0) continue;
        while (pairs_[i].client) pass(i, pairs_[i].client, pairs_[i].daemon, true);
        polled[1 + 2 * i].revents = polled[2 + 2 * i].revents = 0;
      }
      for (std::size_t i = 0; i < pairs_.size(); ++i) {
        if (polled[1 + 2 * i].revents != 0) pass(i, pairs_[i].client, pairs_[i].daemon, true);
        if (polled[2 + 2 * i].revents != 0) pass(i, pairs_[i].daemon, pairs_[i].client, false);
      }
      if (polled[0].revents != 0) accept();
    }
  }

  void accept() {
    Pair pair{UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)),
              UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0))};
    const sockaddr_un address = address_of(daemon_);
    if (::connect(pair.daemon.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("the daemon does not listen");
    pairs_.push_back(std::move(pair));
  }

  void pass(std::size_t session, UniqueFd& from, UniqueFd& to, bool by_client) {
    std::vector<std::byte> buffer(limits::kFrameBytes);
    auto packet = receive_packet(from.get(), buffer);
    if (!packet || packet->outcome == ReceiveOutcome::kWouldBlock) return;
    if (packet->outcome != ReceiveOutcome::kPacket) {
      if (by_client && ::shutdown(to.get(), SHUT_WR) == 0)
        while (::recv(to.get(), buffer.data(), buffer.size(), 0) > 0) {
        }
      from.reset();
      to.reset();
      return;
    }
    const auto frame = decode_frame({buffer.data(), packet->bytes});
    if (!frame) throw std::runtime_error("a frame cannot be read");
    Said said{session, by_client, frame->header, {}, {}};
    said.body.assign(reinterpret_cast<const char*>(frame->body.data()), frame->body.size());
    std::vector<int> numbers;
    for (const UniqueFd& fd : packet->fds) {
      said.fds.push_back(seen(fd));
      numbers.push_back(fd.get());
    }
    all_.push_back(std::move(said));
    if (const auto sent = send_packet(to.get(), {buffer.data(), packet->bytes}, {}, numbers);
        !sent || *sent != SendOutcome::kSent)
      to.reset();
  }

  const std::string daemon_;
  UniqueFd listener_;
  std::vector<Pair> pairs_;
  std::vector<Said> all_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace
}  // namespace hb::test

int main(int argc, char** argv) {
  using namespace hb::test;
  if (argc != 3) {
    std::fprintf(stderr, "usage: record_conversation FILE ABOUT\n");
    return 2;
  }
  try {
    DaemonProcess daemon;
    const std::string path = daemon.run_dir() + "/recorded.sock";
    Relay relay(path, daemon.socket());
    std::exception_ptr trouble;
    try {
      run_suite(path);
    } catch (...) {
      trouble = std::current_exception();
    }
    const std::vector<Said> all = relay.finish();
    std::string about = "# SPDX-License-Identifier: MIT\n# Copyright (c) 2026 the hipbroker authors\n#\n# ";
    about += argv[2];
    about += "\n# By record_conversation (recorder.cc), never by hand. conversation.h says what a line is.\n";
    save_conversation(argv[1], about, all);
    if (trouble) std::rethrow_exception(trouble);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "record_conversation: %s\n", error.what());
    return 1;
  }
  return 0;
}
