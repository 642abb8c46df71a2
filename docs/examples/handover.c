/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * A cache that outlives the process that made it. Run both at once: `handover first` shares it and ends,
 * `handover second` uses it and takes it over when the first has gone. */
#include <hipbroker/hipbroker.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define MINUTE ((uint64_t)60 * 1000000000)

static int failed(const char* what, const hb_error* error) {
  fprintf(stderr, "%s: %s\n", what, error->message);
  return 1;
}

static int first(hb_client* client) {
  hb_error error = HB_ERROR_INIT;
  hb_memory_options size = HB_MEMORY_OPTIONS_INIT;
  hb_export_options what = HB_EXPORT_OPTIONS_INIT;
  hb_memory* memory;
  hb_export* shared;
  size.bytes = 1 << 20;
  if (hb_memory_alloc(client, &size, &memory, &error)) return failed("hb_memory_alloc", &error);
  strcpy(hb_memory_ptr(memory), "computed by the first");
  what.name = "handover/cache";
  what.ptr = hb_memory_ptr(memory);
  what.bytes = hb_memory_bytes(memory);
  what.lifetime = HB_LIFETIME_LINGER; /* a minute without an owner */
  what.linger_ns = MINUTE;
  if (hb_export_create(client, &what, &shared, &error)) return failed("hb_export_create", &error);
  hb_export_destroy(shared); /* ends nothing */
  hb_memory_free(memory);    /* neither: the daemon holds it */
  return 0;
}

static void ignore(const hb_event* event, void* userdata) {
  (void)event;
  (void)userdata;
}

static int second(hb_client* client) {
  hb_error error = HB_ERROR_INIT;
  hb_import_options wanted = HB_IMPORT_OPTIONS_INIT;
  hb_import_info info = HB_IMPORT_INFO_INIT;
  hb_claim_options claim = HB_CLAIM_OPTIONS_INIT;
  hb_import* cache;
  hb_export* mine;
  hb_status status;
  struct pollfd events = {-1, POLLIN, 0};

  wanted.name = "handover/cache";
  wanted.wait = 1;
  wanted.deadline_ns = hb_deadline_in(MINUTE);
  if (hb_import_open(client, &wanted, &cache, &error)) return failed("hb_import_open", &error);
  hb_import_get_info(cache, &info);
  printf("before: %s, generation %u\n", (const char*)info.ptr, (unsigned)info.generation);

  /* Subscribed before the first try: the owner's end after it is told. */
  if (hb_events_fd(client, &events.fd, &error)) return failed("hb_events_fd", &error);
  claim.name = "handover/cache";
  while ((status = hb_claim(client, &claim, &mine, &error)) == HB_EXISTS) {
    if (poll(&events, 1, 60000) != 1) return failed("the first does not end", &error);
    if (hb_events_dispatch(client, ignore, NULL, NULL, &error)) return failed("hb_events_dispatch", &error);
  }
  if (status) return failed("hb_claim", &error);

  /* The bytes are where they were; new importers come under the new generation. */
  printf("after: %s, current: %d\n", (const char*)info.ptr, hb_import_is_current(cache));
  hb_import_close(cache);
  if (hb_export_withdraw(mine, HB_NO_DEADLINE, NULL, &error)) return failed("hb_export_withdraw", &error);
  hb_export_destroy(mine);
  return 0;
}

int main(int argc, char** argv) {
  hb_error error = HB_ERROR_INIT;
  hb_client_options where = HB_CLIENT_OPTIONS_INIT;
  hb_client* client;
  int result;
  if (argc != 2) {
    fprintf(stderr, "usage: handover first|second\n");
    return 64;
  }
  if (hb_client_open(&where, &client, &error)) return failed("hb_client_open", &error);
  result = strcmp(argv[1], "first") == 0 ? first(client) : second(client);
  hb_client_close(client);
  return result;
}
