// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// TCP sockets whose last close waits for an hour, or until their listener goes.
#pragma once

#include "wire/unique_fd.h"

namespace hb::test {

class LingerTrap {
 public:
  LingerTrap();
  // Full of unsent bytes, SO_LINGER set. Whoever closes the last copy waits.
  [[nodiscard]] UniqueFd socket();
  // Every close comes back.
  void end() { listener_.reset(); }

 private:
  UniqueFd listener_;
};

}  // namespace hb::test
