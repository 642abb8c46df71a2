// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// How a node is set up for the broker, as its files say: kernel and its configuration, units, sockets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hb::cli {

struct UnitFile {
  std::string path;                         // "": there is none
  std::optional<std::uint64_t> nofile;      // soft; UINT64_MAX: infinity
  std::optional<std::uint64_t> stored_fds;  // FileDescriptorStoreMax=
};

struct PlaceOnDisk {
  std::string path;
  std::uint32_t mode = 0;  // permissions
  std::uint32_t uid = 0;
};

struct Node {
  std::string release;                      // of the kernel
  std::string config;                       // the file that says how it was built; "": none can be read
  std::vector<std::string> config_options;  // those of kWanted that are built in or modules
  bool amdgpu = false;
  std::uint64_t max_map_count = 0;  // 0: not readable
  UnitFile unit;
  std::vector<PlaceOnDisk> places;  // of the node's daemon: directories, sockets; what is there of them

  [[nodiscard]] bool has(const char* option) const;
  [[nodiscard]] const PlaceOnDisk* at(const char* path) const;  // without the root
};

inline constexpr const char* kMoveNotify = "CONFIG_DMABUF_MOVE_NOTIFY";
inline constexpr const char* kPeerToPeer = "CONFIG_PCI_P2PDMA";
inline constexpr const char* kNodeDirectory = "/run/hipbroker";
inline constexpr const char* kNodeSocket = "/run/hipbroker/broker.sock";
inline constexpr const char* kNodeAdminDirectory = "/run/hipbroker/admin";

// `root`: where the tree begins; "" = this machine's.
[[nodiscard]] Node read_node(const std::string& root);

}  // namespace hb::cli
