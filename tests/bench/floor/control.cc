// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The A/A control: the floor's own acquire from a program of its own. Its ratio says what this machine can
// tell apart today; anything but 0.98 to 1.02 says the same of every other ratio of the run.
#include "bench/floor/round_trip.h"
#include "bench/harness/answer_rounds.h"
#include "bench/harness/check.h"

int main(int argc, char** argv) {
  using namespace hb::bench;
  const auto placement = parse_placement(argc > 1 ? argv[1] : "");
  if (!placement) die("usage: hb_bench_control same|split");
  RoundTrip acquire(acquire_floor(), *placement);
  acquire.set_up();
  pin_to_cpu(client_cpu(*placement));
  answer_rounds([&](int samples) { return time_steps(samples, [&] { acquire.step(); }); });
  acquire.tear_down();
  return 0;
}
