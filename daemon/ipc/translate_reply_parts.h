// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What the writers of several answers share, and one writer a message. Private to translate_reply*.cc.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/effect.h"
#include "hipbroker/v1/broker.pb.h"

namespace hb::ipc {

namespace v1 = hipbroker::v1;

template <std::size_t kBytes>
void set_bytes(std::string* field, const std::array<std::uint8_t, kBytes>& bytes) {
  field->assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

[[nodiscard]] inline std::uint32_t number(core::Access access) { return static_cast<std::uint32_t>(access); }
[[nodiscard]] inline std::uint32_t number(core::Level level) { return static_cast<std::uint32_t>(level); }

// --- translate_reply_share.cc -------------------------------------------------------------------
void fill(v1::Device* out, const core::Device& device);
void fill(google::protobuf::RepeatedPtrField<v1::Device>* out, const std::vector<core::Device>& devices);
// `before`: descriptors of the frame that belong to others, in front of this page's.
void fill(google::protobuf::RepeatedPtrField<v1::Chunk>* out, const core::Page& page, std::uint32_t before);
void fill(v1::Process* out, const core::SessionInfo& session);
void fill(v1::Holder* out, const core::Holder& holder);
void fill(google::protobuf::RepeatedPtrField<v1::Holder>* out, const std::vector<core::Holder>& holders);
void fill(v1::ExportReply* out, const core::Exported& exported);
void fill(v1::AcquireReply* out, const core::Acquired& acquired, std::uint32_t before = 0);
void fill(v1::ExportInfo* out, const core::ExportInfo& info);
void fill(v1::FetchReply* out, const core::Fetched& fetched);
void fill(v1::WithdrawReply* out, const core::Withdrawn& withdrawn);
void fill(v1::ListReply* out, const core::Listed& listed);
void fill(v1::ShowReply* out, const core::Shown& shown);
void fill(v1::WhoReply* out, const core::WhoListed& who);
void fill(v1::StatusReply* out, const core::Counters& counters);
void fill(v1::QuotaListReply* out, const core::QuotaListed& listed);

// --- translate_reply_life.cc --------------------------------------------------------------------
void fill(v1::RefreshReply* out, const core::Refreshed& refreshed);
void fill(v1::Event* out, const core::Event& event);
void fill(v1::MakeTicketReply* out, const core::TicketMade& made);
void fill(v1::TakeEventsReply* out, const core::EventsTaken& taken);
void fill(v1::WaitStepReply* out, const core::StepWaited& waited);
void fill(v1::WaitAcksReply* out, const core::AcksWaited& waited);
void fill(v1::JoinReply* out, const core::Joined& joined);
void fill(v1::GroupAppendReply* out, const core::GroupAppended& appended);
inline void fill(v1::DropTicketReply* /*out*/, const core::TicketDropped& /*dropped*/) {}
inline void fill(v1::SubscribeReply* /*out*/, const core::Subscribed& /*subscribed*/) {}
inline void fill(v1::PublishReply* /*out*/, const core::Published& /*published*/) {}
inline void fill(v1::ReadyReply* /*out*/, const core::GroupReady& /*ready*/) {}

}  // namespace hb::ipc
