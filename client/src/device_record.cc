// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "device_record.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace hb::client {
namespace {

// Cut at the end of the record's room, always terminated.
template <std::size_t kSize>
void put(std::string_view text, char (&out)[kSize]) noexcept {
  std::memcpy(out, text.data(), std::min(text.size(), kSize - 1));
}

}  // namespace

hb_device_id device_id_of(const DeviceId& id) noexcept {
  hb_device_id out{};
  put(id.uuid, out.uuid);
  put(id.pci, out.pci);
  out.partition = id.partition;
  return out;
}

std::vector<hb_peer> peer_list(const std::vector<PeerGrant>& peers) {
  std::vector<hb_peer> out;
  out.reserve(peers.size());
  for (const PeerGrant& peer : peers)
    out.push_back({device_id_of(peer.device), peer.ordinal, peer.granted ? 1 : 0});
  return out;
}

}  // namespace hb::client
