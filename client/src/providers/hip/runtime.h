// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The AMD runtime of this process, as a table of functions.
//
// A libamdhip64 that the program has already loaded, under any file name, is the one that counts: PyTorch
// wheels bring their own, and a second runtime knows none of its pointers. Only where none is loaded is one
// opened, by $HIPBROKER_HIP_RUNTIME or as libamdhip64.so.7, .6. Two loaded ones are refused by name. Nothing
// is loaded before the first call, and nothing is ever closed again: HIP cannot be unloaded.
//
// libhsa-runtime64 is taken only where it is loaded, which HIP's own dependency sees to: one that HIP does
// not use would know none of its memory.
#pragma once

#include <memory>
#include <string>

#include "error.h"
#include "providers/hip/abi.h"

namespace hb::client::hip {

// hipRuntimeGetVersion's number: major * 10^7 + minor * 10^5 + patch.
[[nodiscard]] std::string version_text(int version);

class Runtime {
 public:
  // What a refused one was, as far as it was read.
  struct Seen {
    std::string path;
    int version = 0;
    int copies = 0;  // 0: none is there; 2: two are loaded, and none is used
  };

  // The process's. A refusal is not kept: the program may load a runtime later. A success is looked at again
  // whenever the loader has added objects since: a second copy that came later is refused, too. HB_FORKED in
  // a child of a process that had started it: everything of this folder that takes a lock or calls the
  // runtime begins here, so nothing in such a child waits for what the parent's threads held.
  [[nodiscard]] static Result<std::shared_ptr<const Runtime>> get(Seen* seen = nullptr);
  // The same, and nothing is ever loaded: memory that HIP made is known to none but the runtime that made it.
  // HB_NOT_FOUND when the process has none.
  [[nodiscard]] static Result<std::shared_ptr<const Runtime>> get_loaded();

  // Whether the program has one, so that get() will start none.
  [[nodiscard]] static bool is_loaded();

  [[nodiscard]] const HipTable& hip() const { return hip_; }
  // Null pointers where there is no HSA or it lacks the function.
  [[nodiscard]] const HsaTable& hsa() const { return hsa_; }
  [[nodiscard]] int version() const { return version_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& build_id() const { return build_id_; }
  [[nodiscard]] const std::string& hsa_path() const { return hsa_path_; }
  [[nodiscard]] const std::string& hsa_build_id() const { return hsa_build_id_; }
  // "HIP 7.1.25424 (/opt/rocm/lib/libamdhip64.so.7)"
  [[nodiscard]] std::string name() const;

 private:
  static Result<std::shared_ptr<const Runtime>> get(bool may_load, Seen* seen);
  static Result<std::shared_ptr<const Runtime>> load(bool may_load, Seen* seen, bool& called);
  Result<void> fill(void* library);
  void fill_hsa();

  HipTable hip_;
  HsaTable hsa_;
  int version_ = 0;
  std::string path_;
  std::string build_id_;
  std::string hsa_path_;
  std::string hsa_build_id_;
};

}  // namespace hb::client::hip
