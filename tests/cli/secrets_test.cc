// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Keys, tickets and secrets are in nothing that the daemon ever wrote, in whatever spelling: log, journal,
// audit trail, lists, metrics, state.
#include <gmock/gmock.h>
#include <signal.h>

#include <cstring>
#include <filesystem>

#include "cli/audit_reader.h"
#include "support/fake_journal.h"
#include "support/memfd.h"
#include "wire/key.h"

namespace hb::test {
namespace {

std::string hex(const std::string& bytes, bool upper) {
  const char* const digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += digits[static_cast<unsigned char>(c) >> 4];
    out += digits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

// The characters that depend on these bytes alone, where `before` bytes come before them.
std::string base64(const std::string& bytes, std::size_t before, bool url) {
  std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (url) alphabet.replace(62, 2, "-_");
  std::string bits(8 * before, '?');
  for (const char c : bytes)
    for (int bit = 7; bit >= 0; --bit) bits += (static_cast<unsigned char>(c) >> bit & 1) != 0 ? '1' : '0';
  std::string out;
  for (std::size_t at = 0; at + 6 <= bits.size(); at += 6) {
    const std::string six = bits.substr(at, 6);
    if (six.find('?') == std::string::npos) out += alphabet[std::stoul(six, nullptr, 2)];
  }
  return out;
}

std::vector<std::string> spellings(const std::string& secret) {
  std::vector<std::string> out{secret, hex(secret, false), hex(secret, true)};
  for (std::size_t before = 0; before < 3; ++before)
    for (const bool url : {false, true}) out.push_back(base64(secret, before, url));
  return out;
}

TEST(Spellings, FindWhatTheyAreMadeFor) {
  const std::string secret = "0123456789abcdef";
  for (const char* text : {"MDEyMzQ1Njc4OWFiY2RlZg==", "eDAxMjM0NTY3ODlhYmNkZWY=", "eHgwMTIzNDU2Nzg5YWJjZGVm",
                           "30313233343536373839616263646566"}) {
    bool found = false;
    for (const std::string& spelling : spellings(secret))
      found = found || std::string(text).find(spelling) != std::string::npos;
    EXPECT_TRUE(found) << text;
  }
}

class Secrets : public AuditFixture, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    options_.args = {"--log-level", "debug"};
    options_.policy =
        "[[rule]]\nallow = [\"export\", \"acquire\", \"list\", \"revoke\"]\n[quota]\nexports = 3\ntickets = "
        "2\n";
    if (std::string(GetParam()) == "Journal") {
      journal_ = std::make_unique<FakeJournal>();
      journal_->take(options_);
    }
    AuditFixture::SetUp();
  }
  // Of a key: all of it, and the part that nobody could guess.
  void keep_key(const std::string& key) {
    ASSERT_EQ(key.size(), 64u);
    secrets_.push_back(key);
    secrets_.push_back(key.substr(48));
  }
  std::string part_of(const std::string& key, const std::string& secret) {
    KeyBytes bytes{};
    Secret derived{};
    std::memcpy(bytes.data(), key.data(), bytes.size());
    std::memcpy(derived.data(), secret.data(), derived.size());
    KeyFields fields = decode_key(bytes);
    fields.offset = kPage;
    fields.length = kPage;
    const KeyBytes part = encode_key(fields, derived);
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }
  std::vector<std::string> secrets_;
  std::unique_ptr<FakeJournal> journal_;
};

TEST_P(Secrets, AreInNothingTheDaemonWrote) {
  std::string written;
  {
    RawPeer owner = peer();
    RawPeer user = peer();
    const UniqueFd memory = sealed_memfd(4 * kPage, 1);
    const auto exported = owner.export_fds("kv", {memory.get()}, 4 * kPage, {acl_uid(1001, 1)});
    ASSERT_EQ(exported.status, HB_OK) << exported.error.message();
    const std::string key = exported.reply.key();
    const std::string part = part_of(key, exported.reply.secret());
    keep_key(key);
    keep_key(part);
    secrets_.push_back(exported.reply.secret());
    ASSERT_EQ(user.acquire(part).status, HB_OK);
    pb::MakeTicket make;
    make.set_export_id(exported.reply.export_id());
    make.set_ttl_ns(60'000'000'000);
    make.set_access(1);
    const auto ticket = owner.call<pb::MakeTicketReply>(FrameType::kMakeTicket, make);
    ASSERT_EQ(ticket.status, HB_OK) << ticket.error.message();
    keep_key(ticket.reply.ticket());
    ASSERT_EQ(user.acquire(ticket.reply.ticket()).status, HB_OK);
    EXPECT_NE(user.acquire(ticket.reply.ticket()).status, HB_OK) << "used";
    for (int i = 0; i < 2; ++i)
      keep_key(owner.call<pb::MakeTicketReply>(FrameType::kMakeTicket, make).reply.ticket());
    EXPECT_EQ(owner.call<pb::MakeTicketReply>(FrameType::kMakeTicket, make).status, HB_QUOTA);
    // What was presented and refused is as secret: it may be true elsewhere.
    std::string guess = key;
    guess.back() = static_cast<char>(guess.back() ^ 1);
    keep_key(guess);
    EXPECT_EQ(user.acquire(guess).status, HB_NOT_FOUND);
    guess[0] = 9;
    EXPECT_EQ(user.acquire(guess).status, HB_VERSION);
    EXPECT_NE(peer().acquire(key + "longer").status, HB_OK);
    KeyBytes bytes{};
    std::memcpy(bytes.data(), key.data(), bytes.size());
    ProcessOptions other;
    other.uid = 1002;
    EXPECT_EQ(ctl({"--no-admin", "show", key_to_text(bytes)}, other).exit_code, 1);
    EXPECT_EQ(ctl({"--no-admin", "revoke", key_to_text(bytes)}, other).exit_code, 1);
    for (const std::vector<std::string>& verb :
         std::vector<std::vector<std::string>>{{"ls", "--json"},
                                               {"who", "--json"},
                                               {"show", "kv", "--json"},
                                               {"why", "kv", "--json"},
                                               {"who", "--top", "--json"},
                                               {"ping", "--json"},
                                               {"quota", "ls", "--json"},
                                               {"metrics"}}) {
      const Ran ran = ctl(verb);
      EXPECT_EQ(ran.exit_code, 0) << verb.front() << ran.err;
      written += ran.out + ran.err;
    }
    EXPECT_EQ(ctl({"quota", "set", "--uid", "1001", "--exports", "7"}).exit_code, 0);
    EXPECT_EQ(ctl({"revoke", "kv"}).exit_code, 3);
    EXPECT_EQ(user.acquire(key).status, HB_REVOKED);
    user.send_bytes(key);  // no frame
    EXPECT_TRUE(user.ends());
  }
  written += ctl({"audit", "--json"}).out + ctl({"audit"}).out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(daemon().run_dir()))
    if (entry.is_regular_file()) written += read_file(entry.path());
  if (journal_ != nullptr) {
    // Its socket holds few records: somebody has to read.
    RawPeer admin = admin_peer();
    EXPECT_TRUE(poll_until([&] {
      static_cast<void>(journal_->all());
      return admin.status().reply.log_waiting() == 0;
    }));
  }
  daemon().process().signal(SIGTERM);
  EXPECT_TRUE(poll_until([&] {
    if (journal_ != nullptr) static_cast<void>(journal_->all());
    return process_state(daemon().pid()) == 'Z';
  }));
  ASSERT_TRUE(daemon().process().wait());
  written += journal_ == nullptr ? daemon().log() : journal_->all();
  // It did write.
  for (const char* word :
       {"\"acquired\"", "\"quota\"", "\"revoked\"", "\"refused\"", "[[quota]]", "stopping"})
    EXPECT_THAT(written, testing::HasSubstr(word));
  if (journal_ != nullptr) {
    EXPECT_THAT(written, testing::HasSubstr("HIPBROKER_EVENT=revoked"));
  }
  for (const std::string& secret : secrets_)
    for (const std::string& spelling : spellings(secret))
      EXPECT_EQ(written.find(spelling), std::string::npos)
          << "at it: " << written.substr(written.find(spelling), 200);
}

INSTANTIATE_TEST_SUITE_P(, Secrets, testing::Values("Stderr", "Journal"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace hb::test
