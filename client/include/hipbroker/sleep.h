/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * Exports that sleep: suspend and resume; imports that give way and come back at the same address.
 * Part of hipbroker.h, which includes it and whose conventions hold here.
 */
#ifndef HIPBROKER_SLEEP_H
#define HIPBROKER_SLEEP_H

#include "hipbroker/growth.h"
#include "hipbroker/hipbroker.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The order of a sleep: hb_export_suspend, which importers answer with hb_import_unmap; hb_memory_sleep; and
 * back: hb_memory_wake, hb_export_resume, which importers answer with hb_import_refresh. */

typedef struct hb_suspended {
  size_t size;
  uint64_t layout_version; /* of the sleep */
  uint64_t holders;        /* that have not unmapped */
} hb_suspended;
#define HB_SUSPENDED_INIT \
  { sizeof(hb_suspended), 0, 0 }

/* The daemon lets go of the memory, holders are told to unmap (HB_EVENT_SUSPENDED), and the call waits up to
 * `wait_ns` until every one of them has, or has given it back. `ret_left` (may be NULL): who has not, for
 * hb_holders_free: they still pin the memory, and nobody can unmap them from outside. Key, name and leases
 * stay; whoever imports meanwhile is answered HB_SUSPENDED. From here on the memory is yours again: it may be
 * freed, and hb_range_gone of it ends nothing. Called again it waits again. An export that is asleep ends
 * with its owner. HB_TIMEOUT (a deadline before the end of the wait): call it again to learn how it stands.
 * HB_GONE, HB_BUSY (another thread is changing the export). */
HB_API hb_status hb_export_suspend(hb_export* exported, uint64_t wait_ns, uint64_t deadline_ns,
                                   hb_suspended* ret_suspended, hb_holders** ret_left, hb_error* error);

/* New memory for all chunks, of the same sizes, under the same key. Holders are told (HB_EVENT_RESUMED) and
 * refresh. Errors as hb_export_append; HB_INVALID (not suspended), HB_MISMATCH (other sizes). */
HB_API hb_status hb_export_resume(hb_export* exported, const hb_source* source, uint64_t deadline_ns,
                                  hb_error* error);

/* The answer to HB_EVENT_SUSPENDED: unmaps, for every user of this mapping in this process, and tells the
 * daemon so. The memory must not be in use any more, here or on a GPU, as for hb_import_close. Until
 * hb_import_refresh `ptr` must not be touched: there is nothing, and where a reservation would pin the memory
 * (HIP 7.2) the address is given up and anything may be mapped there. Lease, key and handle stay. It never
 * waits for the daemon; for another thread that refreshes this import it does. Unmapped already: says so
 * again. Without a suspension it only unmaps. HB_INVALID (an alias), HB_FORKED. */
HB_API hb_status hb_import_unmap(hb_import* imported, hb_error* error);

#ifdef __cplusplus
}
#endif
#endif
