// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <algorithm>

#include "core/ending.h"
#include "core/export_rules.h"
#include "core/failure.h"
#include "core/page.h"
#include "core/verbs.h"
#include "wire/name.h"

namespace hb::core {

namespace {

void close_all(Call& call, const std::vector<HandleFacts>& handles) {
  for (const HandleFacts& handle : handles) call.closing.push_back(handle.id);
}

// Takes over the handles of a page that was found right. Handles held already go into `closing`.
void take_page(Call& call, SessionId session, const std::vector<NewChunk>& page,
               const std::vector<HandleFacts>& handles, std::vector<Chunk>& out, std::uint64_t& bytes) {
  AllocationTable& allocations = call.core.allocations;
  std::vector<AllocationId> taken(handles.size());
  out.reserve(out.size() + page.size());
  for (const NewChunk& chunk : page) {
    AllocationId& id = taken[chunk.handle];
    if (!id) {
      const AllocationTable::Taken result = allocations.take(handles[chunk.handle], chunk, session);
      id = result.id;
      if (result.duplicate) call.closing.push_back(handles[chunk.handle].id);
    }
    allocations.add_reference(id);
    out.push_back({id, chunk.offset, chunk.size, bytes});
    bytes += chunk.size;
  }
}

// A record for the name: the remembered one a generation on, or a new one.
std::uint32_t reserve(Core& core, const Principal& owner, const std::string& name) {
  if (!name.empty())
    if (const std::uint32_t slot = core.exports.find_name(owner.scope, owner.uid, name); slot != kNoSlot)
      return slot;
  return core.exports.create(owner.scope, owner.uid, name);
}

struct Completing {
  std::vector<Chunk> chunks;
  const std::string& metadata;
  std::uint32_t acl = 0;
  std::uint32_t placement = 0;
  HandleKind kind = HandleKind::kMemfd;
  Access max_access = Access::kNone;
};

Outcome complete(Call& call, Asker& asker, std::uint32_t slot, Completing&& with) {
  Core& core = call.core;
  Export& e = core.exports.at(slot);
  bool writable = true;
  e.all_sealed = true;
  e.size_declared = false;
  for (const Chunk& chunk : with.chunks) {
    const Allocation& allocation = core.allocations.at(chunk.allocation);
    writable = writable && allocation.writable;
    e.all_sealed = e.all_sealed && allocation.sealed;
    e.size_declared = e.size_declared || !allocation.size_known;
  }
  e.access = writable && with.max_access != Access::kRead ? Access::kReadWrite : Access::kRead;
  e.chunks = ChunkList(with.chunks, count_allocations(core, with.chunks));
  if (!with.metadata.empty()) e.metadata = std::make_unique<const std::string>(with.metadata);
  e.acl = with.acl;
  e.placement = with.placement;
  e.kind = with.kind;
  e.lifetime = Lifetime::kOwner;
  e.created = call.now;
  e.layout_version = 1;
  ++e.generation;
  core.exports.set_state(slot, ExportState::kLive);
  e.session = asker.id.slot();
  link_front<&Export::of_session>(core.exports.table(), asker.session.exports, slot);

  Exported out;
  out.id = core.exports.id_of(slot);
  out.generation = e.generation;
  out.layout_version = e.layout_version;
  out.received_chunks = with.chunks.size();
  out.complete = true;
  out.secret = derive_secret(core.config.master, out.id.value, e.generation);
  KeyFields fields;
  fields.broker = core.config.broker_id;
  fields.export_id = out.id.value;
  fields.generation = e.generation;
  fields.length = e.chunks.bytes();
  out.key = encode_key(fields, out.secret);
  out.access = e.access;
  Outcome outcome(std::move(out));
  outcome.completed = slot;
  return outcome;
}

Exported progress(const Core& core, const Staging& staging) {
  Exported out;
  out.id = core.exports.id_of(staging.exported);
  out.received_chunks = staging.chunks.size();
  return out;
}

std::optional<Error> refuse(const Core& core, const Principal& principal, const ExportRequest& request,
                            std::uint64_t descriptors) {
  if (principal.admin) return failure(HB_DENIED, "the admin socket exports nothing: use the main socket");
  if (auto refused = refuse_terms(request, principal.uid)) return refused;
  PageRules rules{request.kind,
                  promises_write(request),
                  request.total_chunks,
                  request.total_size,
                  0,
                  0,
                  request.distinct_handles};
  // Where all comes in one frame the frame itself says how many descriptors there are.
  if (request.chunks.size() >= request.total_chunks) rules.handles = descriptors;
  if (auto refused = refuse_page(rules, request.chunks, request.handles)) return refused;
  if (!request.name.empty()) {
    const std::uint32_t slot = core.exports.find_name(principal.scope, principal.uid, request.name);
    const ExportState state = slot == kNoSlot ? ExportState::kEnded : core.exports.at(slot).state;
    if (state != ExportState::kEnded)
      return failure(HB_EXISTS, "name \"", escape_for_display(request.name), "\" of uid ", principal.uid,
                     state == ExportState::kStaging ? " is being exported" : " is taken by a live export",
                     " of session ", core.sessions.id_of(core.exports.at(slot).session).value,
                     "; withdraw it or choose another name");
  }
  return core.fds.refuse("the export", core.fds_used(), descriptors);
}

}  // namespace

Outcome export_memory(Call& call, Asker& asker, ExportRequest& request) {
  Core& core = call.core;
  const Principal& principal = asker.session.principal;
  const std::uint64_t descriptors = std::max<std::uint64_t>(request.distinct_handles, request.handles.size());
  auto refused = refuse(core, principal, request, descriptors);
  const bool paged = request.total_chunks > request.chunks.size();
  if (!refused && paged) refused = Quota::charge(Resource::kStaging, asker.session.charges, principal.uid);
  if (refused) {
    close_all(call, request.handles);
    return std::move(*refused);
  }
  const std::uint32_t slot = reserve(core, principal, request.name);
  std::vector<Chunk> chunks;
  std::uint64_t bytes = 0;
  take_page(call, asker.id, request.chunks, request.handles, chunks, bytes);
  const std::uint32_t acl = core.exports.acls().take(request.acl);
  const std::uint32_t placement = core.exports.placements().take(request.placement);
  if (!paged)
    return complete(call, asker, slot,
                    {std::move(chunks), request.metadata, acl, placement, request.kind, request.max_access});

  auto staging = std::make_unique<Staging>();
  staging->exported = slot;
  staging->metadata = std::move(request.metadata);
  staging->acl = acl;
  staging->placement = placement;
  staging->kind = request.kind;
  staging->max_access = request.max_access;
  staging->promises_write = promises_write(request);
  staging->total_chunks = request.total_chunks;
  staging->total_size = request.total_size;
  staging->handles_to_come = descriptors - request.handles.size();
  staging->bytes = bytes;
  staging->chunks = std::move(chunks);
  core.fds.promise(staging->handles_to_come);
  core.exports.set_state(slot, ExportState::kStaging);
  core.exports.at(slot).session = asker.id.slot();
  asker.session.stagings.push_back(std::move(staging));
  return progress(core, *asker.session.stagings.back());
}

namespace {

Staging* staging_of(const Core& core, const Session& session, ExportId id) {
  for (const auto& staging : session.stagings)
    if (core.exports.id_of(staging->exported) == id) return staging.get();
  return nullptr;
}

}  // namespace

Outcome export_chunks(Call& call, Asker& asker, ExportChunksRequest& request) {
  Core& core = call.core;
  Staging* staging = staging_of(core, asker.session, request.id);
  if (staging == nullptr) {
    close_all(call, request.handles);
    return failure(HB_NOT_FOUND, "no export ", request.id.value,
                   " of this session is being sent: it is complete, or an error or abort ended it");
  }
  const std::uint64_t received = staging->chunks.size();
  std::optional<Error> refused;
  if (request.first != received)
    refused = chunk_failure(HB_PROTO, request.first, "out of order: chunk ", received, " comes next");
  if (!refused)
    refused = refuse_page({staging->kind, staging->promises_write, staging->total_chunks, staging->total_size,
                           received, staging->bytes, staging->handles_to_come},
                          request.chunks, request.handles);
  if (refused) {
    close_all(call, request.handles);
    drop_staging(call, asker.session, staging);
    return std::move(*refused);
  }
  take_page(call, asker.id, request.chunks, request.handles, staging->chunks, staging->bytes);
  core.fds.settle(request.handles.size());
  staging->handles_to_come -= request.handles.size();
  if (staging->chunks.size() < staging->total_chunks) return progress(core, *staging);

  // The export takes over what the staging counted; the rest of the promise is void.
  core.fds.settle(staging->handles_to_come);
  Quota::give_back(Resource::kStaging, asker.session.charges);
  const auto own = std::find_if(asker.session.stagings.begin(), asker.session.stagings.end(),
                                [&](const auto& entry) { return entry.get() == staging; });
  const std::unique_ptr<Staging> done = std::move(*own);
  asker.session.stagings.erase(own);
  return complete(
      call, asker, done->exported,
      {std::move(done->chunks), done->metadata, done->acl, done->placement, done->kind, done->max_access});
}

Outcome export_abort(Call& call, Asker& asker, const ExportAbortRequest& request) {
  Staging* staging = staging_of(call.core, asker.session, request.id);
  if (staging == nullptr)
    return failure(HB_NOT_FOUND, "no export ", request.id.value, " of this session is being sent");
  drop_staging(call, asker.session, staging);
  return failure(HB_OK);
}

}  // namespace hb::core
