// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "core/resource.h"

namespace hb::core {

const LimitSet& LimitSet::built_in() {
  static const LimitSet kBuiltIn = [] {
    LimitSet set;
    set.set(Resource::kSessions, limits::kUidSessions);
    set.set(Resource::kExports, limits::kUidExports);
    set.set(Resource::kChunks, limits::kUidChunks);
    set.set(Resource::kBytes, UINT64_MAX);        // what a node has is not known here
    set.set(Resource::kDescriptors, UINT64_MAX);  // the descriptor limit is the process's
    set.set(Resource::kLeases, limits::kUidLeases);
    set.set(Resource::kStagings, limits::kUidStagings);
    set.set(Resource::kWaits, limits::kUidWaits);
    set.set(Resource::kTickets, limits::kUidTickets);
    set.set(Resource::kGroups, limits::kUidGroups);
    set.set(Resource::kEvents, limits::kUidEvents);
    set.set(Resource::kRequests, limits::kUidRequests);
    set.set(Resource::kConnects, limits::kUidConnects);
    return set;
  }();
  return kBuiltIn;
}

}  // namespace hb::core
