// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What a session does with each request: the edge answers some itself, the core the rest.
#include <algorithm>
#include <utility>

#include "ipc/audit_admin.h"
#include "ipc/session.h"
#include "ipc/translate_admin.h"
#include "wire/limits.h"

namespace hb::ipc {
namespace {

EdgeError version_error(const HelloRequest& hello) {
  const auto range = [](std::uint32_t low, std::uint32_t high) {
    return std::to_string(low) + " to " + std::to_string(high);
  };
  return edge_error(HB_VERSION, "no common protocol version: the client speaks " +
                                    range(hello.lowest_version, hello.highest_version) + ", " +
                                    daemon_name() + " speaks " +
                                    range(limits::kLowestVersion, limits::kHighestVersion));
}

EdgeError not_let_in(std::uint32_t uid, const Scope& scope) {
  return edge_error(HB_DENIED, "uid " + std::to_string(uid) + " may not enter scope " + scope.name +
                                   ": it is not one of those that the scope was made for; whoever runs the "
                                   "node can make it anew with this uid named, which ends what is in it");
}

}  // namespace

void Session::on_request(const Method& method, const FrameView& frame, std::vector<UniqueFd> fds) {
  const std::uint64_t request_id = frame.header.request_id;
  if (method.admin_only && !principal_.admin) {
    return answer(request_id,
                  edge_error(HB_DENIED, std::string(method.name) + " is answered on the admin socket only"));
  }
  if (is_admin_request(method.type)) return on_admin_request(frame);
  switch (method.type) {
    case FrameType::kHello:
      return on_hello(frame);
    case FrameType::kSharePage:
      return on_share_page(request_id);
    case FrameType::kPing: {
      const auto payload = host_.reader().read_ping(frame.body);
      if (!payload) {
        return payload.error().status == HB_PROTO ? fail(request_id, payload.error())
                                                  : answer(request_id, payload.error());
      }
      return deliver({request_id, engine_.writer().ping(request_id, *payload, engine_.uptime_ns()), {}});
    }
    default:
      return on_core_request(method, frame, std::move(fds));
  }
}

void Session::on_hello(const FrameView& frame) {
  const std::uint64_t request_id = frame.header.request_id;
  if (state_ != SessionState::kAwaitHello) {
    return fail(request_id, edge_error(HB_PROTO, "a second Hello in one session"));
  }
  const auto hello = host_.reader().read_hello(frame.body);
  if (!hello) return fail(request_id, hello.error());
  if (hello->lowest_version > limits::kHighestVersion || hello->highest_version < limits::kLowestVersion ||
      hello->lowest_version > hello->highest_version) {
    return fail(request_id, version_error(*hello));
  }
  if (!scope_->admits(who_.uid)) return fail(request_id, not_let_in(who_.uid, *scope_));
  // The admin's right comes with the directory of the socket, not with a uid.
  if (!uid_known_ && !principal_.admin) {
    return fail(
        request_id,
        edge_error(HB_DENIED, "this uid has no number in the daemon's user namespace and shows there as " +
                                  std::to_string(who_.uid) +
                                  ", as all such do; map it, or run the daemon where it is mapped"));
  }
  if (engine_.draining() && !principal_.admin) {
    const EdgeError busy = edge_error(HB_BUSY,
                                      "hipbrokerd is drained before a restart and takes no new sessions; try "
                                      "again when it was started anew; an admin takes it back by "
                                      "hipbrokerctl drain --off");
    // Nobody's fault.
    host_.log_refusal(who_, "refused: the daemon is drained; its client tries again after the restart");
    deliver({request_id, engine_.writer().error(request_id, busy), {}});
    return fail_later(busy.message);
  }
  // Until now the edge counted this session's descriptors, from here on the core does.
  const auto own = static_cast<std::int64_t>(engine_.config().fds_per_session);
  engine_.note_fds(-own);
  const auto session = engine_.connect(principal_, process_, *this);
  if (!session) {
    engine_.note_fds(own);
    EdgeError error;
    static_cast<core::Error&>(error) = session.error();
    return fail(request_id, error);
  }
  process_.cgroup = std::string();  // the core has it
  id_ = *session;
  set_state(SessionState::kOpen);
  deadline_.cancel();
  edge_.resumes = hello->resumes;
  edge_.uid_unknown = !uid_known_;
  // Parked before it is recorded, and both before the client hears of it: what it hears is true.
  const bool parked = park_socket();
  engine_.note_edge(id_, edge_.word());
  HelloAnswer reply;
  reply.version = std::min(hello->highest_version, limits::kHighestVersion);
  reply.broker_id = engine_.config().broker_id;
  reply.session_id = id_.value;
  reply.scope = scope_->name;
  reply.admin = principal_.admin;
  reply.uid = who_.uid;
  reply.pid = who_.pid;
  reply.resumes = parked;
  deliver({request_id, engine_.writer().hello(request_id, reply), {}});
}

// Asked again (the answer met a client without free descriptors): the page is made anew, and what the session
// may have cached under the old one counts no more.
void Session::on_share_page(std::uint64_t request_id) {
  const bool kept = keeps() && engine_.has_room(1);
  auto made = os::ValidityPage::make(kept ? os::ValidityPage::Lives::kBeyondIt
                                          : os::ValidityPage::Lives::kWithProcess);
  if (!made) {
    return answer(request_id, engine_.system_error("the page of validity words", made.error()));
  }
  if (page_) page_.clear(static_cast<std::uint32_t>(words_.size()));
  page_ = std::move(made->page);
  for (std::uint32_t slot = 0; slot < words_.size(); ++slot) page_.store(slot, words_[slot]);
  if (keeps()) keep_page(std::move(made->memory));
  deliver_owned({request_id, engine_.writer().share_page(request_id), {}}, std::move(made->descriptor));
}

void Session::on_admin_request(const FrameView& frame) {
  const std::uint64_t request_id = frame.header.request_id;
  auto request = read_admin(frame.header.type, frame.body);
  if (!request) {
    return request.error().status == HB_PROTO ? fail(request_id, request.error())
                                              : answer(request_id, request.error());
  }
  Administration* const administration = host_.administration();
  if (administration == nullptr)
    return answer(request_id, edge_error(HB_UNSUPPORTED, "this daemon has no administration"));
  if (auto* drain = std::get_if<Drain>(&*request)) drain->asker = id_;
  const auto reply = administration->carry_out(*request);
  if (!reply) return answer(request_id, reply.error());
  if (auto audit = audit_of(*request, *reply)) note(std::move(*audit));
  const std::vector<std::byte> bytes = write_admin(frame.header.type, request_id, *reply);
  if (frame.header.type == FrameType::kScopeRemove)
    return engine_.deliver_after_close(id_, {request_id, bytes, {}});
  deliver({request_id, bytes, {}});
}

void Session::on_core_request(const Method& method, const FrameView& frame, std::vector<UniqueFd> fds) {
  const std::uint64_t request_id = method.one_way ? 0 : frame.header.request_id;
  if (request_id != 0) {
    if (const auto refused = engine_.unanswered().refuse(principal_)) {
      engine_.dispose(std::move(fds), payer_);
      return answer(request_id, *refused);
    }
  }
  auto request = host_.reader().read(method.type, frame.body, fds.size());
  if (!request) {
    engine_.dispose(std::move(fds), payer_);
    return request.error().status == HB_PROTO ? fail(request_id, request.error())
                                              : answer(request_id, request.error());
  }
  if (const auto refused = engine_.refuse_early(id_, *request)) {
    engine_.dispose(std::move(fds), payer_);
    return answer(request_id, *refused);
  }
  if (!fds.empty() && !admit_into(*request, request_id, std::move(fds))) return;
  engine_.apply(id_, request_id, method.type, std::move(*request));
}

bool Session::admit_into(core::Request& request, std::uint64_t request_id, std::vector<UniqueFd> fds) {
  auto facts = engine_.admit(std::move(fds), payer_);
  const auto* more = std::get_if<core::ExportChunksRequest>(&request);
  const auto with_page = [&request](auto&& use) {  // the method table lets descriptors in with no others
    if (auto* first = std::get_if<core::ExportRequest>(&request)) return use(*first);
    if (auto* change = std::get_if<core::ChangeRequest>(&request)) return use(*change);
    return use(std::get<core::ExportChunksRequest>(request));
  };
  if (facts) {
    with_page([&](auto& page) { page.handles = std::move(*facts); });
    return true;
  }
  // Named by the chunk of what is sent, not by the frame's descriptor: that is what the exporter knows.
  std::uint64_t chunk = more != nullptr ? more->first : 0;
  with_page([&](const auto& page) {
    for (const core::NewChunk& candidate : page.chunks) {
      if (candidate.handle == facts.error().index) break;
      ++chunk;
    }
  });
  EdgeError error = edge_error(
      HB_BAD_HANDLE, "chunk " + std::to_string(chunk) + ": the descriptor is " + facts.error().reason);
  error.chunk = chunk + 1;
  host_.log_fault(who_, "refused: " + error.message);
  answer(request_id, error);
  // An export is whole or not at all, and so is a change. Of a first page the core has heard nothing.
  if (more != nullptr) engine_.apply(id_, 0, FrameType::kExportAbort, core::ExportAbortRequest{more->id});
  return false;
}

}  // namespace hb::ipc
