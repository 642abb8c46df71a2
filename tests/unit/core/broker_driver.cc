// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "unit/core/broker_driver.h"

#include <algorithm>

#include "wire/frame.h"

namespace hb::test {

using namespace core;

BrokerDriver::BrokerDriver(const BrokerConfig& config) : broker(config) {
  for (std::uint64_t scope = 1; scope < 10; ++scope)
    broker.add_scope(ScopeId{scope}, "scope-" + std::to_string(scope), LimitSet::unlimited());
}

BrokerConfig BrokerDriver::default_config() {
  BrokerConfig config;
  config.broker_id[0] = 0xb1;
  config.master[0] = 0x5e;
  config.fd_limit = 20'000;
  config.fd_base = 10;
  config.retries = true;
  return config;
}

SessionId BrokerDriver::connect(std::uint32_t uid, std::vector<std::uint32_t> groups, std::uint64_t scope) {
  effects.clear();
  Principal principal;
  principal.scope = ScopeId{scope};
  principal.uid = uid;
  principal.gid = uid;
  groups.push_back(uid);
  std::sort(groups.begin(), groups.end());
  principal.groups = std::move(groups);
  const auto session = broker.connect(principal, ProcessInfo{uid + 70'000, "test", "/", ""}, now);
  EXPECT_TRUE(session) << session.error().message;
  settle();
  return session.value_or(SessionId{});
}

SessionId BrokerDriver::connect_admin() {
  Principal principal;
  principal.groups = {0};
  principal.admin = true;
  return broker.connect(principal, {}, now).value();
}

void BrokerDriver::disconnect(SessionId session) {
  effects.clear();
  broker.disconnect(session, now, effects);
  settle();
}

void BrokerDriver::remove_scope(std::uint64_t scope) {
  effects.clear();
  broker.remove_scope(ScopeId{scope}, now, effects);
  settle();
}

void BrokerDriver::lose_all_handles(std::uint64_t grace_ns) {
  std::vector<HandleId> all;
  for (const Broker::Held& held : broker.held()) all.push_back(held.handle);
  effects.clear();
  broker.lose_handles(all, now + grace_ns, now, effects);
  settle();
}

void BrokerDriver::lose_connection(SessionId session, std::uint64_t grace_ns) {
  effects.clear();
  broker.await_owner(session, now + grace_ns, now, effects);
  settle();
}

void BrokerDriver::advance(std::uint64_t ns) {
  now += ns;
  effects.clear();
  broker.tick(now, effects);
  settle();
}

ReplyBody BrokerDriver::ask(SessionId session, Request request) {
  return ask_as(session, ++last_request_, std::move(request));
}

ReplyBody BrokerDriver::ask_as(SessionId session, std::uint64_t id, Request request) {
  run(session, id, std::move(request));
  const Reply* reply = answer_to(session, id);
  if (reply != nullptr) return reply->body;
  ADD_FAILURE() << "request " << id << " was not answered";
  return Error{};
}

ReplyBody BrokerDriver::ask_unchecked(SessionId session, Request request) {
  effects.clear();
  broker.apply(session, ++last_request_, static_cast<std::uint16_t>(FrameType::kAcquire), std::move(request),
               now, effects);
  return std::get<Reply>(effects.back()).body;
}

std::uint64_t BrokerDriver::send(SessionId session, Request request) {
  run(session, ++last_request_, std::move(request));
  return last_request_;
}

void BrokerDriver::send_as(SessionId session, std::uint64_t id, Request request) {
  run(session, id, std::move(request));
}

const Reply* BrokerDriver::answer_to(SessionId session, std::uint64_t id) const {
  for (const Effect& effect : effects)
    if (const auto* reply = std::get_if<Reply>(&effect))
      if (reply->session == session && reply->request_id == id) return reply;
  return nullptr;
}

void BrokerDriver::run(SessionId session, std::uint64_t id, Request request) {
  effects.clear();
  broker.apply(session, id, static_cast<std::uint16_t>(FrameType::kAcquire), std::move(request), now,
               effects);
  settle();
}

void BrokerDriver::settle() {
  for (const Effect& effect : effects) {
    if (const auto* close = std::get_if<CloseHandles>(&effect))
      for (const HandleId handle : close->handles) {
        ++handles_.at(handle.value);
        EXPECT_EQ(handles_[handle.value], 1) << "handle closed twice";
      }
    if (const auto* set = std::get_if<SetValidity>(&effect))
      words_[{set->session.value, set->slot}] = set->value;
  }
  EXPECT_EQ(check_invariants(broker), "");
  // memfd() hands out handles that a request has not given yet: those are counted by the tests themselves.
  EXPECT_LE(counters().allocations, open_handles());
}

std::size_t BrokerDriver::open_handles() const {
  return static_cast<std::size_t>(
      std::count_if(handles_.begin(), handles_.end(), [](const auto& entry) { return entry.second == 0; }));
}

std::uint32_t BrokerDriver::word(SessionId session, std::uint32_t slot) const {
  const auto found = words_.find({session.value, slot});
  return found == words_.end() ? 0 : found->second;
}

HandleFacts BrokerDriver::memfd(std::uint64_t size, std::optional<std::uint64_t> inode, bool writable) {
  HandleFacts facts;
  facts.id = HandleId{++last_handle_};
  handles_[facts.id.value] = 0;
  facts.writable = writable;
  facts.size_known = true;
  facts.size = size;
  facts.identity_known = true;
  facts.device = 1;
  facts.inode = inode ? *inode : ++last_inode_;
  return facts;
}

HandleFacts BrokerDriver::driver_handle() {
  HandleFacts facts;
  facts.id = HandleId{++last_handle_};
  handles_[facts.id.value] = 0;
  facts.kind = HandleKind::kDriver;
  facts.writable = true;
  return facts;
}

ExportRequest BrokerDriver::simple(const std::string& name, std::uint64_t size) {
  return chunked(name, 1, size);
}

ExportRequest BrokerDriver::chunked(const std::string& name, std::size_t chunks, std::uint64_t size) {
  ExportRequest request;
  request.name = name;
  request.total_chunks = chunks;
  request.total_size = chunks * size;
  request.distinct_handles = chunks;
  for (std::size_t i = 0; i < chunks; ++i) {
    request.handles.push_back(memfd(size));
    NewChunk chunk;
    chunk.handle = static_cast<std::uint32_t>(i);
    chunk.size = size;
    request.chunks.push_back(chunk);
  }
  return request;
}

Exported BrokerDriver::exported(SessionId session, ExportRequest request) {
  const ReplyBody body = ask(session, std::move(request));
  if (const auto* out = std::get_if<Exported>(&body)) return *out;
  ADD_FAILURE() << error_of(body).message;
  return {};
}

Exported BrokerDriver::exported_paged(SessionId session, const std::string& name, std::size_t chunks,
                                      std::uint64_t size, std::size_t per_page) {
  ExportRequest first = chunked(name, std::min(chunks, per_page), size);
  first.total_chunks = chunks;
  first.total_size = chunks * size;
  first.distinct_handles = chunks;
  Exported out = exported(session, std::move(first));
  for (std::size_t sent = per_page; sent < chunks; sent += per_page) {
    EXPECT_FALSE(out.complete);
    EXPECT_EQ(out.received_chunks, sent);
    ExportRequest page = chunked("", std::min(per_page, chunks - sent), size);
    const ReplyBody body =
        ask(session, ExportChunksRequest{out.id, sent, std::move(page.chunks), std::move(page.handles)});
    if (status_of(body) != HB_OK) {
      ADD_FAILURE() << error_of(body).message;
      return {};
    }
    out = std::get<Exported>(body);
  }
  EXPECT_TRUE(out.complete);
  return out;
}

Acquired BrokerDriver::acquired(SessionId session, AcquireRequest request) {
  const ReplyBody body = ask(session, std::move(request));
  if (const auto* out = std::get_if<Acquired>(&body)) return *out;
  ADD_FAILURE() << error_of(body).message;
  return {};
}

AcquireRequest by_name(const std::string& name, std::optional<std::uint32_t> owner) {
  AcquireRequest request;
  request.target = NameRef{name, owner};
  request.max_handles = 253;
  return request;
}

AcquireRequest by_key(const KeyBytes& key) {
  AcquireRequest request;
  request.target = key;
  request.max_handles = 253;
  return request;
}

AcquireRequest writing(AcquireRequest request) {
  request.access = Access::kReadWrite;
  return request;
}

AcquireRequest ranged(AcquireRequest request, std::uint64_t offset, std::uint64_t length) {
  request.offset = offset;
  request.length = length;
  return request;
}

AcquireRequest waiting(AcquireRequest request, std::uint64_t ns) {
  request.wait_ns = ns;
  return request;
}

KeyBytes sub_key(const Exported& exported, std::uint64_t offset, std::uint64_t length) {
  KeyFields fields = decode_key(exported.key);
  fields.offset = offset;
  fields.length = length;
  return encode_key(fields, exported.secret);
}

hb_status status_of(const ReplyBody& body) {
  const auto* error = std::get_if<Error>(&body);
  return error == nullptr ? HB_OK : error->status;
}

const Error& error_of(const ReplyBody& body) {
  static const Error kNone{HB_OK, "not an error", {}, 0, 0, {}, 0};
  const auto* error = std::get_if<Error>(&body);
  return error == nullptr ? kNone : *error;
}

AclEntry uid_reads(std::uint32_t uid) { return {AclEntry::Kind::kUid, uid, Access::kRead}; }
AclEntry uid_writes(std::uint32_t uid) { return {AclEntry::Kind::kUid, uid, Access::kReadWrite}; }
AclEntry gid_reads(std::uint32_t gid) { return {AclEntry::Kind::kGid, gid, Access::kRead}; }

}  // namespace hb::test
