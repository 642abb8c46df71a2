/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * What the two programs of the demo agree on. */
#ifndef HB_DEMO_H
#define HB_DEMO_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "hipbroker/hipbroker.h"

enum { DEMO_CHUNKS = 3 };
#define DEMO_BYTES (UINT64_C(64) << 20)
#define DEMO_CHUNK_BYTES ((DEMO_BYTES / DEMO_CHUNKS + 4095) / 4096 * 4096)
#define DEMO_SECONDS (UINT64_C(1000000000))

/* The word at each place differs from all others, so that a chunk mapped in the wrong order is seen. */
static inline uint64_t demo_word(uint64_t index) { return (index + 1) * UINT64_C(0x9e3779b97f4a7c15); }

/* Prints the cause and ends the program: a demo has nothing to clean up that the kernel and the daemon do
 * not. */
static inline void demo_check(const char* doing, hb_status status, const hb_error* error) {
  if (status == HB_OK) return;
  fprintf(stderr, "%s: %s: %s\n", doing, hb_status_name(status), error->message);
  exit(1);
}

static inline void demo_expect(const uint64_t* words, uint64_t count, uint64_t mask, const char* whose) {
  for (uint64_t i = 0; i < count; ++i) {
    if (words[i] == (demo_word(i) ^ mask)) continue;
    fprintf(stderr, "byte %" PRIu64 " is not what the %s wrote: %016" PRIx64 " instead of %016" PRIx64 "\n",
            i * 8, whose, words[i], demo_word(i) ^ mask);
    exit(1);
  }
}

/* Each phase ends in a line "ready"; the next begins with a line from stdin. These messages are also what
 * orders the writes of one process before the reads of the other: sharing alone orders nothing. */
static inline void demo_ready(void) {
  char line[16];
  printf("ready\n");
  fflush(stdout);
  if (fgets(line, sizeof line, stdin) == NULL) {
    fprintf(stderr, "nobody said to go on\n");
    exit(1);
  }
}

#endif
