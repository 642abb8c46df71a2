/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * A cache that grows while others read it: the address of what they have stays, only what is new is fetched.
 * One process owns it, the other follows. Ends with 0 when both saw what they should.
 */
#include <hipbroker/hipbroker.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kBlock = 1 << 20, kBlocks = 8 };

static int failed(const char* doing, const hb_error* error) {
  fprintf(stderr, "%s: %s: %s\n", doing, hb_status_name(error->status), error->message);
  return 1;
}

static int own(int ready, int done) {
  hb_error error = HB_ERROR_INIT;
  hb_client_options where = HB_CLIENT_OPTIONS_INIT;
  hb_memory_options size = HB_MEMORY_OPTIONS_INIT;
  hb_export_options what = HB_EXPORT_OPTIONS_INIT;
  hb_client* client;
  hb_memory* memory;
  hb_export* cache;
  char* blocks;
  if (hb_client_open(&where, &client, &error)) return failed("hb_client_open", &error);
  /* Addresses for all of it from the start, memory as it is needed. */
  size.bytes = size.chunk_bytes = kBlock;
  size.reserve_bytes = (uint64_t)kBlocks * kBlock;
  if (hb_memory_alloc(client, &size, &memory, &error)) return failed("hb_memory_alloc", &error);
  blocks = hb_memory_ptr(memory);
  strcpy(blocks, "block 0");
  what.name = "example/growing-cache";
  what.ptr = blocks;
  what.bytes = kBlock;
  what.max_bytes = size.reserve_bytes; /* importers reserve as much, so that they can follow in place */
  if (hb_export_create(client, &what, &cache, &error)) return failed("hb_export_create", &error);
  if (write(ready, "", 1) != 1) return 1;

  for (int i = 1; i < kBlocks; ++i) {
    hb_source more = HB_SOURCE_INIT;
    char subscribed;
    if (i == 1 && read(done, &subscribed, 1) != 1) return 1;
    if (hb_memory_grow(memory, kBlock, &error)) return failed("hb_memory_grow", &error);
    sprintf(blocks + (size_t)i * kBlock, "block %d", i);
    more.ptr = blocks + (size_t)i * kBlock;
    more.bytes = kBlock;
    /* What is appended is shared whole, at once, under the key that is known already. */
    if (hb_export_append(cache, &more, hb_deadline_in(5000000000u), &error))
      return failed("hb_export_append", &error);
  }
  char end;
  while (read(done, &end, 1) > 0) { /* the reader closes its end when it has seen all */
  }
  hb_export_destroy(cache);
  hb_client_close(client);
  hb_memory_free(memory);
  return 0;
}

/* Runs inside hb_events_dispatch: what the event is about may be refreshed right here. */
static void follow(const hb_event* event, void* userdata) {
  hb_refreshed now = HB_REFRESHED_INIT;
  hb_error error = HB_ERROR_INIT;
  if (event->kind != HB_EVENT_GROWN || event->imported == NULL) return;
  if (hb_import_refresh(event->imported, hb_deadline_in(5000000000u), &now, &error)) {
    failed("hb_import_refresh", &error);
    return;
  }
  printf("layout %u: %u blocks, %u of them new\n", (unsigned)now.layout_version,
         (unsigned)(now.bytes / kBlock), (unsigned)now.new_chunks);
  *(uint64_t*)userdata = now.bytes;
}

static int read_along(int ready, int done) {
  hb_error error = HB_ERROR_INIT;
  hb_client_options where = HB_CLIENT_OPTIONS_INIT;
  hb_import_options what = HB_IMPORT_OPTIONS_INIT;
  hb_import_info info = HB_IMPORT_INFO_INIT;
  hb_client* client;
  hb_import* cache;
  uint64_t bytes = kBlock;
  char up;
  int events;
  if (read(ready, &up, 1) != 1) return 1;
  if (hb_client_open(&where, &client, &error)) return failed("hb_client_open", &error);
  what.name = "example/growing-cache";
  if (hb_import_open(client, &what, &cache, &error)) return failed("hb_import_open", &error);
  hb_import_get_info(cache, &info);
  const char* const blocks = info.ptr;
  if (hb_events_fd(client, &events, &error)) return failed("hb_events_fd", &error);
  if (write(done, "", 1) != 1) return 1;
  while (bytes < (uint64_t)kBlocks * kBlock) {
    struct pollfd wait = {events, POLLIN, 0};
    if (poll(&wait, 1, 10000) != 1) return 1;
    if (hb_events_dispatch(client, follow, &bytes, NULL, &error)) return failed("hb_events_dispatch", &error);
  }
  /* The pointer is the one of the beginning. Sharing gives no ordering of its own: the event came over the
   * broker after the append, and what was written before it is seen after it. */
  for (int i = 0; i < kBlocks; ++i) {
    char expected[16];
    sprintf(expected, "block %d", i);
    if (strcmp(blocks + (size_t)i * kBlock, expected) != 0) return 1;
  }
  hb_import_close(cache);
  hb_client_close(client);
  close(done);
  return 0;
}

int main(void) {
  int ready[2], done[2], status;
  if (pipe(ready) || pipe(done)) return 1;
  const pid_t reader = fork(); /* before any client exists: in a child the parent's handles are inert */
  if (reader == 0) {
    close(ready[1]);
    close(done[0]);
    return read_along(ready[0], done[1]);
  }
  close(ready[0]);
  close(done[1]);
  const int owned = own(ready[1], done[0]);
  close(ready[1]);
  return waitpid(reader, &status, 0) == reader && status == 0 ? owned : 1;
}
