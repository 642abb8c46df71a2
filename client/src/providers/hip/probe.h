// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Does sharing work here? Found out once, by doing it, in a helper process: symbols that exist lie, and the
// wrong call crashes. A crash there is an answer here.
//
// A no to export or import is found by two helpers, one after the other, and remembered for ten minutes; what
// is about memory, descriptors, a busy or a lost GPU, and what a runtime does not name, never.
//
// $HIPBROKER_PROBE: auto (or unset): a remembered answer, else the helper is run. off: a remembered answer,
// else nothing works. assume: nothing is run, the table of versions is believed.
#pragma once

#include <string>

#include "error.h"
#include "providers/hip/device.h"
#include "providers/hip/runtime.h"
#include "providers/hip/verdict.h"

namespace hb::client::hip {

struct ProbeReport {
  Findings findings;
  std::string source;  // "run", "remembered", "assumed", "off"
  std::string note;    // why nothing could be remembered, or why the helper could not be run
};

// For memory on `device`; once a process and GPU target. Runs up to 20 s when nothing is remembered.
[[nodiscard]] ProbeReport probe(const Runtime& runtime, const Device& device, const std::string& sysfs_root);

// What is known already: nothing is run and nobody is waited for. Empty findings where nothing is.
[[nodiscard]] ProbeReport probe_known(const Runtime& runtime, const Device& device,
                                      const std::string& sysfs_root);

// Like probe(), anew each time: for a command that shows it.
[[nodiscard]] ProbeReport probe_now(const Runtime& runtime, const Device& device,
                                    const std::string& sysfs_root);

// HB_UNSUPPORTED with the reason, unless the answer is yes.
[[nodiscard]] Result<void> demand(const Runtime& runtime, const ProbeReport& report, Ability ability);

// The text that must be equal for an answer to hold again.
[[nodiscard]] std::string probe_key(const Runtime& runtime, const Device& device,
                                    const std::string& sysfs_root);

// What came from the helper, turned into findings: pure, for tests.
struct HelperEnd;
[[nodiscard]] Findings findings_of(const HelperEnd& end);

}  // namespace hb::client::hip
