// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What `doctor` has looked at, and what it makes of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "connection.h"
#include "node.h"

namespace hb::cli {

enum class Grade { kFine, kNote, kWarning, kBroken };
[[nodiscard]] const char* grade_word(Grade grade);

struct Problem {
  Grade grade;
  std::string name;  // stable, for scripts: "no_daemon", "gpu_export"
  std::string text;
  std::string advice;
  std::vector<std::int32_t> gpus = {};  // ordinals that it is about; `text` names them, too
};

struct Limits {
  std::uint64_t descriptors_open = 0;
  std::uint64_t descriptors_soft = 0;
  std::uint64_t descriptors_hard = 0;  // UINT64_MAX: unlimited
  std::uint64_t max_map_count = 0;     // 0: not readable
  [[nodiscard]] static Limits read(const Node& node);
  // Chunks that one process can hold, each a descriptor and a mapping.
  [[nodiscard]] std::uint64_t chunks() const;
};

struct Tried {
  bool done = false;
  hb_hip_report report = HB_HIP_REPORT_INIT;
  std::string error;  // where it could not be done
};

struct Diagnosis {
  struct CloseLook {
    void operator()(hb_hip_look* look) const { hb_hip_look_close(look); }
  };
  std::unique_ptr<hb_hip_look, CloseLook> look;
  std::vector<Tried> tried;  // one a device of the look
  Limits limits;
  Node node;
  bool daemon_answers = false;
  hb_client_info daemon = HB_CLIENT_INFO_INIT;
  hb_daemon_status daemon_status = HB_DAEMON_STATUS_INIT;  // of the admin's view
  std::string daemon_error;
  int daemon_exit = 0;
  std::string peers_error;
  bool peers_asked = false;

  [[nodiscard]] const hb_hip_runtime& runtime() const { return *hb_hip_look_runtime(look.get()); }
  [[nodiscard]] std::vector<const hb_hip_device*> devices() const;
  [[nodiscard]] std::vector<const hb_hip_issue*> issues() const;
  [[nodiscard]] std::vector<const hb_hip_pair*> pairs() const;
};

struct DoctorOptions {
  bool peers = false;
  bool again = false;
  std::string root;  // of the files of the node; "": this machine's
};
// `tell` is called before what takes long.
[[nodiscard]] Diagnosis diagnose(const Options& options, const DoctorOptions& what,
                                 const std::function<void(const std::string&)>& tell);

// Worst first.
[[nodiscard]] std::vector<Problem> problems_of(const Diagnosis& diagnosis);
void judge_node(const Node& node, std::vector<Problem>& out);
[[nodiscard]] Grade worst_of(const std::vector<Problem>& problems);

}  // namespace hb::cli
