// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What a client and a daemon said to each other, every byte of it, as text: the oldest version of the
// protocol that is supported, kept to be said again to the programs of today.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/frame.h"

namespace hb::test {

// A descriptor that travelled, as far as another like it can be made.
struct SaidFd {
  char kind = 'm';  // m: a sealed memfd of so many bytes; s: a socket
  std::uint64_t bytes = 0;
};

struct Said {
  std::size_t session = 0;  // in the order they connected
  bool by_client = false;
  FrameHeader header;
  std::vector<SaidFd> fds;
  std::string body;
};

// A line a frame: session, > (by the client) or <, type, flags, request id, descriptors, body in hex.
[[nodiscard]] std::vector<Said> load_conversation(const std::string& path);
void save_conversation(const std::string& path, const std::string& about, const std::vector<Said>& all);

// A field of a message, as the wire has it: nothing of the message has to be known.
struct WireField {
  std::uint32_t number = 0;
  std::string bytes;  // of a length-delimited one
};
// Top level alone. Throws std::runtime_error where it is no message.
[[nodiscard]] std::vector<WireField> fields_of(const std::string& body);

}  // namespace hb::test
