/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * An arena: addresses for 1 GiB, memory only where something is allocated, one allocation shared.
 *
 *   cc arena.c -o arena $(pkg-config --cflags --libs hipbroker)
 *
 * For GPU memory set options.provider = HB_PROVIDER_HIP and options.device; copy with hipMemcpy where this
 * example lets the CPU write. */
#include <hipbroker/arena.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hb_error error = HB_ERROR_INIT;

static void check(const char* doing, hb_status status) {
  if (status == HB_OK) return;
  fprintf(stderr, "%s: %s\n", doing, error.message);
  exit(1);
}

static void tell(const char* when, const hb_arena* arena) {
  hb_arena_info now = HB_ARENA_INFO_INIT;
  hb_arena_get_info(arena, &now);
  printf("%-28s %" PRIu64 " allocations, %" PRIu64 " bytes used, %" PRIu64 " blocks of %" PRIu64 " mapped\n",
         when, now.allocations, now.used, now.blocks_mapped, now.block_bytes);
}

int main(void) {
  const uint64_t tensor_bytes = UINT64_C(5) << 20;
  hb_client_options where = HB_CLIENT_OPTIONS_INIT;
  hb_client* client = NULL;
  check("connecting", hb_client_open(&where, &client, &error));

  hb_arena_options options = HB_ARENA_OPTIONS_INIT;
  options.reserve_bytes = UINT64_C(1) << 30; /* addresses, no memory */
  options.keep_bytes = UINT64_C(4) << 20;    /* free blocks that stay mapped for the next allocation */
  hb_arena* arena = NULL;
  check("making the arena", hb_arena_create(client, &options, &arena, &error));
  tell("reserved", arena);

  void* scratch = NULL;
  void* tensor = NULL;
  check("allocating", hb_arena_alloc(arena, 1000, 0, &scratch, &error));
  /* Blocks of its own: whoever imports it gets no descriptor of a block with something else in it. */
  hb_arena_info info = HB_ARENA_INFO_INIT;
  hb_arena_get_info(arena, &info);
  const uint64_t whole = (tensor_bytes + info.block_bytes - 1) / info.block_bytes * info.block_bytes;
  check("allocating", hb_arena_alloc(arena, whole, info.block_bytes, &tensor, &error));
  memset(tensor, 42, (size_t)tensor_bytes);
  tell("allocated", arena);

  hb_export_options what = HB_EXPORT_OPTIONS_INIT;
  what.name = "example/tensor";
  what.ptr = tensor;
  what.bytes = tensor_bytes;
  hb_export* shared = NULL;
  check("exporting", hb_export_create(client, &what, &shared, &error));

  /* Another process would do this. */
  hb_import_options take = HB_IMPORT_OPTIONS_INIT;
  take.name = "example/tensor";
  take.access = HB_ACCESS_READ;
  hb_import* taken = NULL;
  check("importing", hb_import_open(client, &take, &taken, &error));
  hb_import_info there = HB_IMPORT_INFO_INIT;
  hb_import_get_info(taken, &there);
  const unsigned char* bytes = there.ptr;
  if (there.bytes != tensor_bytes || bytes[0] != 42 || bytes[tensor_bytes - 1] != 42) {
    fprintf(stderr, "the import does not show what was written\n");
    return 1;
  }

  /* Ends the export. Its blocks are given back and not kept: a holder must not see what comes next. */
  check("freeing", hb_arena_free(arena, tensor, &error));
  tell("the tensor freed", arena);
  hb_import* late = NULL;
  if (hb_import_open(client, &take, &late, &error) != HB_NOT_FOUND) {
    fprintf(stderr, "the export outlived its memory\n");
    return 1;
  }
  if (bytes[0] != 42) return 1; /* the holder's bytes stay as long as it holds them */

  check("freeing", hb_arena_free(arena, scratch, &error));
  tell("all freed, one block kept", arena);
  check("trimming", hb_arena_trim(arena, &error));
  tell("trimmed", arena);

  hb_import_close(taken);
  hb_export_destroy(shared);
  hb_arena_destroy(arena);
  hb_client_close(client);
  return 0;
}
