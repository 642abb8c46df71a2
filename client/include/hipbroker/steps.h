/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * Steps: the owner of an export publishes a number, holders wait for it and acknowledge it. No handle moves
 * and nothing is mapped: importers keep what they have.
 * Part of hipbroker.h, which includes it and whose conventions hold here.
 */
#ifndef HIPBROKER_STEPS_H
#define HIPBROKER_STEPS_H

#include "hipbroker/hipbroker.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A step says that the bytes are ready, and orders nothing: make your writes visible before you publish
 * (hipDeviceSynchronize, an event), and read after the wait. */

/* Publishes `step`, which must be above the last one (HB_INVALID); an export begins at 0. HB_GONE, HB_DENIED
 * (it has another owner now). */
HB_API hb_status hb_export_publish(hb_export* exported, uint64_t step, uint64_t deadline_ns, hb_error* error);

/* Waits until `step` or a later one is published; which one, is in ret_reached (may be NULL). HB_TIMEOUT at
 * the deadline; 0 asks without waiting. A step that was published before is answered at once. HB_GONE,
 * HB_REVOKED: the export ended; the death of its owner alone is no end where it outlives him: whoever claims
 * it publishes on. */
HB_API hb_status hb_import_wait_step(hb_import* imported, uint64_t step, uint64_t deadline_ns,
                                     uint64_t* ret_reached, hb_error* error);

/* Tells the owner that this import took `step`, and with it all before. Not waited for: HB_OK says that the
 * message is on its way; of a step not published yet it is ignored. HB_CLOSED: the session was lost. */
HB_API hb_status hb_import_ack_step(hb_import* imported, uint64_t step, hb_error* error);

typedef struct hb_acks hb_acks;

typedef struct hb_acks_info {
  size_t size;
  uint64_t acked;         /* imports that have acknowledged the step, or came after it was published */
  const hb_held* missing; /* those that have not; 64 at most */
  size_t missing_count;
  int more_missing;    /* 1: there are others */
  const hb_held* left; /* those that ended since it was published without having acknowledged it: processes
                          that died, and imports that were closed */
  size_t left_count;
  int more_left;
} hb_acks_info;
#define HB_ACKS_INFO_INIT \
  { sizeof(hb_acks_info), 0, NULL, 0, 0, NULL, 0, 0 }

/* Waits until every import of the export has acknowledged `step`. HB_OK as well at the deadline: then
 * `missing` names who has not. Who ends is waited for no more, and is named in `left` until the next step is
 * published. An import is one lease: an importing process that opens the same twice counts once.
 * HB_INVALID (not published yet), HB_GONE, HB_DENIED, HB_TIMEOUT (the daemon does not answer). */
HB_API hb_status hb_export_wait_acks(hb_export* exported, uint64_t step, uint64_t deadline_ns,
                                     hb_acks** ret_acks, hb_error* error);
/* Valid as long as the handle. */
HB_API void hb_acks_get_info(const hb_acks* acks, hb_acks_info* ret_info);
HB_API void hb_acks_destroy(hb_acks* acks); /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
