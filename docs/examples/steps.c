/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * Weights that change in place: exported once, imported once, then only a number goes round. Run both at
 * once: `steps trainer` and `steps engine`. */
#include <hipbroker/hipbroker.h>
#include <stdio.h>
#include <string.h>

#define MINUTE ((uint64_t)60 * 1000000000)
#define STEPS 5

static int failed(const char* what, const hb_error* error) {
  fprintf(stderr, "%s: %s\n", what, error->message);
  return 1;
}

static int trainer(hb_client* client) {
  hb_error error = HB_ERROR_INIT;
  hb_memory_options size = HB_MEMORY_OPTIONS_INIT;
  hb_export_options what = HB_EXPORT_OPTIONS_INIT;
  hb_memory* memory;
  hb_export* weights;
  uint64_t step;
  size.bytes = 1 << 20;
  if (hb_memory_alloc(client, &size, &memory, &error)) return failed("hb_memory_alloc", &error);
  what.name = "steps/weights";
  what.ptr = hb_memory_ptr(memory);
  what.bytes = hb_memory_bytes(memory);
  if (hb_export_create(client, &what, &weights, &error)) return failed("hb_export_create", &error);
  /* A step is for who holds an import then: wait for the engine. */
  if (hb_wait_name(client, "steps/engine", HB_OWN_UID, hb_deadline_in(MINUTE), &error))
    return failed("hb_wait_name", &error);

  for (step = 1; step <= STEPS; ++step) {
    hb_acks_info who = HB_ACKS_INFO_INIT;
    hb_acks* acks;
    size_t i;
    sprintf(hb_memory_ptr(memory), "weights of step %d", (int)step);
    /* On a GPU: wait for the stream here. A step orders nothing. */
    if (hb_export_publish(weights, step, HB_NO_DEADLINE, &error)) return failed("hb_export_publish", &error);
    if (hb_export_wait_acks(weights, step, hb_deadline_in(MINUTE), &acks, &error))
      return failed("hb_export_wait_acks", &error);
    hb_acks_get_info(acks, &who);
    printf("step %d: %d engines have it\n", (int)step, (int)who.acked);
    for (i = 0; i < who.left_count; ++i)
      printf("  pid %u (%s) left without it\n", who.left[i].process.pid, who.left[i].process.command);
    for (i = 0; i < who.missing_count; ++i)
      printf("  pid %u (%s) does not answer\n", who.missing[i].process.pid, who.missing[i].process.command);
    hb_acks_destroy(acks);
  }
  hb_export_destroy(weights);
  hb_memory_free(memory);
  return 0;
}

static int engine(hb_client* client) {
  hb_error error = HB_ERROR_INIT;
  hb_import_options wanted = HB_IMPORT_OPTIONS_INIT;
  hb_import_info info = HB_IMPORT_INFO_INIT;
  hb_memory_options size = HB_MEMORY_OPTIONS_INIT;
  hb_export_options ready = HB_EXPORT_OPTIONS_INIT;
  hb_import* weights;
  hb_memory* page;
  hb_export* here;
  uint64_t step = 0;
  wanted.name = "steps/weights";
  wanted.wait = 1;
  wanted.deadline_ns = hb_deadline_in(MINUTE);
  if (hb_import_open(client, &wanted, &weights, &error)) return failed("hb_import_open", &error);
  hb_import_get_info(weights, &info);
  size.bytes = 4096;
  if (hb_memory_alloc(client, &size, &page, &error)) return failed("hb_memory_alloc", &error);
  ready.name = "steps/engine";
  ready.ptr = hb_memory_ptr(page);
  ready.bytes = 4096;
  if (hb_export_create(client, &ready, &here, &error)) return failed("hb_export_create", &error);

  while (step < STEPS) {
    if (hb_import_wait_step(weights, step + 1, hb_deadline_in(MINUTE), &step, &error))
      return failed("hb_import_wait_step", &error);
    printf("engine: %s\n", (const char*)info.ptr);
    if (hb_import_ack_step(weights, step, &error)) return failed("hb_import_ack_step", &error);
  }
  hb_export_destroy(here);
  hb_memory_free(page);
  hb_import_close(weights);
  return 0;
}

int main(int argc, char** argv) {
  hb_error error = HB_ERROR_INIT;
  hb_client_options where = HB_CLIENT_OPTIONS_INIT;
  hb_client* client;
  int result;
  if (argc != 2) {
    fprintf(stderr, "usage: steps trainer|engine\n");
    return 64;
  }
  if (hb_client_open(&where, &client, &error)) return failed("hb_client_open", &error);
  result = strcmp(argv[1], "trainer") == 0 ? trainer(client) : engine(client);
  hb_client_close(client);
  return result;
}
