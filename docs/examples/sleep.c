/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * An engine sleeps: its memory goes back to the system, though others have it mapped, and comes back under
 * the same key at the same addresses. Ends with 0 when both processes saw what they should.
 */
#include <hipbroker/hipbroker.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint64_t kBytes = 4 << 20;
static const uint64_t kSecond = 1000000000u;

static int failed(const char* doing, const hb_error* error) {
  fprintf(stderr, "%s: %s: %s\n", doing, hb_status_name(error->status), error->message);
  return 1;
}

static int engine(int ready, int go) {
  hb_error error = HB_ERROR_INIT;
  hb_client_options where = HB_CLIENT_OPTIONS_INIT;
  hb_memory_options size = HB_MEMORY_OPTIONS_INIT;
  hb_export_options what = HB_EXPORT_OPTIONS_INIT;
  hb_suspended suspended = HB_SUSPENDED_INIT;
  hb_source again = HB_SOURCE_INIT;
  hb_holders* left;
  hb_client* client;
  hb_memory* memory;
  hb_export* weights;
  char token;
  if (hb_client_open(&where, &client, &error)) return failed("hb_client_open", &error);
  size.bytes = kBytes;
  if (hb_memory_alloc(client, &size, &memory, &error)) return failed("hb_memory_alloc", &error);
  strcpy(hb_memory_ptr(memory), "before");
  what.name = "example/sleep";
  what.ptr = hb_memory_ptr(memory);
  what.bytes = kBytes;
  if (hb_export_create(client, &what, &weights, &error)) return failed("hb_export_create", &error);
  if (write(ready, "", 1) != 1 || read(go, &token, 1) != 1) return 1;

  /* Importers first: as long as one of them is mapped, nothing returns to the system. */
  if (hb_export_suspend(weights, 10 * kSecond, HB_NO_DEADLINE, &suspended, &left, &error))
    return failed("hb_export_suspend", &error);
  for (size_t i = 0; i < hb_holders_count(left); ++i) /* the broker can name them, not unmap them */
    fprintf(stderr, "pid %u has not unmapped\n", (unsigned)hb_holders_at(left, i)->process.pid);
  hb_holders_free(left);
  if (suspended.holders != 0) return 1;
  if (hb_memory_sleep(memory, &error)) return failed("hb_memory_sleep", &error);
  puts("asleep: the memory is the system's");

  if (hb_memory_wake(memory, &error)) return failed("hb_memory_wake", &error);
  strcpy(hb_memory_ptr(memory), "after"); /* it came back empty: filled before anyone is let in again */
  again.ptr = hb_memory_ptr(memory);
  again.bytes = kBytes;
  if (hb_export_resume(weights, &again, HB_NO_DEADLINE, &error)) return failed("hb_export_resume", &error);
  while (read(go, &token, 1) > 0) { /* until the importer has seen it */
  }
  hb_export_destroy(weights);
  hb_client_close(client);
  hb_memory_free(memory);
  return 0;
}

/* What an importer has to do: give way when it is told to, and come back when it may. */
static void give_way(const hb_event* event, void* awake) {
  hb_error error = HB_ERROR_INIT;
  if (event->imported == NULL) return;
  if (event->kind == HB_EVENT_SUSPENDED) {
    /* Nothing may use the memory from here on: with a GPU, wait for its streams first. */
    if (hb_import_unmap(event->imported, &error)) failed("hb_import_unmap", &error);
  } else if (event->kind == HB_EVENT_RESUMED) {
    if (hb_import_refresh(event->imported, HB_NO_DEADLINE, NULL, &error))
      failed("hb_import_refresh", &error); /* HB_ADDRESS: free what is there now, and try again */
    else
      *(int*)awake = 1;
  }
}

static int importer(int ready, int go) {
  hb_error error = HB_ERROR_INIT;
  hb_client_options where = HB_CLIENT_OPTIONS_INIT;
  hb_import_options what = HB_IMPORT_OPTIONS_INIT;
  hb_import_info info = HB_IMPORT_INFO_INIT;
  hb_client* client;
  hb_import* weights;
  char token;
  int events, awake = 0;
  if (read(ready, &token, 1) != 1) return 1;
  if (hb_client_open(&where, &client, &error)) return failed("hb_client_open", &error);
  what.name = "example/sleep";
  if (hb_import_open(client, &what, &weights, &error)) return failed("hb_import_open", &error);
  hb_import_get_info(weights, &info);
  const char* const text = info.ptr;
  if (strcmp(text, "before") != 0) return 1;
  if (hb_events_fd(client, &events, &error)) return failed("hb_events_fd", &error);
  if (write(go, "", 1) != 1) return 1;
  while (!awake) {
    struct pollfd wait = {events, POLLIN, 0};
    if (poll(&wait, 1, 10000) != 1) return 1;
    if (hb_events_dispatch(client, give_way, &awake, NULL, &error))
      return failed("hb_events_dispatch", &error);
  }
  if (strcmp(text, "after") != 0) return 1; /* the same pointer, the new bytes */
  hb_import_close(weights);
  hb_client_close(client);
  close(go);
  return 0;
}

int main(void) {
  int ready[2], go[2], status;
  if (pipe(ready) || pipe(go)) return 1;
  const pid_t child = fork(); /* before any client exists: in a child the parent's handles are inert */
  if (child == 0) {
    close(ready[1]);
    close(go[0]);
    return importer(ready[0], go[1]);
  }
  close(ready[0]);
  close(go[1]);
  const int slept = engine(ready[1], go[0]);
  close(ready[1]);
  return waitpid(child, &status, 0) == child && status == 0 ? slept : 1;
}
