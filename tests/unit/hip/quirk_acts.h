// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What programs do on which the quirks of a runtime show: each says what it has seen.
#pragma once

#include <functional>
#include <string>

#include "unit/hip/fixture.h"

namespace hb::test {

using Act = std::function<std::string(const Hip&, const hc::ContextPtr&)>;

// Through the client's modules. Two chunks made, exported and imported; so many made.
[[nodiscard]] Act cycle(hc::HostAccess host = hc::HostAccess::kNone);
[[nodiscard]] Act allocating(std::size_t chunks, hc::HostAccess host = hc::HostAccess::kNone);
std::string many_with_few_descriptors(const Hip& hip, const hc::ContextPtr& context);
std::string many_imports_with_few_descriptors(const Hip& hip, const hc::ContextPtr& context);
std::string stranger(const Hip& hip, const hc::ContextPtr& context);
std::string hidden_owner(const Hip& hip, const hc::ContextPtr& context);
std::string two_exports(const Hip& hip, const hc::ContextPtr& context);
std::string unmap_behind_a_stream(const Hip& hip, const hc::ContextPtr& context);
std::string peer_reads(const Hip& hip, const hc::ContextPtr& context);
std::string frees(const Hip& hip, const hc::ContextPtr& context);
std::string base_of_memory(const Hip& hip, const hc::ContextPtr& context);
std::string granularity(const Hip& hip, const hc::ContextPtr& context);

// With the runtime alone, by somebody who does not know the fact.
std::string closes_too_early(const Hip& hip, const hc::ContextPtr& context);
std::string believes_the_map(const Hip& hip, const hc::ContextPtr& context);
std::string owner_first(const Hip& hip, const hc::ContextPtr& context);
std::string one_unmap_for_two(const Hip& hip, const hc::ContextPtr& context);
std::string unmaps_again(const Hip& hip, const hc::ContextPtr& context);
std::string keeps_the_addresses(const Hip& hip, const hc::ContextPtr& context);
std::string believes_the_alignment(const Hip& hip, const hc::ContextPtr& context);
std::string believes_the_granularity(const Hip& hip, const hc::ContextPtr& context);
std::string asks_about_an_import(const Hip& hip, const hc::ContextPtr& context);

}  // namespace hb::test
