// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "steps.h"

#include <string>

#include "exports.h"
#include "import.h"

namespace hb::client {
namespace {

// The daemon answers at the deadline, with what there is then: that answer is waited for so much longer.
constexpr std::uint64_t kAnswerNs = 2'000'000'000;

struct Wait {
  std::uint64_t for_ns = 0;  // in the daemon
  std::uint64_t answer_by = 0;
};
Wait wait_until(std::uint64_t deadline_ns) {
  if (deadline_ns == kNoDeadline) return {UINT64_MAX, kNoDeadline};
  const std::uint64_t now = now_ns();
  const std::uint64_t for_ns = deadline_ns > now ? deadline_ns - now : 0;
  const std::uint64_t end = now + for_ns;
  return {for_ns, end > kNoDeadline - kAnswerNs ? kNoDeadline : end + kAnswerNs};
}

Result<void> check_leased(const hb_import& imported) {
  if (imported.alias_of != nullptr)
    return fail(HB_INVALID, "an alias is the owner's own memory: steps are for those who import it");
  return {};
}

}  // namespace

Result<void> publish_step(Client& client, ExportRecord& record, std::uint64_t step,
                          std::uint64_t deadline_ns) {
  msg::Publish message;
  message.export_id = record.id;
  message.step = step;
  const auto reply = client.on_export(record, deadline_ns, Client::Part::kKnown, [&](Session& session) {
    return session.call(FrameType::kPublish, as_bytes(encoded(message)), {}, deadline_ns);
  });
  if (!reply) return tl::unexpected(reply.error());
  return {};
}

Result<std::uint64_t> wait_step(const hb_import& imported, std::uint64_t step, std::uint64_t deadline_ns) {
  if (auto leased = check_leased(imported); !leased) return tl::unexpected(std::move(leased.error()));
  const Wait wait = wait_until(deadline_ns);
  msg::WaitStep message;
  message.lease_id = imported.lease.id();
  message.step = step;
  message.wait_ns = wait.for_ns;
  const auto reply =
      imported.lease.session().call(FrameType::kWaitStep, as_bytes(encoded(message)), {}, wait.answer_by);
  if (!reply) return tl::unexpected(reply.error());
  const auto body = msg::decode<msg::WaitStepReply>(reply->body);
  if (!body) return fail(malformed(body.error()));
  return body->step;
}

Result<void> ack_step(const hb_import& imported, std::uint64_t step) {
  if (auto leased = check_leased(imported); !leased) return leased;
  if (!imported.lease.session().ack_step(imported.lease.id(), step))
    return fail(HB_CLOSED, "the session of the import was lost: export and import anew");
  return {};
}

Result<std::unique_ptr<hb_acks>> wait_acks(Client& client, ExportRecord& record, std::uint64_t step,
                                           std::uint64_t deadline_ns) {
  const Wait wait = wait_until(deadline_ns);
  msg::WaitAcks message;
  message.export_id = record.id;
  message.step = step;
  message.wait_ns = wait.for_ns;
  const auto reply = client.on_export(record, deadline_ns, Client::Part::kKnown, [&](Session& session) {
    return session.call(FrameType::kWaitAcks, as_bytes(encoded(message)), {}, wait.answer_by);
  });
  if (!reply) return tl::unexpected(reply.error());
  const auto body = msg::decode<msg::WaitAcksReply>(reply->body);
  if (!body) return fail(malformed(body.error()));
  auto acks = std::make_unique<hb_acks>();
  acks->acked = body->acked;
  for (const msg::Holder& holder : body->missing) acks->missing.push_back(held_of(holder, acks->texts));
  for (const msg::Holder& holder : body->left) acks->left.push_back(held_of(holder, acks->texts));
  acks->more_missing = body->more_missing;
  acks->more_left = body->more_left;
  return acks;
}

}  // namespace hb::client
