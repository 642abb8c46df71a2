// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "diagnosis.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace hb::cli {
namespace {

std::uint64_t open_descriptors() {
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  std::uint64_t count = 0;
  while (const dirent* entry = ::readdir(folder))
    if (entry->d_name[0] != '.') ++count;
  ::closedir(folder);
  return count - 1;  // the folder itself
}

std::string gpu_name(const hb_hip_device& device) {
  return fmt::format("GPU {} ({})", device.ordinal, device.id.pci);
}

void ask_daemon(const Options& options, Diagnosis& out) {
  try {
    const Connection connection = Connection::open(options);
    out.daemon = connection.info();
    out.daemon_answers = true;
    hb_error error = HB_ERROR_INIT;
    if (out.daemon.admin != 0)
      check(hb_daemon_get_status(connection.client(), connection.deadline(), &out.daemon_status, &error),
            error);
  } catch (const Failure& failure) {
    out.daemon_error = failure.cause();
    out.daemon_exit = failure.exit_code();
  }
}

}  // namespace

Limits Limits::read(const Node& node) {
  Limits out;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    out.descriptors_soft = limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
    out.descriptors_hard = limit.rlim_max == RLIM_INFINITY ? UINT64_MAX : limit.rlim_max;
  }
  out.descriptors_open = open_descriptors();
  out.max_map_count = node.max_map_count;
  return out;
}

std::uint64_t Limits::chunks() const {
  const std::uint64_t descriptors =
      descriptors_soft > descriptors_open ? descriptors_soft - descriptors_open : 0;
  return max_map_count == 0 ? descriptors : std::min(descriptors, max_map_count);
}

std::vector<const hb_hip_device*> Diagnosis::devices() const {
  std::vector<const hb_hip_device*> out;
  for (std::size_t i = 0; i < hb_hip_look_device_count(look.get()); ++i)
    out.push_back(hb_hip_look_device_at(look.get(), i));
  return out;
}

std::vector<const hb_hip_issue*> Diagnosis::issues() const {
  std::vector<const hb_hip_issue*> out;
  for (std::size_t i = 0; i < hb_hip_look_issue_count(look.get()); ++i)
    out.push_back(hb_hip_look_issue_at(look.get(), i));
  return out;
}

std::vector<const hb_hip_pair*> Diagnosis::pairs() const {
  std::vector<const hb_hip_pair*> out;
  for (std::size_t i = 0; i < hb_hip_look_pair_count(look.get()); ++i)
    out.push_back(hb_hip_look_pair_at(look.get(), i));
  return out;
}

Diagnosis diagnose(const Options& options, const DoctorOptions& what,
                   const std::function<void(const std::string&)>& tell) {
  Diagnosis out;
  out.node = read_node(what.root);
  out.limits = Limits::read(out.node);
  tell("asking the daemon");
  ask_daemon(options, out);
  tell("loading the HIP runtime");
  hb_error error = HB_ERROR_INIT;
  hb_hip_look* look = nullptr;
  check(hb_hip_look_open(&look, &error), error);
  out.look.reset(look);
  for (const hb_hip_device* device : out.devices()) {
    Tried tried;
    if (device->ordinal >= 0) {
      tell(fmt::format("trying HIP out on {} in a helper process (20 s at most)", gpu_name(*device)));
      tried.done =
          hb_hip_look_probe(look, device->ordinal, what.again ? 1 : 0, &tried.report, &error) == HB_OK;
      if (!tried.done) tried.error = error.message;
    }
    out.tried.push_back(std::move(tried));
  }
  out.peers_asked = what.peers;
  if (what.peers && out.runtime().status == HB_OK)
    for (const hb_hip_device* device : out.devices()) {
      if (device->ordinal < 0 || !out.peers_error.empty()) continue;
      tell(fmt::format("comparing what the other GPUs read and write on {}", gpu_name(*device)));
      if (hb_hip_look_peers(look, device->ordinal, &error) != HB_OK) out.peers_error = error.message;
    }
  return out;
}

}  // namespace hb::cli
