// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Memory as a framework makes it: handles of its own behind one range of addresses, shared by those handles.
#include <algorithm>
#include <vector>

#include "gpu/gpu_actor.h"

namespace hb::test {
namespace {

namespace fh = hb::fakehip;

constexpr std::size_t kUnit = 2u << 20;

struct Range {
  char* base = nullptr;
  std::size_t bytes = 0;
  std::vector<hb_hip_handle> handles;
};
Range& range() {
  static Range made;
  return made;
}

}  // namespace

// framework_share name= chunks= seed=: the k-th handle has k + 1 units of 2 MiB
Message framework_share(ActorState& state, const Message& m) {
  Range& all = range();
  fh::AllocationProp prop{};
  prop.type = fh::kTypePinned;
  prop.requested_handle_type = fh::kHandleFd;
  prop.location = {fh::kLocationDevice, 0};
  const std::size_t count = number_of(m, "chunks");
  all.bytes = count * (count + 1) / 2 * kUnit;
  void* at = nullptr;
  must(hip().hipMemAddressReserve(&at, all.bytes, kUnit, nullptr, 0), "hipMemAddressReserve");
  all.base = static_cast<char*>(at);
  char* next = all.base;
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t bytes = (k + 1) * kUnit;
    void* handle = nullptr;
    must(hip().hipMemCreate(&handle, bytes, &prop, 0), "hipMemCreate");
    must(hip().hipMemMap(next, bytes, 0, handle, 0), "hipMemMap");
    const fh::AccessDesc access{{fh::kLocationDevice, 0}, fh::kProtReadWrite};
    must(hip().hipMemSetAccess(next, bytes, &access, 1), "hipMemSetAccess");
    all.handles.push_back({handle, bytes, next});
    next += bytes;
  }
  std::vector<std::uint64_t> words(all.bytes / 8);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = fill_word(number_of(m, "seed"), i * 8);
  must(hip().hipMemcpy(all.base, words.data(), all.bytes, fh::kCopyHostToDevice), "hipMemcpy");

  hb_hip_report report = HB_HIP_REPORT_INIT;
  hb_error error = HB_ERROR_INIT;
  if (hb_status status = hb_hip_probe(0, &report, &error); status != HB_OK) return outcome(status, error);
  const std::string name = text_of(m, "name");
  hb_export_options options = HB_EXPORT_OPTIONS_INIT;
  options.name = name.c_str();
  options.handles = all.handles.data();
  options.handle_count = all.handles.size();
  options.device = &report.device;
  hb_export* made = nullptr;
  const hb_status status = hb_export_create(state.client(m), &options, &made, &error);
  Message out = outcome(status, error);
  if (status != HB_OK) return out;
  state.exports["framework"] = made;
  hb_export_info info = HB_EXPORT_INFO_INIT;
  hb_export_get_info(made, &info);
  out.emplace("bytes", info.bytes);
  return out;
}

// framework_free: as a free hook would, then the memory goes
Message framework_free(ActorState&, const Message&) {
  Range& all = range();
  hb_withdrawn withdrawn = HB_WITHDRAWN_INIT;
  hb_error error = HB_ERROR_INIT;
  Message out = outcome(hb_range_gone(all.base, all.bytes, &withdrawn, &error), error);
  out.emplace("exports", withdrawn.exports);
  out.emplace("holders", withdrawn.holders);
  for (const hb_hip_handle& one : all.handles) {
    must(hip().hipMemUnmap(one.base, one.bytes), "hipMemUnmap");
    must(hip().hipMemRelease(one.handle), "hipMemRelease");
  }
  must(hip().hipMemAddressFree(all.base, all.bytes), "hipMemAddressFree");
  all = {};
  return out;
}

}  // namespace hb::test
