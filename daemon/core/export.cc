// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <algorithm>

#include "core/access_rules.h"
#include "core/awaiting.h"
#include "core/ending.h"
#include "core/export_rules.h"
#include "core/failure.h"
#include "core/lookup.h"
#include "core/page.h"
#include "core/quota.h"
#include "core/staging.h"
#include "core/verbs.h"
#include "wire/name.h"

namespace hb::core {

void close_all(Call& call, const std::vector<HandleFacts>& handles) {
  for (const HandleFacts& handle : handles) call.closing.push_back(handle.id);
}

std::optional<Error> promise(Core& core, Session& session, const Promise& what) {
  Promise kept;
  std::optional<Error> refused;
  const auto take = [&](Resource resource, std::uint64_t amount) {
    if (!refused && amount != 0) refused = charge(core, session, resource, amount);
    return !refused;
  };
  kept.paged = take(Resource::kStagings, what.paged ? 1 : 0) && what.paged;
  kept.new_export = take(Resource::kExports, what.new_export ? 1 : 0) && what.new_export;
  kept.chunks = take(Resource::kChunks, what.chunks) ? what.chunks : 0;
  kept.descriptors = take(Resource::kDescriptors, what.descriptors) ? what.descriptors : 0;
  if (refused) break_promise(core, session, kept);
  return refused;
}

void break_promise(Core& core, Session& session, const Promise& what) {
  if (what.paged) give_back(core, session, Resource::kStagings);
  if (what.new_export) give_back(core, session, Resource::kExports);
  give_back(core, session, Resource::kChunks, what.chunks);
  give_back(core, session, Resource::kDescriptors, what.descriptors);
}

Promise promise_of(const Staging& staging) {
  return {true, staging.change == ChangeRequest::Kind::kNone, staging.total_chunks, staging.handles_to_come};
}

std::optional<Error> take_page(Call& call, Asker& asker, const std::vector<NewChunk>& page,
                               const std::vector<HandleFacts>& handles, std::vector<Chunk>& out,
                               std::uint64_t& bytes) {
  Core& core = call.core;
  const std::uint32_t account = asker.session.account;
  const std::uint64_t charged = core.accounts.at(account).used.of(Resource::kBytes);
  const std::size_t before = out.size();
  const std::uint64_t bytes_before = bytes;
  give_back(core, asker.session, Resource::kDescriptors, handles.size());
  std::vector<AllocationId> taken(handles.size());
  for (const NewChunk& chunk : page) {
    AllocationId& id = taken[chunk.handle];
    if (!id) {
      const AllocationTable::Taken result = core.allocations.take(handles[chunk.handle], chunk, asker.id);
      id = result.id;
      if (result.duplicate) call.closing.push_back(handles[chunk.handle].id);
    }
    add_chunk(core, account, id);
    out.push_back({id, chunk.offset, chunk.size, bytes});
    bytes += chunk.size;
  }
  auto refused = over_limit(core, asker.session, Resource::kBytes, charged);
  if (!refused) return std::nullopt;
  for (std::size_t i = before; i < out.size(); ++i) drop_chunk(call, account, out[i].allocation);
  out.resize(before);
  bytes = bytes_before;
  return refused;
}

Staging* staging_of(const Core& core, const Session& session, ExportId id) {
  for (const auto& staging : session.stagings)
    if (core.exports.id_of(staging->exported) == id) return staging.get();
  return nullptr;
}

std::unique_ptr<Staging> take_staging(Core& core, Session& session, const Staging* staging) {
  core.fds.settle(staging->handles_to_come);  // the rest of the promise is void
  break_promise(core, session, {true, false, 0, staging->handles_to_come});
  const auto own = std::find_if(session.stagings.begin(), session.stagings.end(),
                                [&](const auto& entry) { return entry.get() == staging; });
  std::unique_ptr<Staging> taken = std::move(*own);
  session.stagings.erase(own);
  return taken;
}

Exported progress(const Core& core, const Staging& staging) {
  Exported out;
  out.id = core.exports.id_of(staging.exported);
  out.received_chunks = staging.chunks.size();
  return out;
}

void settle_chunks(Core& core, Export& e, const std::vector<Chunk>& chunks) {
  e.all_sealed = true;
  e.size_declared = false;
  for (const Chunk& chunk : chunks) {
    const Allocation& allocation = core.allocations.at(chunk.allocation);
    e.all_sealed = e.all_sealed && allocation.sealed;
    e.size_declared = e.size_declared || !allocation.size_known;
  }
  e.chunks = ChunkList(chunks, count_allocations(core, chunks));
  e.chunks_changed = true;
}

Exported exported_reply(const Core& core, std::uint32_t slot) {
  const Export& e = core.exports.at(slot);
  Exported out;
  out.id = core.exports.id_of(slot);
  out.generation = e.generation;
  out.layout_version = e.layout_version;
  out.received_chunks = e.chunks.all().size();
  out.complete = true;
  out.size = e.size();
  out.secret = derive_secret(core.config.master, out.id.value, e.generation);
  KeyFields fields;
  fields.broker = core.config.broker_id;
  fields.export_id = out.id.value;
  fields.generation = e.generation;
  fields.length = e.max_size() != 0 ? kToTheEnd : e.size();
  out.key = encode_key(fields, out.secret);
  out.access = e.access;
  out.token = token_of(core, slot);
  return out;
}

namespace {

struct Completing {
  std::vector<Chunk> chunks;
  const std::string& metadata;
  std::uint32_t acl = 0;
  std::uint32_t placement = 0;
  HandleKind kind = HandleKind::kMemfd;
  Access max_access = Access::kNone;
  std::uint64_t max_size = 0;
  bool replace = false;
  Lifetime lifetime = Lifetime::kOwner;
  std::uint64_t linger_ns = 0;
};

Outcome complete(Call& call, Asker& asker, std::uint32_t slot, Completing&& with) {
  Core& core = call.core;
  Export& e = core.exports.at(slot);
  Outcome outcome;
  if (const Name* name = core.exports.name_of(e); name != nullptr && name->current != kNoSlot) {
    end_export(call, name->current, ExportState::kWithdrawn);
    outcome.after_close = true;
  }
  settle_chunks(core, e, with.chunks);
  const bool writable = std::all_of(with.chunks.begin(), with.chunks.end(), [&](const Chunk& chunk) {
    return core.allocations.at(chunk.allocation).writable;
  });
  e.access = writable && with.max_access != Access::kRead ? Access::kReadWrite : Access::kRead;
  if (!with.metadata.empty()) e.metadata = std::make_unique<const std::string>(with.metadata);
  e.acl = with.acl;
  e.placement = with.placement;
  e.kind = with.kind;
  e.lifetime = with.lifetime;
  if (with.max_size != 0) core.exports.life_of(slot).max_size = with.max_size;
  if (with.linger_ns != 0) core.exports.life_of(slot).linger_ns = with.linger_ns;
  e.created = call.now;
  e.layout_version = 1;
  core.exports.complete(slot);
  link_owner(core, slot, asker.id.slot());
  outcome.body = exported_reply(core, slot);
  outcome.completed = slot;
  return outcome;
}

// May this export take the name from what bears it now?
std::optional<Error> refuse_name(const Core& core, const Asker& asker, const std::string& text,
                                 bool replace) {
  const Principal& principal = asker.session.principal;
  const Name* const name = core.exports.find_name(principal.scope, principal.uid, text);
  if (name == nullptr) return std::nullopt;
  const auto taken = [&](std::string_view by, std::uint32_t session) {
    return failure(
        HB_EXISTS, "name \"", escape_for_display(text), "\" of uid ", principal.uid, by,
        session == kNoSlot ? std::string() : core::text(" of session ", core.sessions.id_of(session).value),
        session == kNoSlot ? "; claim it, export it with `replace`, or choose another name"
                           : "; withdraw it or choose another name");
  };
  if (name->staging != kNoSlot) return taken(" is being exported", core.exports.at(name->staging).session);
  if (name->current == kNoSlot) return std::nullopt;
  const Export& e = core.exports.at(name->current);
  if (e.state == ExportState::kOrphaned)
    return replace ? std::nullopt
                   : std::optional(taken(" is taken by an export whose owner has gone", kNoSlot));
  if (replace && e.session == asker.id.slot()) return std::nullopt;
  return taken(" is taken by a live export", e.session);
}

std::optional<Error> refuse(const Core& core, const Asker& asker, const ExportRequest& request,
                            std::uint64_t descriptors) {
  const Principal& principal = asker.session.principal;
  if (principal.admin) return failure(HB_DENIED, "the admin socket exports nothing: use the main socket");
  if (auto refused = refuse_verb(core, principal, Verb::kExport)) return refused;
  if (auto refused = refuse_terms(core, request, principal)) return refused;
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
  if (!request.name.empty())
    if (auto refused = refuse_name(core, asker, request.name, request.replace)) return refused;
  return core.fds.refuse("the export", core.fds_used(), descriptors);
}

}  // namespace

Outcome export_memory(Call& call, Asker& asker, ExportRequest& request) {
  Core& core = call.core;
  const std::uint64_t descriptors = std::max<std::uint64_t>(request.distinct_handles, request.handles.size());
  auto refused = refuse(core, asker, request, descriptors);
  const bool paged = request.total_chunks > request.chunks.size();
  Promise made{paged, true, request.total_chunks, descriptors};
  if (!refused) refused = promise(core, asker.session, made);
  if (refused) {
    close_all(call, request.handles);
    return std::move(*refused);
  }
  std::vector<Chunk> chunks;
  std::uint64_t bytes = 0;
  refused = take_page(call, asker, request.chunks, request.handles, chunks, bytes);
  made.descriptors -= request.handles.size();
  if (refused) {
    break_promise(core, asker.session, made);
    return std::move(*refused);
  }
  const std::uint32_t slot = core.exports.create(asker.session.account, request.name);
  const std::uint32_t acl = core.exports.acls().take(request.acl);
  const std::uint32_t placement = core.exports.placements().take(request.placement);
  if (!paged) {
    break_promise(core, asker.session, {false, false, 0, made.descriptors});
    return complete(call, asker, slot,
                    {std::move(chunks), request.metadata, acl, placement, request.kind, request.max_access,
                     request.max_size, request.replace, request.lifetime, request.linger_ns});
  }

  auto staging = std::make_unique<Staging>();
  staging->exported = slot;
  staging->metadata = std::move(request.metadata);
  staging->acl = acl;
  staging->placement = placement;
  staging->kind = request.kind;
  staging->max_access = request.max_access;
  staging->max_size = request.max_size;
  staging->replace = request.replace;
  staging->lifetime = request.lifetime;
  staging->linger_ns = request.linger_ns;
  staging->promises_write = promises_write(request);
  staging->total_chunks = request.total_chunks;
  staging->total_size = request.total_size;
  staging->handles_to_come = made.descriptors;
  staging->bytes = bytes;
  staging->chunks = std::move(chunks);
  core.fds.promise(staging->handles_to_come);
  core.exports.set_state(slot, ExportState::kStaging);
  core.exports.at(slot).session = asker.id.slot();
  asker.session.stagings.push_back(std::move(staging));
  return progress(core, *asker.session.stagings.back());
}

namespace {

Outcome complete_staged(Call& call, Asker& asker, Staging* staging) {
  Core& core = call.core;
  // What bears the name may have got another owner meanwhile.
  const Export& e = core.exports.at(staging->exported);
  const Name* const name = core.exports.name_of(e);
  if (name != nullptr && name->current != kNoSlot) {
    const Export& bearer = core.exports.at(name->current);
    if (bearer.session != kNoSlot && bearer.session != asker.id.slot()) {
      Error error =
          failure(HB_EXISTS, "name \"", escape_for_display(name->text), "\" was claimed by session ",
                  core.sessions.id_of(bearer.session).value, " while the export was being sent");
      drop_staging(call, asker.session, staging);
      return error;
    }
  }
  const std::unique_ptr<Staging> done = take_staging(core, asker.session, staging);
  return complete(call, asker, done->exported,
                  {std::move(done->chunks), done->metadata, done->acl, done->placement, done->kind,
                   done->max_access, done->max_size, done->replace, done->lifetime, done->linger_ns});
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
                           received, staging->bytes, staging->handles_to_come,
                           staging->change == ChangeRequest::Kind::kNone ? 0 : staging->first},
                          request.chunks, request.handles);
  if (!refused && staging->change != ChangeRequest::Kind::kNone)
    refused = refuse_change_page(core, *staging, received, request.chunks, request.handles);
  if (refused) {
    close_all(call, request.handles);
    drop_staging(call, asker.session, staging);
    return std::move(*refused);
  }
  refused = take_page(call, asker, request.chunks, request.handles, staging->chunks, staging->bytes);
  core.fds.settle(request.handles.size());
  staging->handles_to_come -= request.handles.size();
  if (refused) {
    drop_staging(call, asker.session, staging);
    return std::move(*refused);
  }
  if (staging->chunks.size() < staging->total_chunks) return progress(core, *staging);
  if (staging->change == ChangeRequest::Kind::kNone) return complete_staged(call, asker, staging);
  return apply_change(call, *take_staging(core, asker.session, staging));
}

Outcome export_abort(Call& call, Asker& asker, const ExportAbortRequest& request) {
  Staging* staging = staging_of(call.core, asker.session, request.id);
  if (staging == nullptr)
    return failure(HB_NOT_FOUND, "no export ", request.id.value, " of this session is being sent");
  drop_staging(call, asker.session, staging);
  return failure(HB_OK);
}

}  // namespace hb::core
