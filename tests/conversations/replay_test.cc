// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The oldest supported version against the programs of today: its client, byte by byte, against the daemon,
// and the library against its daemon's answers.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <map>
#include <memory>
#include <set>

#include "conversations/conversation.h"
#include "conversations/suite.h"
#include "hipbroker/hipbroker.hpp"
#include "support/daemon_process.h"
#include "support/fixture.h"
#include "support/memfd.h"
#include "support/raw_peer.h"
#include "support/temp_dir.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

const std::vector<Said>& oldest() {
  static const auto* all = new std::vector<Said>(load_conversation(HB_OLDEST_CONVERSATION));
  return *all;
}

bool is_answer(const Said& said) { return !said.by_client && (said.header.flags & kFlagEvent) == 0; }

// Descriptors like those that travelled. `kept`: the other ends of sockets.
std::vector<UniqueFd> make_fds(const std::vector<SaidFd>& said, std::vector<UniqueFd>& kept) {
  std::vector<UniqueFd> made;
  for (const SaidFd& fd : said) {
    if (fd.kind == 'm') {
      made.push_back(sealed_memfd(fd.bytes, 1));
      continue;
    }
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
      throw std::runtime_error("socketpair");
    kept.emplace_back(ends[0]);
    made.emplace_back(ends[1]);
  }
  return made;
}

// ---- its client against today's daemon ---------------------------------------------------------

class TheOldestClient : public DaemonTest {
 protected:
  // It has gone, and the daemon knows.
  static void leave(RawPeer& session) {
    ASSERT_EQ(::shutdown(session.fd(), SHUT_WR), 0);
    EXPECT_TRUE(session.ends());
    session.disconnect();
  }
  // Keys are made anew by every daemon; all else of a fresh one is as it was.
  void learn(const std::string& then, const std::string& now) {
    const auto fields_then = fields_of(then);
    const auto fields_now = fields_of(now);
    std::multimap<std::uint32_t, std::string> of_now;
    for (const WireField& field : fields_now) of_now.emplace(field.number, field.bytes);
    for (const WireField& field : fields_then) {
      const auto same = of_now.find(field.number);
      if (field.bytes.size() == sizeof(KeyBytes) && same != of_now.end() &&
          same->second.size() == sizeof(KeyBytes))
        keys_[field.bytes] = same->second;
    }
  }
  // A key to a part of an export is made by the library, of a secret that this daemon gave anew.
  void learn_secret(const std::string& then, const std::string& now) {
    pb::ExportReply before, today;
    if (!before.ParseFromString(then) || !today.ParseFromString(now) || today.secret().empty()) return;
    std::memcpy(secrets_[before.export_id()].data(), today.secret().data(), sizeof(Secret));
    std::memcpy(broker_then_.data(), before.key().data() + kBrokerAt, broker_then_.size());
    std::memcpy(broker_.data(), today.key().data() + kBrokerAt, broker_.size());
  }
  std::string with_todays_keys(std::string body) const {
    for (std::size_t at = body.find(text_of(broker_then_)); at != std::string::npos;
         at = body.find(text_of(broker_then_), at + 1)) {
      if (at < kBrokerAt || at - kBrokerAt + sizeof(KeyBytes) > body.size()) continue;
      const std::string then = body.substr(at - kBrokerAt, sizeof(KeyBytes));
      const auto known = keys_.find(then);
      body.replace(at - kBrokerAt, sizeof(KeyBytes), known != keys_.end() ? known->second : part_of(then));
    }
    return body;
  }
  std::string part_of(const std::string& then) const {
    KeyBytes key;
    std::memcpy(key.data(), then.data(), key.size());
    KeyFields fields = decode_key(key);
    const auto secret = secrets_.find(fields.export_id);
    if (secret == secrets_.end()) return then;
    fields.broker = broker_;
    const KeyBytes now = encode_key(fields, secret->second);
    return std::string(reinterpret_cast<const char*>(now.data()), now.size());
  }
  static std::string text_of(const BrokerId& id) {
    return std::string(reinterpret_cast<const char*>(id.data()), id.size());
  }

  static constexpr std::size_t kBrokerAt = 4;  // in a key
  BrokerId broker_then_{};
  BrokerId broker_{};
  std::map<std::uint64_t, Secret> secrets_;  // by export
  std::map<std::string, std::string> keys_;
};

