/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * Exports that grow and change: append, replace; imports that follow: refresh.
 * Part of hipbroker.h, which includes it and whose conventions hold here.
 */
#ifndef HIPBROKER_GROWTH_H
#define HIPBROKER_GROWTH_H

#include "hipbroker/hipbroker.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory that becomes part of an export: one of the three, exactly as in hb_export_options. */
typedef struct hb_source {
  size_t size;
  const void* ptr;        /* 1. inside memory of hb_memory_alloc, or of HIP: */
  uint64_t bytes;         /*    this many bytes from there */
  const hb_chunk* chunks; /* 2. descriptors */
  size_t chunk_count;
  const hb_hip_handle* handles; /* 3. allocations of hipMemCreate */
  size_t handle_count;
  const hb_device_id* device; /* with `chunks` and `handles` */
  uint32_t memory;            /* with `ptr` */
} hb_source;
#define HB_SOURCE_INIT \
  { sizeof(hb_source), NULL, 0, NULL, 0, NULL, 0, NULL, HB_MEMORY_UNKNOWN }

/* Adds chunks behind the last one, within max_bytes of hb_export_options: under the same key, as the next
 * layout version, at once and whole or not at all. Importers go on reading what they have; those of all of it
 * are told (HB_EVENT_GROWN) and take the rest in with hb_import_refresh. Whoever imports meanwhile gets the
 * old layout or the new one.
 * HB_RANGE (over max_bytes, both numbers), HB_UNSUPPORTED (made without max_bytes), HB_MIXED (another kind or
 * device: error->chunk says which), HB_LEVEL (not sealed, and the export is), HB_SUSPENDED, HB_GONE (ended;
 * or hb_range_gone came meanwhile: withdrawn), HB_BUSY (another thread is changing this export), and what
 * hb_export_create says of memory. HB_TIMEOUT: it may have been done; hb_show tells. */
HB_API hb_status hb_export_append(hb_export* exported, const hb_source* source, uint64_t deadline_ns,
                                  hb_error* error);

/* Other memory in the place of as many chunks from number `first_chunk` on, of the same sizes. The next
 * layout version under the same key; at once, whole or not at all. Holders of those chunks are told
 * (HB_EVENT_REPLACED), are not current any more, and keep the old bytes until they refresh. What was replaced
 * is no longer shared once this returns: freeing it, or telling hb_range_gone of it, ends nothing.
 * Errors as hb_export_append; HB_MISMATCH (another size, error->chunk), HB_RANGE (no such chunks). */
HB_API hb_status hb_export_replace(hb_export* exported, uint64_t first_chunk, const hb_source* source,
                                   uint64_t deadline_ns, hb_error* error);

typedef struct hb_refreshed {
  size_t size;
  uint64_t layout_version; /* what is mapped now */
  uint64_t bytes;
  uint64_t old_bytes;       /* when the call began: what lies behind is new */
  uint64_t first_new_chunk; /* of the export's chunks */
  uint64_t new_chunks;
  uint64_t replaced_chunks; /* others than before, in their place */
  int woken;                /* 1: all was mapped again, after hb_import_unmap */
} hb_refreshed;
#define HB_REFRESHED_INIT \
  { sizeof(hb_refreshed), 0, 0, 0, 0, 0, 0, 0 }

/* Brings a mapping to the present layout where it lies: `ptr` stays, only chunks that are new or replaced are
 * fetched, and it is whole or as it was. Nothing is asked where it is current already. Imports of the same
 * share one mapping: one refresh serves all of them, and threads that refresh at once make one. Replaced
 * chunks must not be in use, here or on a GPU: on a GPU there is a moment when neither the old nor the new is
 * mapped. After hb_import_unmap it maps all of it again, at the same address, for the same devices, for the
 * CPU where host_granted was 1. HB_RANGE (grown beyond the addresses that are held, both numbers: import it
 * anew, with reserve_bytes), HB_ADDRESS (woken, and something else is mapped there by now: nothing is mapped,
 * try again once that is gone, or import anew), HB_SUSPENDED (asleep: refresh when it is resumed), HB_GONE,
 * HB_REVOKED, HB_STALE, HB_CLOSED (the session was lost: import anew), HB_LEVEL (the new chunks are held to
 * less), HB_UNSUPPORTED (an alias, HB_MAP_EXTERNAL, or chunks that do not fit in their place: import anew),
 * HB_NO_FDS, HB_NO_MEMORY, HB_BUSY (a stream capture is running), HB_TIMEOUT. */
HB_API hb_status hb_import_refresh(hb_import* imported, uint64_t deadline_ns, hb_refreshed* ret_refreshed,
                                   hb_error* error);

#ifdef __cplusplus
}
#endif
#endif
