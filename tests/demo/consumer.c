/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * consumer NAME: waits for the name, maps what is shared under it, checks every byte and writes back. */
#include <string.h>

#include "demo.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: consumer NAME\n");
    return 64;
  }
  hb_error error = HB_ERROR_INIT;

  hb_client_options where = HB_CLIENT_OPTIONS_INIT;
  where.deadline_ns = hb_deadline_in(10 * DEMO_SECONDS);
  hb_client* client = NULL;
  demo_check("connecting", hb_client_open(&where, &client, &error), &error);

  hb_import_options what = HB_IMPORT_OPTIONS_INIT;
  what.name = argv[1];
  what.access = HB_ACCESS_READ_WRITE;
  what.wait = 1;
  what.deadline_ns = hb_deadline_in(30 * DEMO_SECONDS);
  hb_import* shared = NULL;
  demo_check("importing", hb_import_open(client, &what, &shared, &error), &error);
  hb_import_info info = HB_IMPORT_INFO_INIT;
  hb_import_get_info(shared, &info);
  if (info.bytes != DEMO_BYTES) {
    fprintf(stderr, "%s has %" PRIu64 " bytes, the demo shares %" PRIu64 "\n", argv[1], info.bytes,
            DEMO_BYTES);
    return 1;
  }
  printf("mapped %s: %" PRIu64 " bytes in %" PRIu64 " chunks at one address range; metadata \"%.*s\"\n",
         argv[1], info.bytes, info.chunks, (int)strnlen(info.metadata, info.metadata_bytes),
         (const char*)info.metadata);

  uint64_t* words = info.ptr;
  demo_expect(words, DEMO_BYTES / 8, 0, "producer");
  for (uint64_t i = 0; i < DEMO_BYTES / 8; ++i) words[i] = ~words[i];
  printf("checked every byte, then wrote every byte back inverted\n");
  demo_ready();

  hb_import_close(shared);
  hb_client_close(client);
  printf("unmapped and left\n");
  return 0;
}