TEST_F(TheOldestClient, GetsFromTodaysDaemonWhatItAlwaysGot) {
  std::map<std::size_t, std::unique_ptr<RawPeer>> sessions;
  std::size_t answers = 0;
  for (std::size_t i = 0; i < oldest().size(); ++i) {
    const Said& said = oldest()[i];
    SCOPED_TRACE("frame " + std::to_string(i) + " of type " +
                 std::to_string(static_cast<unsigned>(said.header.type)));
    auto& session = sessions[said.session];
    if (said.by_client) {
      if (session == nullptr) session = std::make_unique<RawPeer>(daemon().socket());
      std::vector<UniqueFd> kept;
      const auto fds = make_fds(said.fds, kept);
      ASSERT_TRUE(session->send_frame(said.header, with_todays_keys(said.body), borrow(fds)));
      // A session whose last word this was has ended before the next one spoke.
      const bool last = std::none_of(oldest().begin() + static_cast<std::ptrdiff_t>(i) + 1, oldest().end(),
                                     [&](const Said& later) { return later.session == said.session; });
      if (last) leave(*session);
      continue;
    }
    RawFrame now = session->receive();
    ASSERT_EQ(static_cast<int>(now.outcome), static_cast<int>(ReceiveOutcome::kPacket));
    pb::Error error;
    if (now.header.type == FrameType::kError) error.ParseFromString(now.body);
    ASSERT_EQ(static_cast<int>(now.header.type), static_cast<int>(said.header.type)) << error.message();
    EXPECT_EQ(now.header.request_id, said.header.request_id);
    EXPECT_EQ(now.header.flags, said.header.flags);
    EXPECT_EQ(now.fds.size(), said.fds.size());
    // No field that it may rely on is missing.
    std::set<std::uint32_t> there;
    for (const WireField& field : fields_of(now.body)) there.insert(field.number);
    for (const WireField& field : fields_of(said.body))
      EXPECT_TRUE(there.contains(field.number)) << "field " << field.number << " is missing";
    if (now.header.type == FrameType::kError) {
      pb::Error then;
      ASSERT_TRUE(then.ParseFromString(said.body));
      EXPECT_EQ(error.status(), then.status());
    }
    learn(said.body, now.body);
    if (said.header.type == FrameType::kExport || said.header.type == FrameType::kExportChunks)
      learn_secret(said.body, now.body);
    ++answers;
    const bool last = std::none_of(oldest().begin() + static_cast<std::ptrdiff_t>(i) + 1, oldest().end(),
                                   [&](const Said& later) { return later.session == said.session; });
    if (last) leave(*session);
  }
  EXPECT_GT(answers, 40u);
}

TEST_F(TheOldestClient, IsToldBothRangesWhereItIsTooOld) {
  RawPeer peer(daemon().socket());
  pb::Hello hello;
  hello.set_lowest_version(limits::kHighestVersion + 7);
  hello.set_highest_version(limits::kHighestVersion + 9);
  const auto refused = peer.call<pb::HelloReply>(FrameType::kHello, hello);
  EXPECT_EQ(refused.status, HB_VERSION);
  for (const std::uint32_t number : {limits::kLowestVersion, limits::kHighestVersion,
                                     limits::kHighestVersion + 7, limits::kHighestVersion + 9})
    EXPECT_NE(refused.error.message().find(std::to_string(number)), std::string::npos)
        << refused.error.message();
}

// ---- today's library against its daemon --------------------------------------------------------

