// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <optional>
#include <string_view>

namespace hb::bench {

// Where client and server run. A wake-up across CPUs costs ten times a switch on one CPU (in a virtual
// machine, tens of microseconds), so an unpinned latency is a coin toss and is not offered.
enum class Placement { kSame, kSplit };

[[nodiscard]] const char* placement_name(Placement placement);
[[nodiscard]] std::optional<Placement> parse_placement(std::string_view text);

[[nodiscard]] int client_cpu(Placement placement);
[[nodiscard]] int server_cpu(Placement placement);
// False where the machine, or this process's affinity, has one CPU alone.
[[nodiscard]] bool placement_available(Placement placement);

// Of the calling thread and of what it starts from now on.
void pin_to_cpu(int cpu);
void unpin();

}  // namespace hb::bench
