/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * A symmetric heap: every rank of a job sees the memory of every other at base + rank * stride, and it grows.
 * Run one a rank, all at once: `symmetric_heap 0of4`, `symmetric_heap 1of4` .... */
#include <hipbroker/hipbroker.h>
#include <stdio.h>
#include <string.h>

#define MINUTE ((uint64_t)60 * 1000000000)
#define CHUNK ((uint64_t)1 << 20)

static int failed(const char* what, const hb_error* error) {
  fprintf(stderr, "%s: %s\n", what, error->message);
  return 1;
}

/* Where rank `rank` has what this rank has `offset` bytes into its heap. */
static char* remote(const hb_group* group, uint32_t rank, uint64_t offset) {
  hb_group_member member = HB_GROUP_MEMBER_INIT;
  if (hb_group_get_member(group, rank, &member, NULL)) return NULL;
  return (char*)member.ptr + offset;
}

int main(int argc, char** argv) {
  hb_error error = HB_ERROR_INIT;
  hb_client_options where = HB_CLIENT_OPTIONS_INIT;
  hb_memory_options size = HB_MEMORY_OPTIONS_INIT;
  hb_group_options options = HB_GROUP_OPTIONS_INIT;
  hb_source more = HB_SOURCE_INIT;
  hb_client* client;
  hb_memory* heap;
  hb_group* group;
  unsigned rank;
  unsigned world;
  uint32_t next;
  if (argc != 2 || sscanf(argv[1], "%uof%u", &rank, &world) != 2) {
    fprintf(stderr, "usage: symmetric_heap RANKofWORLD\n");
    return 64;
  }
  if (hb_client_open(&where, &client, &error)) return failed("hb_client_open", &error);

  size.bytes = CHUNK;
  size.chunk_bytes = CHUNK;
  size.reserve_bytes = 8 * CHUNK; /* addresses for growth; they take no memory */
  if (hb_memory_alloc(client, &size, &heap, &error)) return failed("hb_memory_alloc", &error);

  options.name = "symmetric_heap";
  options.rank = rank;
  options.world = world;
  options.ptr = hb_memory_ptr(heap);
  options.bytes = CHUNK;
  options.max_bytes = 8 * CHUNK;
  options.layout = HB_GROUP_FLAT;
  options.agreement = "float32 v1"; /* who thinks otherwise is named to all */
  options.agreement_bytes = strlen("float32 v1");
  options.deadline_ns = hb_deadline_in(MINUTE);
  if (hb_group_join(client, &options, &group, &error)) return failed("hb_group_join", &error);
  next = (rank + 1) % options.world;
  sprintf(remote(group, next, 64 * (uint64_t)rank), "rank %u was here", rank);

  /* All ranks grow together; nothing moves. */
  if (hb_memory_grow(heap, CHUNK, &error)) return failed("hb_memory_grow", &error);
  more.ptr = (char*)hb_memory_ptr(heap) + CHUNK;
  more.bytes = CHUNK;
  if (hb_group_append(group, &more, hb_deadline_in(MINUTE), &error)) return failed("hb_group_append", &error);
  /* It was a barrier, too: what the rank before wrote is there. */
  printf("rank %u reads: %s\n", rank,
         remote(group, rank, 64 * (uint64_t)((rank + options.world - 1) % options.world)));
  sprintf(remote(group, next, CHUNK), "rank %u was here, too", rank);

  hb_group_leave(group);
  hb_memory_free(heap);
  hb_client_close(client);
  return 0;
}
