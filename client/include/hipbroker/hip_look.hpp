// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// C++17 over the look at GPUs of hipbroker.h: does sharing GPU memory work here?
#ifndef HIPBROKER_HIP_LOOK_HPP
#define HIPBROKER_HIP_LOOK_HPP

#include "hipbroker/hipbroker.hpp"

namespace hipbroker {

// What it returns holds as long as the look; issues and pairs until the next probe() or peers().
class HipLook {
 public:
  HipLook() {
    hb_hip_look* look = nullptr;
    detail::call(hb_hip_look_open, &look);
    look_ = detail::Owner<hb_hip_look, hb_hip_look_close>(look);
  }

  const hb_hip_runtime& runtime() const { return *hb_hip_look_runtime(look_.get()); }
  std::size_t device_count() const { return hb_hip_look_device_count(look_.get()); }
  const hb_hip_device& device(std::size_t index) const { return *hb_hip_look_device_at(look_.get(), index); }
  std::size_t issue_count() const { return hb_hip_look_issue_count(look_.get()); }
  const hb_hip_issue& issue(std::size_t index) const { return *hb_hip_look_issue_at(look_.get(), index); }
  std::size_t pair_count() const { return hb_hip_look_pair_count(look_.get()); }
  const hb_hip_pair& pair(std::size_t index) const { return *hb_hip_look_pair_at(look_.get(), index); }

  // Tries the runtime out where nothing is remembered, or `again`.
  hb_hip_report probe(std::int32_t device, bool again = false) {
    hb_hip_report report = HB_HIP_REPORT_INIT;
    detail::call(hb_hip_look_probe, look_.get(), device, again ? 1 : 0, &report);
    return report;
  }
  // Every other GPU against memory of `owner`.
  void peers(std::int32_t owner) { detail::call(hb_hip_look_peers, look_.get(), owner); }

 private:
  detail::Owner<hb_hip_look, hb_hip_look_close> look_;
};

}  // namespace hipbroker

#endif
