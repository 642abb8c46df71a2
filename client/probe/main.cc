// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// hipbroker-probe RUNTIME ORDINAL: tries a HIP runtime out on one device and writes what it saw to descriptor
// 3, a line each (providers/hip/verdict.h). A line "begin ABILITY what" goes before everything that might
// crash: whoever reads knows what it was. Started by the client library, never by hand.
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "probe/trial.h"

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  ::alarm(30);  // the starter's limit is shorter; this one holds if the starter is gone
  ::setenv("HIPBROKER_HIP_RUNTIME", argv[1], 1);
  hb::probe::run(std::atoi(argv[2]));
  return 0;
}
