// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// hipbroker-probe RUNTIME ORDINAL: tries a HIP runtime out on one device and writes what it saw to descriptor
// 3, a line each (providers/hip/verdict.h). A line "begin ABILITY what" goes before everything that might
// crash: whoever reads knows what it was. Started by the client library, never by hand.
//
// hipbroker-probe --start: starts the runtime that the environment names, and nothing else.
//
// hipbroker-probe --peers RUNTIME OWNER FIRST: compares what every GPU from FIRST on reads and writes in
// memory of OWNER with what is there (probe/peers.h).
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "probe/peers.h"
#include "probe/trial.h"

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--start") == 0) {
    ::alarm(30);
    hb::probe::start();
    return 0;
  }
  const bool peers = argc == 5 && std::strcmp(argv[1], "--peers") == 0;
  if (argc != 3 && !peers) return 64;
  ::alarm(30);  // the starter's limit is shorter; this one holds if the starter is gone
  ::setenv("HIPBROKER_HIP_RUNTIME", argv[peers ? 2 : 1], 1);
  if (peers) {
    hb::probe::run_peers(std::atoi(argv[3]), std::atoi(argv[4]));
    return 0;
  }
  hb::probe::run(std::atoi(argv[2]));
  return 0;
}
