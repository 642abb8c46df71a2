/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * producer NAME: shares 64 MiB in 3 chunks under a name, then checks what the consumer wrote into it. */
#include <string.h>

#include "demo.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: producer NAME\n");
    return 64;
  }
  hb_error error = HB_ERROR_INIT;

  hb_client_options where = HB_CLIENT_OPTIONS_INIT;
  where.deadline_ns = hb_deadline_in(10 * DEMO_SECONDS);
  hb_client* client = NULL;
  demo_check("connecting", hb_client_open(&where, &client, &error), &error);

  hb_memory_options size = HB_MEMORY_OPTIONS_INIT;
  size.bytes = DEMO_BYTES;
  size.chunk_bytes = DEMO_CHUNK_BYTES;
  hb_memory* memory = NULL;
  demo_check("allocating", hb_memory_alloc(client, &size, &memory, &error), &error);
  uint64_t* words = hb_memory_ptr(memory);
  for (uint64_t i = 0; i < DEMO_BYTES / 8; ++i) words[i] = demo_word(i);

  static const char kAbout[] = "dtype=u64 pattern=golden";
  hb_export_options what = HB_EXPORT_OPTIONS_INIT;
  what.name = argv[1];
  what.metadata = kAbout;
  what.metadata_bytes = sizeof kAbout;
  what.ptr = words;
  what.bytes = DEMO_BYTES;
  what.deadline_ns = hb_deadline_in(10 * DEMO_SECONDS);
  hb_export* shared = NULL;
  demo_check("exporting", hb_export_create(client, &what, &shared, &error), &error);
  printf("filled 64 MiB in %" PRIu64 " chunks and exported them as %s\n", hb_memory_chunks(memory), argv[1]);
  demo_ready();

  demo_expect(words, DEMO_BYTES / 8, ~UINT64_C(0), "consumer");
  printf("found all 67108864 bytes as the consumer wrote them\n");

  hb_withdrawn ended = HB_WITHDRAWN_INIT;
  demo_check("withdrawing", hb_export_withdraw(shared, hb_deadline_in(10 * DEMO_SECONDS), &ended, &error),
             &error);
  printf("withdrew the export; %" PRIu64 " holders were left\n", ended.holders);
  hb_export_destroy(shared);
  hb_memory_free(memory);
  hb_client_close(client);
  return 0;
}
