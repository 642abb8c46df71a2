// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What an export may be. Pure checks, made before anything is taken.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/effect.h"
#include "core/request.h"

namespace hb::core {

struct Core;

// What was announced, and how much of it has come.
struct PageRules {
  HandleKind kind = HandleKind::kMemfd;
  bool promises_write = false;  // the ACL or max_access does
  std::uint64_t total_chunks = 0;
  std::uint64_t total_size = 0;
  std::uint64_t first = 0;    // number of the page's first chunk
  std::uint64_t bytes = 0;    // of all chunks before
  std::uint64_t handles = 0;  // that may still come
  std::uint64_t base = 0;     // number of the change's first chunk in the export
};

[[nodiscard]] bool promises_write(const ExportRequest& request);

// Everything but the chunks: name, bounds, ACL, device, lifetime, totals.
[[nodiscard]] std::optional<Error> refuse_terms(const Core& core, const ExportRequest& request,
                                                const Principal& who);
[[nodiscard]] std::optional<Error> refuse_lifetime(const Core& core, Lifetime lifetime,
                                                   std::uint64_t linger_ns, const Principal& who);

[[nodiscard]] std::optional<Error> refuse_page(const PageRules& rules, std::span<const NewChunk> chunks,
                                               std::span<const HandleFacts> handles);

}  // namespace hb::core
