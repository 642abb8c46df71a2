// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// One client, one bare server: ping-pong, acquire, register, batch.
#pragma once

#include "bench/floor/server.h"
#include "bench/harness/case.h"
#include "bench/harness/child.h"

namespace hb::bench {

struct RoundTripSpec {
  std::string name;  // without the placement
  int samples = 600;
  std::size_t request_bytes = 64;
  std::size_t reply_bytes = 64;
  std::size_t reply_fds = 0;
  bool registers = false;    // the request brings a descriptor that the server keeps
  bool maps = false;         // mmap and munmap 2 MiB of the first descriptor
  bool close_range = false;  // instead of one close() each
  bool per_fd = false;       // report the time of one descriptor
};

class RoundTrip : public Case {
 public:
  RoundTrip(const RoundTripSpec& spec, Placement placement);
  void set_up() override;
  void run(int samples) override;
  void tear_down() override;
  void step();  // one request and all that belongs to it
 private:
  void drop();

  RoundTripSpec spec_;
  Placement placement_;
  Series* series_;
  UniqueFd socket_, registered_;
  Child server_;
  std::vector<char> request_, reply_;
};

void add_round_trips(CaseList& cases, Placement placement);
// The acquire floor: 64 B request, reply of 256 B and one descriptor, 2 MiB mapped and unmapped, closed.
[[nodiscard]] RoundTripSpec acquire_floor();

}  // namespace hb::bench
