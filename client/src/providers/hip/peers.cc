// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/peers.h"

#include <charconv>

#include "providers/hip/helper_path.h"
#include "providers/hip/helper_process.h"

namespace hb::client::hip {
namespace {

constexpr const char* kNames[kPairEnds] = {"ok", "no_access", "wrong_bytes", "crashed", "failed"};
// Of one run: the runtime's start and a few MiB for each GPU.
constexpr std::uint64_t kLimitNs = 25'000'000'000;

std::string_view word(std::string_view& text) {
  const std::size_t end = text.find(' ');
  const std::string_view out = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return out;
}

bool number(std::string_view text, int& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

std::string end_text(const HelperEnd& end) {
  if (end.timed_out) return "the helper did not end within 25 s";
  if (end.signal != 0) return "the helper died of " + signal_text(end.signal);
  return "the helper ended with status " + std::to_string(end.exit_code);
}

// The pairs that one run answered, and the one it was at when it ended: "begin OTHER what".
void read_run(const HelperEnd& end, std::vector<Pair>& pairs, std::string& refusal) {
  int begun = -1;
  std::string doing;
  bool complete = false;
  for (std::size_t start = 0; start < end.output.size();) {
    const std::size_t stop = std::min(end.output.find('\n', start), end.output.size());
    std::string_view line(end.output.data() + start, stop - start);
    start = stop + 1;
    Pair pair;
    if (take_pair_line(line, pair)) {
      for (Pair& known : pairs)
        if (known.other == pair.other) {
          known.end = pair.end;
          known.reason = pair.reason;
        }
      begun = -1;
      continue;
    }
    const std::string_view kind = word(line);
    if (kind == "begin" && number(word(line), begun)) doing = line;
    if (kind == "refused") refusal = line;
    if (kind == "end") complete = true;
  }
  if (complete) return;
  if (begun < 0 && refusal.empty()) refusal = end_text(end) + ": starting HIP";
  for (Pair& pair : pairs)
    if (pair.other == begun) {
      pair.end = PairEnd::kCrashed;
      pair.reason = end_text(end) + ": " + doing;
    }
}

}  // namespace

const char* pair_end_name(PairEnd end) { return kNames[static_cast<std::size_t>(end)]; }

bool take_pair_line(std::string_view line, Pair& pair) {
  if (word(line) != "pair" || !number(word(line), pair.other)) return false;
  const std::string_view name = word(line);
  for (std::size_t i = 0; i < kPairEnds; ++i) {
    if (name != kNames[i]) continue;
    pair.end = static_cast<PairEnd>(i);
    pair.reason = line;
    return true;
  }
  return false;
}

Result<std::vector<Pair>> check_peers(const Runtime& runtime, const DeviceTable& devices, int owner) {
  std::vector<Pair> out;
  for (const Device& device : devices.devices())
    if (device.ordinal != owner) out.push_back({owner, device.ordinal, PairEnd::kFailed, "not tried"});
  if (out.empty()) return out;
  const auto program = find_helper();
  if (!program) return tl::unexpected(program.error());
  // After a crash the rest is tried in a new process.
  for (std::size_t next = 0; next < out.size();) {
    const auto end = run_helper(
        {*program, "--peers", runtime.path(), std::to_string(owner), std::to_string(out[next].other)},
        kLimitNs);
    if (!end) return tl::unexpected(end.error());
    std::string refusal;
    read_run(*end, out, refusal);
    std::size_t after = next;
    while (after < out.size() && (out[after].end != PairEnd::kFailed || out[after].reason != "not tried"))
      ++after;
    if (after == out.size()) break;
    // Nothing more will come of it: what is left has the reason.
    if (!refusal.empty() || after == next) {
      for (std::size_t i = after; i < out.size(); ++i)
        out[i].reason = refusal.empty() ? end_text(*end) : refusal;
      break;
    }
    next = after;
  }
  return out;
}

}  // namespace hb::client::hip
