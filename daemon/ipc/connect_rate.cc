// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/connect_rate.h"

#include <algorithm>
#include <string>

#include "core/resource.h"
#include "ipc/uid_limit.h"
#include "wire/limits_edge.h"

namespace hb::ipc {
namespace {

constexpr core::Time kSecond = 1'000'000'000;

}  // namespace

std::optional<EdgeError> ConnectRate::admit(const Payer& payer, std::uint64_t per_second, core::Time now) {
  const double rate = static_cast<double>(per_second);
  const double most = rate * static_cast<double>(limits::kConnectBurst);
  forget_full_ones(now);
  const auto [found, fresh] = buckets_.try_emplace(payer);
  Bucket& bucket = found->second;
  if (fresh) bucket = {most, now, now, 0, now};
  bucket.tokens = std::min(
      most, bucket.tokens + rate * (static_cast<double>(now - bucket.filled) / static_cast<double>(kSecond)));
  bucket.filled = now;
  if (now - bucket.second >= kSecond) {
    bucket.second = now;
    bucket.recent = 0;
  }
  ++bucket.recent;
  const bool enough = bucket.tokens >= 1;
  if (enough) bucket.tokens -= 1;
  bucket.full_again = now + limits::kConnectBurst * kSecond;
  if (enough) return std::nullopt;
  EdgeError error = uid_limit(core::text_of(core::Resource::kConnects), payer.uid, bucket.recent, per_second);
  error.message += ", or try again in a second";
  return error;
}

// All of them now and then, so that each connection pays for a few.
void ConnectRate::forget_full_ones(core::Time now) {
  if (buckets_.size() < forget_at_) return;
  std::erase_if(buckets_, [now](const auto& entry) { return entry.second.full_again <= now; });
  forget_at_ = std::max<std::size_t>(1024, 2 * buckets_.size());
}

}  // namespace hb::ipc
