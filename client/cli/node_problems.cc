// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What of a node's set-up is a problem.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "diagnosis.h"
#include "format.h"

namespace hb::cli {
namespace {

using Problems = std::vector<Problem>;

// What the kernel brought, and when.
struct KernelFeature {
  int release;  // first with it, major * 1000 + minor
  Grade without;
  const char* name;
  const char* text;
  const char* advice;
};
constexpr KernelFeature kFeatures[] = {
    {5'006, Grade::kBroken, "kernel_too_old", "hipbrokerd and virtual memory of GPUs want Linux 5.6 or newer",
     "boot a kernel of 6.8 or newer"},
    {6'005, Grade::kNote, "kernel_before_6_5",
     "before Linux 6.5 (SO_PEERPIDFD) a process that dies while it connects may be taken for another one "
     "that "
     "got its pid",
     "boot a kernel of 6.5 or newer where many short-lived processes connect"},
};

// 0: not understood.
int number_of(const std::string& release) {
  int major = 0;
  int minor = 0;
  const char* const end = release.data() + release.size();
  const auto [dot, first] = std::from_chars(release.data(), end, major);
  if (first != std::errc() || dot == end || *dot != '.') return 0;
  if (std::from_chars(dot + 1, end, minor).ec != std::errc()) return 0;
  return major * 1'000 + minor;
}

void judge_kernel(const Node& node, Problems& out) {
  const int release = number_of(node.release);
  if (release == 0) return;
  for (const KernelFeature& feature : kFeatures) {
    if (release >= feature.release) continue;
    // The list of known bugs may have it, too, and less bad.
    std::erase_if(out, [&feature](const Problem& p) { return p.name == feature.name; });
    out.push_back({feature.without, feature.name,
                   fmt::format("this is Linux {}: {}", safe(node.release.c_str()), feature.text),
                   feature.advice});
  }
  if (node.config.empty() || !node.amdgpu) return;
  if (!node.has(kMoveNotify) || !node.has(kPeerToPeer))
    out.push_back(
        {Grade::kWarning, "no_peer_to_peer",
         fmt::format(
             "{}: the kernel was built without {}: what another GPU imports is moved to system memory "
             "and pinned there, or cannot be imported",
             safe(node.config.c_str()),
             !node.has(kMoveNotify) ? (node.has(kPeerToPeer) ? kMoveNotify
                                                             : "CONFIG_DMABUF_MOVE_NOTIFY and "
                                                               "CONFIG_PCI_P2PDMA")
                                    : kPeerToPeer),
         "boot a kernel that has both (Debian's and Ubuntu's have), or keep exporter and importer on one "
         "GPU"});
}

void judge_unit(const Node& node, Problems& out) {
  const UnitFile& unit = node.unit;
  if (unit.path.empty()) return;
  constexpr std::uint64_t kFew = 20'000;
  constexpr std::uint64_t kSystemdsOwn = 1'024;  // soft, without LimitNOFILE=
  const std::string path = safe(unit.path.c_str());
  const std::uint64_t nofile = unit.nofile.value_or(kSystemdsOwn);
  const std::uint64_t stored = unit.stored_fds.value_or(0);
  // Then systemd cannot start it again: status=202/FDS, for ever.
  if (stored >= nofile) {
    out.push_back({Grade::kBroken, "unit_descriptors",
                   fmt::format("{}: FileDescriptorStoreMax={} is not below LimitNOFILE={}: systemd could not "
                               "start the daemon again with what it stored",
                               path, stored, nofile),
                   "set LimitNOFILE= above FileDescriptorStoreMax=, to 65536 or more"});
  } else if (nofile < kFew) {
    out.push_back({Grade::kWarning, "unit_descriptors",
                   fmt::format("{}: LimitNOFILE={}: the daemon keeps a descriptor for each allocation, and "
                               "{} bounds what the whole node can share",
                               path, nofile, unit.nofile ? "it" : "systemd's own"),
                   "set LimitNOFILE=65536 or more"});
  }
  if (stored == 0)
    out.push_back({Grade::kNote, "no_descriptor_store",
                   fmt::format("{}: FileDescriptorStoreMax= is not set: systemd keeps nothing for the daemon "
                               "over a restart",
                               path),
                   "set FileDescriptorStoreMax=256 and Environment=HIPBROKER_FD_STORE_MAX=256"});
}

void judge_places(const Node& node, Problems& out) {
  constexpr std::uint32_t kOthersWrite = 0022;
  constexpr std::uint32_t kSticky = 01000;
  constexpr std::uint32_t kOthers = 0077;
  constexpr std::uint32_t kEverybody = 0666;
  if (const PlaceOnDisk* directory = node.at(kNodeDirectory);
      directory != nullptr && (directory->mode & kOthersWrite) != 0 && (directory->mode & kSticky) == 0)
    out.push_back(
        {Grade::kBroken, "socket_directory",
         fmt::format("{} has mode {:04o}: others can put a socket of theirs into it, so that clients "
                     "refuse it (UNTRUSTED)",
                     kNodeDirectory, directory->mode),
         fmt::format("chmod 0755 {}", kNodeDirectory)});
  if (const PlaceOnDisk* admin = node.at(kNodeAdminDirectory);
      admin != nullptr && (admin->mode & kOthers) != 0)
    out.push_back({Grade::kBroken, "admin_directory",
                   fmt::format("{} has mode {:04o}: whoever enters it sees and revokes everything",
                               kNodeAdminDirectory, admin->mode),
                   fmt::format("chmod 0700 {}", kNodeAdminDirectory)});
  if (const PlaceOnDisk* socket = node.at(kNodeSocket);
      socket != nullptr && (socket->mode & kEverybody) != kEverybody)
    out.push_back({Grade::kWarning, "socket_mode",
                   fmt::format("{} has mode {:04o}: not everybody can connect; who may do what is for the "
                               "policy to say",
                               kNodeSocket, socket->mode),
                   fmt::format("chmod 0666 {}, or leave it where that is meant", kNodeSocket)});
}

}  // namespace

void judge_node(const Node& node, Problems& out) {
  judge_kernel(node, out);
  judge_unit(node, out);
  judge_places(node, out);
  constexpr std::uint64_t kUsualMaps = 65'530;
  if (node.max_map_count != 0 && node.max_map_count < kUsualMaps)
    out.push_back(
        {Grade::kWarning, "few_mappings",
         fmt::format("vm.max_map_count is {}, less than the kernel's own {}; each chunk of an import is a "
                     "mapping",
                     node.max_map_count, kUsualMaps),
         fmt::format("sysctl vm.max_map_count={}", kUsualMaps)});
}

}  // namespace hb::cli
