// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/lookup.h"

#include <algorithm>
#include <map>

#include "core/access_rules.h"
#include "core/failure.h"
#include "wire/key.h"
#include "wire/limits.h"
#include "wire/name.h"

namespace hb::core {

namespace {

Error unknown_key() {
  return failure(HB_NOT_FOUND,
                 "the key names nothing here: it is of another broker or scope, is damaged, or its "
                 "export ended long ago");
}

Error denied_key(const Principal& who) {
  return failure(HB_DENIED, "the key is true, but uid ", who.uid,
                 " has no right to read what it names; its owner can grant it");
}

}  // namespace

tl::expected<Found, Error> find_by_key(const Core& core, const Principal& who, const KeyBytes& key) {
  const KeyFields fields = decode_key(key);
  if (fields.version != kKeyVersion)
    return tl::unexpected(
        failure(HB_VERSION, "key version ", fields.version, ", this daemon knows ", kKeyVersion));
  if (fields.kind == KeyKind::kTicket)
    return tl::unexpected(
        failure(HB_INVALID, "this is a ticket: it is acquired, once; use the name or a key here"));
  if (fields.kind != KeyKind::kKey)
    return tl::unexpected(failure(HB_UNSUPPORTED, "key kind ", static_cast<unsigned>(fields.kind),
                                  " is not known to this daemon"));
  if (fields.broker != core.config.broker_id) return tl::unexpected(unknown_key());

  const ExportId id{fields.export_id};
  const Export* e = core.exports.find(id);
  if (e == nullptr || (e->scope != who.scope && !who.admin)) return tl::unexpected(unknown_key());
  // Generation 0 was never given out: no key of it can be true.
  if (fields.generation == 0 || fields.generation > e->generation) return tl::unexpected(unknown_key());
  if (!key_is_authentic(key, derive_secret(core.config.master, fields.export_id, fields.generation)))
    return tl::unexpected(unknown_key());

  if (fields.generation < e->generation) {
    if (!may_see(core.exports, *e, who)) return tl::unexpected(unknown_key());
    return tl::unexpected(failure(HB_STALE, "the key is of generation ", fields.generation,
                                  ", its export was claimed and is at ", e->generation,
                                  "; get a new key or use the name"));
  }
  if (!is_current(e->state)) {
    if (!has_ended(e->state) || !may_see(core.exports, *e, who)) return tl::unexpected(unknown_key());
    return tl::unexpected(ended_error(core, *e));
  }
  if (!may_see(core.exports, *e, who)) return tl::unexpected(denied_key(who));

  const std::uint64_t size = e->size();
  const bool follows = fields.length == kToTheEnd && e->max_size() != 0 && fields.offset < size;
  if (!follows && (fields.length == 0 || fields.offset > size || fields.length > size - fields.offset))
    return tl::unexpected(failure(HB_RANGE, "the key names offset ", fields.offset, " and length ",
                                  fields.length, ", the export has ", size, " bytes"));
  return Found{id.slot(), fields.offset, follows ? size - fields.offset : fields.length, follows};
}

namespace {

Error no_such_name(const Principal& who, const NameRef& ref) {
  return failure(HB_NOT_FOUND, "no export named \"", escape_for_display(ref.name), "\" of uid ",
                 ref.owner_uid.value_or(who.uid), " that uid ", who.uid, " may read");
}

tl::expected<const Name*, Error> name_of(const Core& core, const Principal& who, const NameRef& ref) {
  if (const auto valid = check_name(ref.name); !valid)
    return tl::unexpected(failure(HB_INVALID, "name: ", valid.error()));
  return core.exports.find_name(who.scope, ref.owner_uid.value_or(who.uid), ref.name);
}

}  // namespace

tl::expected<Found, Error> find_by_name(const Core& core, const Principal& who, const NameRef& ref) {
  const auto name = name_of(core, who, ref);
  if (!name) return tl::unexpected(name.error());
  if (*name != nullptr && (*name)->current != kNoSlot) {
    const Export& e = core.exports.at((*name)->current);
    if (may_see(core.exports, e, who)) return Found{(*name)->current, 0, e.size(), true};
  }
  return tl::unexpected(no_such_name(who, ref));
}

tl::expected<Found, Error> find_by_id(const Core& core, const Principal& who, ExportId id) {
  const Export* e = core.exports.find(id);
  if (e != nullptr && may_see(core.exports, *e, who)) {
    if (is_current(e->state)) return Found{id.slot(), 0, e->size(), true};
    if (has_ended(e->state)) return tl::unexpected(failure(HB_GONE, "export ", id.value, " has ended"));
  }
  return tl::unexpected(failure(HB_NOT_FOUND, "no export ", id.value, " that uid ", who.uid, " may read"));
}

namespace {

// What a name stands for to somebody who looks: what bears it, else what is held still, else what bore it
// last.
enum class Known { kCurrent, kHeld, kRemembered, kNot };
struct Looked {
  Known known = Known::kNot;
  std::uint32_t slot = kNoSlot;
};

Looked look_at(const Core& core, const Principal& who, const Name& name) {
  const auto seen = [&](std::uint32_t slot) {
    return slot != kNoSlot && may_see(core.exports, core.exports.at(slot), who);
  };
  if (seen(name.current)) return {Known::kCurrent, name.current};
  std::size_t searched = 0;
  for (std::uint32_t slot = name.held; slot != kNoSlot && searched < limits::kListEntries;
       slot = core.exports.at(slot).of_session.next, ++searched)
    if (seen(slot)) return {Known::kHeld, slot};
  if (seen(name.latest)) return {Known::kRemembered, name.latest};
  return {};
}

// The admin's name is of any scope, as long as one alone has it.
tl::expected<std::uint32_t, Error> find_name_anywhere(const Core& core, const Principal& who,
                                                      const NameRef& ref) {
  Looked best;
  std::map<std::uint64_t, std::string> scopes;  // that have the best
  for (const auto& [id, scope] : core.accounts.scopes()) {
    const Name* const name = core.exports.find_name(scope.id, ref.owner_uid.value_or(who.uid), ref.name);
    if (name == nullptr) continue;
    const Looked looked = look_at(core, who, *name);
    if (looked.known > best.known || looked.known == Known::kNot) continue;
    if (looked.known < best.known) scopes.clear();
    if (looked.known < best.known || scopes.empty() || id < scopes.begin()->first) best = looked;
    scopes.emplace(id, scope.name);
  }
  if (best.known == Known::kNot) return tl::unexpected(no_such_name(who, ref));
  if (scopes.size() == 1 || best.known == Known::kRemembered) return best.slot;
  std::string text;
  for (const auto& [id, scope] : scopes) text += (text.empty() ? "" : ", ") + scope;
  return tl::unexpected(failure(HB_INVALID, "several scopes have an export named \"",
                                escape_for_display(ref.name), "\" of uid ", ref.owner_uid.value_or(who.uid),
                                ": ", text, "; name it by its id, which a list tells"));
}

}  // namespace

tl::expected<std::uint32_t, Error> find_to_look(const Core& core, const Principal& who,
                                                const Target& target) {
  if (const auto* ref = std::get_if<NameRef>(&target)) {
    const auto name = name_of(core, who, *ref);
    if (!name) return tl::unexpected(name.error());
    if (who.admin) return find_name_anywhere(core, who, *ref);
    const Looked looked = *name == nullptr ? Looked{} : look_at(core, who, **name);
    if (looked.known == Known::kNot) return tl::unexpected(no_such_name(who, *ref));
    return looked.slot;
  }
  if (const auto* id = std::get_if<ExportId>(&target)) {
    const Export* e = core.exports.find(*id);
    if (e != nullptr && has_ended(e->state) && e->is_held() && may_see(core.exports, *e, who))
      return id->slot();
  }
  return find_target(core, who, target).map([](const Found& found) { return found.slot; });
}

tl::expected<std::uint32_t, Error> find_own(const Core& core, const Asker& asker, ExportId id) {
  const auto found = find_by_id(core, asker.session.principal, id);
  if (!found) return tl::unexpected(found.error());
  const Export& e = core.exports.at(found->slot);
  if (e.owner_uid != asker.session.principal.uid)
    return tl::unexpected(failure(HB_DENIED, "export ", id.value, " belongs to uid ", e.owner_uid));
  if (e.session == kNoSlot)
    return tl::unexpected(failure(HB_DENIED, "the owner of export ", id.value, " has gone: claim it first"));
  if (e.session != asker.id.slot())
    return tl::unexpected(failure(HB_DENIED, "another session owns export ", id.value, ": session ",
                                  core.sessions.id_of(e.session).value, ", pid ",
                                  core.sessions.at(e.session).process->pid));
  return found->slot;
}

Error ended_error(const Core& core, const Export& exported) {
  const Name* const name = core.exports.name_of(exported);
  if (name != nullptr && name->generation > exported.generation)
    return failure(HB_STALE, "the key is of generation ", exported.generation, ", its export is at ",
                   name->generation, "; get a new key or use the name");
  if (exported.state == ExportState::kRevoked)
    return failure(HB_REVOKED, "the export was revoked: its owner or an admin took it back");
  return failure(HB_GONE, "the export of this key has ended");
}

tl::expected<Found, Error> find_target(const Core& core, const Principal& who, const Target& target) {
  if (const auto* key = std::get_if<KeyBytes>(&target)) return find_by_key(core, who, *key);
  if (const auto* name = std::get_if<NameRef>(&target)) return find_by_name(core, who, *name);
  if (const auto* id = std::get_if<ExportId>(&target)) return find_by_id(core, who, *id);
  return tl::unexpected(failure(HB_INVALID, "the request names no export"));
}

tl::expected<Range, Error> range_in(const Export& exported, const Found& target, std::uint64_t offset,
                                    std::uint64_t length) {
  if (offset >= target.length || length > target.length - offset)
    return tl::unexpected(failure(HB_RANGE, "offset ", offset, " and length ", length,
                                  length == 0 ? " (to the end)" : "", " do not lie inside the ",
                                  target.length, " bytes of the target"));
  Range range;
  range.offset = target.offset + offset;
  range.length = length == 0 ? target.length - offset : length;
  const std::span<const Chunk> chunks = exported.chunks.all();
  const auto after = [&](std::uint64_t byte) {
    return std::upper_bound(chunks.begin(), chunks.end(), byte,
                            [](std::uint64_t at, const Chunk& chunk) { return at < chunk.start; }) -
           chunks.begin();
  };
  range.first_chunk = static_cast<std::uint32_t>(after(range.offset) - 1);
  range.chunk_count = static_cast<std::uint32_t>(after(range.offset + range.length - 1)) - range.first_chunk;
  return range;
}

}  // namespace hb::core