// Says what the daemon said then, to whoever asks for the same.
class OldDaemon {
 public:
  explicit OldDaemon(const std::string& path)
      : listener_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener_.get(), 16) != 0)
      throw std::runtime_error("cannot listen on " + path);
  }

  // Empty, or where the two part.
  std::string talk() {
    for (std::size_t i = 0; i < oldest().size(); ++i) {
      const Said& said = oldest()[i];
      const std::string where = "frame " + std::to_string(i) + ": ";
      if (said.by_client) {
        auto& session = sessions_[said.session];
        if (!session) {
          if (!wait_readable(listener_.get())) return where + "nobody connected";
          session = UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        }
        std::vector<std::byte> buffer(limits::kFrameBytes);
        if (!wait_readable(session.get())) return where + "nothing came";
        auto packet = receive_packet(session.get(), buffer);
        if (!packet || packet->outcome != ReceiveOutcome::kPacket) return where + "the session ended";
        const auto frame = decode_frame({buffer.data(), packet->bytes});
        if (!frame) return where + "it cannot be read";
        if (frame->header.type != said.header.type)
          return where + "type " + std::to_string(static_cast<unsigned>(frame->header.type)) +
                 " in the place of " + std::to_string(static_cast<unsigned>(said.header.type));
        ids_[{said.session, said.header.request_id}] = frame->header.request_id;
        continue;
      }
      ring_before_events(i);
      keep_words(said);
      std::vector<UniqueFd> fds = make_fds(said.fds, kept_);
      std::vector<int> numbers = borrow(fds);
      FrameHeader header = said.header;
      if (is_answer(said)) header.request_id = ids_[{said.session, said.header.request_id}];
      std::array<std::byte, kFrameHeaderBytes> head{};
      encode_frame_header(head, header, static_cast<std::uint32_t>(said.body.size()));
      const auto sent = send_packet(sessions_[said.session].get(), head,
                                    std::as_bytes(std::span(said.body.data(), said.body.size())), numbers);
      if (!sent || *sent != SendOutcome::kSent) return where + "it could not be sent";
      if (said.header.type == FrameType::kSharePage) pages_[said.session] = std::move(fds[0]);
      if (said.header.type == FrameType::kSubscribe) {
        bells_[said.session] = std::move(kept_.back());
        kept_.pop_back();
      }
    }
    return {};
  }

 private:
  // A session whose next word is that it takes events has been rung for then.
  void ring_before_events(std::size_t now) {
    const std::size_t session = oldest()[now].session;
    const auto bell = bells_.find(session);
    if (bell == bells_.end()) return;
    for (std::size_t i = now + 1; i < oldest().size(); ++i) {
      if (oldest()[i].session != session || !oldest()[i].by_client) continue;
      if (oldest()[i].header.type == FrameType::kTakeEvents)
        static_cast<void>(::send(bell->second.get(), "x", 1, MSG_NOSIGNAL));
      return;
    }
  }

  // The words of leases that it grants, and of those that are current no more.
  void keep_words(const Said& said) {
    pb::AcquireReply granted;
    pb::RefreshReply refreshed;
    if (said.header.type == FrameType::kAcquire && granted.ParseFromString(said.body)) {
      set_word(said.session, granted);
    } else if (said.header.type == FrameType::kRefresh && refreshed.ParseFromString(said.body)) {
      set_word(said.session, refreshed.grant());
    } else if (said.header.type == FrameType::kWithdraw || said.header.type == FrameType::kSuspend ||
               said.header.type == FrameType::kChange) {
      const std::uint32_t none = 0;
      for (const auto& [place, value] : words_)
        EXPECT_EQ(::pwrite(pages_[place.first].get(), &none, sizeof none, place.second * sizeof none), 4);
    }
  }
  void set_word(std::size_t session, const pb::AcquireReply& grant) {
    const std::uint32_t value = grant.validity_value();
    words_[{session, grant.validity_slot()}] = value;
    EXPECT_EQ(::pwrite(pages_[session].get(), &value, sizeof value, grant.validity_slot() * sizeof value), 4);
  }

  UniqueFd listener_;
  std::map<std::size_t, UniqueFd> sessions_;
  std::map<std::size_t, UniqueFd> pages_;  // of validity words
  std::map<std::pair<std::size_t, std::uint32_t>, std::uint32_t> words_;
  std::map<std::size_t, UniqueFd> bells_;
  std::map<std::pair<std::size_t, std::uint64_t>, std::uint64_t> ids_;
  std::vector<UniqueFd> kept_;
};

TEST(TheOldestDaemon, IsUnderstoodByTodaysLibrary) {
  const TempDir dir;
  OldDaemon daemon(dir / "broker.sock");
  auto talked = std::async(std::launch::async, [&] { return daemon.talk(); });
  std::string trouble;
  try {
    run_suite(dir / "broker.sock");
  } catch (const std::exception& error) {
    trouble = error.what();
  }
  EXPECT_EQ(trouble, "");
  EXPECT_EQ(talked.get(), "");
}

TEST(TheOldestDaemon, IsRefusedWithBothRangesWhereItIsTooOld) {
  const TempDir dir;
  const std::string path = dir / "broker.sock";
  const UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  auto opened = std::async(std::launch::async, [&]() -> std::pair<hb_status, std::string> {
    try {
      const hipbroker::Client client(path);
    } catch (const hipbroker::Error& error) {
      return {error.status(), error.what()};
    }
    return {HB_OK, ""};
  });
  ASSERT_TRUE(wait_readable(listener.get()));
  const UniqueFd session(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  std::vector<std::byte> buffer(limits::kFrameBytes);
  ASSERT_TRUE(wait_readable(session.get()));
  ASSERT_TRUE(receive_packet(session.get(), buffer));
  pb::HelloReply reply;
  reply.set_version(limits::kHighestVersion + 7);
  reply.set_broker_id(std::string(16, 'b'));
  const std::string body = reply.SerializeAsString();
  std::array<std::byte, kFrameHeaderBytes> head{};
  encode_frame_header(head, {FrameType::kHello, kFlagReply, 0, 1}, static_cast<std::uint32_t>(body.size()));
  ASSERT_TRUE(send_packet(session.get(), head, std::as_bytes(std::span(body.data(), body.size())), {}));
  const auto [status, message] = opened.get();
  EXPECT_EQ(status, HB_VERSION);
  EXPECT_NE(message.find(std::to_string(limits::kHighestVersion + 7)), std::string::npos) << message;
}

}  // namespace
}  // namespace hb::test
