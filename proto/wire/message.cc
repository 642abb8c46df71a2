// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "wire/message.h"

namespace hb::msg {

std::string DecodeError::text() const {
  switch (kind) {
    case Kind::kMalformed:
      return std::string(message) + ": not a valid protobuf message, or cut short";
    case Kind::kLimit:
      return std::string(message) + ": field '" + field + "' is over the limit of " + std::to_string(limit);
    case Kind::kNoMemory:
      return std::string(message) + ": out of memory while reading it";
  }
  return message;
}

}  // namespace hb::msg
