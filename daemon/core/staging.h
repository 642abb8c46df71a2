// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What exports and changes of exports have in common: pages of chunks, taken over and put together.
#pragma once

#include <vector>

#include "core/core.h"

namespace hb::core {

void close_all(Call& call, const std::vector<HandleFacts>& handles);

// What is charged before the first page of an export or a change is taken. Whole, or nothing is.
struct Promise {
  bool paged = false;
  bool new_export = false;
  std::uint64_t chunks = 0;
  std::uint64_t descriptors = 0;  // that have not come yet
};
[[nodiscard]] std::optional<Error> promise(Core& core, Session& session, const Promise& what);
void break_promise(Core& core, Session& session, const Promise& what);
[[nodiscard]] Promise promise_of(const Staging& staging);

// Takes over the handles of a page that was found right; of the promise they are kept. Handles held already
// go into `closing`. Over the limit of bytes: all of the page does.
[[nodiscard]] std::optional<Error> take_page(Call& call, Asker& asker, const std::vector<NewChunk>& page,
                                             const std::vector<HandleFacts>& handles, std::vector<Chunk>& out,
                                             std::uint64_t& bytes);

// The export or change that is being sent under this id.
[[nodiscard]] Staging* staging_of(const Core& core, const Session& session, ExportId id);
// Takes it off the session: what it counted is now the caller's.
[[nodiscard]] std::unique_ptr<Staging> take_staging(Core& core, Session& session, const Staging* staging);
[[nodiscard]] Exported progress(const Core& core, const Staging& staging);

// Of the chunks: how firmly read-only, who knows the sizes, how many allocations.
void settle_chunks(Core& core, Export& exported, const std::vector<Chunk>& chunks);

// The answer for a complete export, with its key and secret.
[[nodiscard]] Exported exported_reply(const Core& core, std::uint32_t slot);

// change.cc
[[nodiscard]] std::optional<Error> refuse_change_page(const Core& core, const Staging& staging,
                                                      std::uint64_t received,
                                                      const std::vector<NewChunk>& chunks,
                                                      const std::vector<HandleFacts>& handles);
[[nodiscard]] Outcome apply_change(Call& call, const Staging& change);

}  // namespace hb::core
