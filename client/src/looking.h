// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the daemon tells of exports and their holders, as the C ABI shows it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "client.h"
#include "hipbroker/hipbroker.h"
#include "messages_look.h"

namespace hb::client {

// Owns every text and list that a result's records point to.
class Texts {
 public:
  const char* keep(msg::Text text) { return kept_.emplace_back(text).c_str(); }
  const std::vector<hb_device_id>& keep(const std::vector<msg::Device>& devices);

 private:
  std::deque<std::string> kept_;  // never moves what it holds
  std::deque<std::vector<hb_device_id>> devices_;
};

// Of an export, by its number on the wire.
[[nodiscard]] const char* state_name(std::uint32_t state);
[[nodiscard]] hb_process process_of(const msg::Process& from, Texts& texts);
[[nodiscard]] hb_listed listed_of(const msg::ExportInfo& from, Texts& texts);
[[nodiscard]] hb_held held_of(const msg::Holder& from, Texts& texts);

// A name or an id; neither: everything.
[[nodiscard]] Result<msg::Target> target_of(const std::string& name, std::uint32_t owner_uid,
                                            std::uint64_t export_id);

// Pages must go forward, or a broken daemon would keep us here for ever.
[[nodiscard]] Result<void> check_cursor(std::uint64_t before, std::uint64_t next);

// One request of the looking kind and its decoded answer, which points into `body`.
template <class Answer, class Question>
[[nodiscard]] Result<Answer> ask(Client& client, FrameType type, const Question& question,
                                 std::uint64_t deadline_ns, std::vector<std::byte>& body) {
  auto reply = client.on_session(deadline_ns, [&](const std::shared_ptr<Session>& session) {
    return session->call(type, as_bytes(encoded(question)), {}, deadline_ns);
  });
  if (!reply) return tl::unexpected(std::move(reply.error()));
  body = std::move(reply->body);
  auto answer = msg::decode<Answer>(body);
  if (!answer) return fail(malformed(answer.error()));
  return std::move(*answer);
}

// Every holder of the target, page by page.
[[nodiscard]] Result<std::unique_ptr<hb_holders>> list_holders(Client& client, const msg::Target& target,
                                                               std::uint64_t deadline_ns);

// Those of an answer to Withdraw, Revoke or Suspend. Where they were too many for it, the daemon is asked for
// all.
[[nodiscard]] Result<std::unique_ptr<hb_holders>> holders_left(Client& client,
                                                               const msg::WithdrawReply& reply,
                                                               std::uint64_t deadline_ns);

}  // namespace hb::client

struct hb_holders {
  hb::client::Texts texts;
  std::vector<hb_held> held;
};
