// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What lies unread in a unix socket, found out without receiving it. To receive descriptors that there are no
// numbers for, or to close the socket they lie in, closes them, and that takes as long as their maker likes.
#pragma once

#include <cstdint>

#include "wire/unique_fd.h"

namespace hb::os {

enum class Unread : std::uint8_t {
  kNothing,  // nothing now, or an error that the next call tells
  kPlain,    // a packet without descriptors, or the end
  kWithFds,
};

// Of the first packet. Never blocks, installs nothing, closes nothing.
[[nodiscard]] Unread first_unread(BorrowedFd socket);

// Ends the connection and throws away packets without descriptors. True: nothing is in it any more, and
// nothing can come, so that close() cannot block. False: there may be descriptors in it.
[[nodiscard]] bool shut_and_empty(BorrowedFd socket);

}  // namespace hb::os
