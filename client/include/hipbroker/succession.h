/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * Exports that outlive their owner, and who takes them over; tickets, keys that pin once.
 * Part of hipbroker.h, which includes it and whose conventions hold here.
 */
#ifndef HIPBROKER_SUCCESSION_H
#define HIPBROKER_SUCCESSION_H

#include "hipbroker/hipbroker.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- claim ------------------------------------------------------------------------------------ */

/* An export with a lifetime of HB_LIFETIME_LINGER or _PERSIST whose owner's session has ended is an orphan:
 * importers read on and new ones come, but nothing of it changes until somebody claims it. One that was
 * suspended when its owner went has no memory left and is gone. */

typedef struct hb_claim_options {
  size_t size;
  const hb_key* key;  /* what to claim: a key of the export, */
  const char* name;   /* or its name, of this process's uid */
  uint32_t lifetime;  /* from now on: HB_LIFETIME_* */
  uint64_t linger_ns; /* with HB_LIFETIME_LINGER */
  uint64_t deadline_ns;
} hb_claim_options;
#define HB_CLAIM_OPTIONS_INIT \
  { sizeof(hb_claim_options), NULL, NULL, HB_LIFETIME_OWNER, 0, HB_NO_DEADLINE }

/* Makes an orphan this session's own: the same memory under the next generation. Keys of the generations
 * before are HB_STALE from then on, holders are told (HB_EVENT_CLAIMED), and what they imported is not
 * current any more, though its bytes are what they were. Handles that a former owner's process still has
 * answer HB_GONE.
 * The export has no memory in this process: import it by its new key (hb_export_get_info). What may be done
 * to an export that one made may be done to it, too: withdraw, tickets, steps.
 * Only processes of the owner's uid: HB_DENIED, also for HB_LIFETIME_PERSIST without the right to it.
 * HB_EXISTS: it has an owner, whose session and pid the message names; of two who claim at once one gets
 * this. HB_TIMEOUT: it may be this session's all the same; call again to learn it. HB_NOT_FOUND, HB_STALE,
 * HB_GONE, HB_REVOKED, HB_INVALID. */
HB_API hb_status hb_claim(hb_client* client, const hb_claim_options* options, hb_export** ret_export,
                          hb_error* error);

/* ---- tickets ---------------------------------------------------------------------------------- */

/* A key pins nothing: what it names may end while the key is on its way. A ticket is a key that pins, once:
 * the daemon keeps the memory for whoever imports it first, even when the export is withdrawn or its owner
 * dies meanwhile, for `ttl_ns` at most (1 ns to an hour). Made by the owner of an export, or by who holds an
 * import, of at most what that maps and with at most its access. [offset, offset + bytes) lies inside the
 * export, or inside the import; HB_WHOLE: to its present end.
 *
 * It is used like a key, with hb_import_open or hb_handles_acquire, by a process that may read the export: it
 * adds no right. Who may not is HB_DENIED, and the ticket stays. Once used, what it named is kept as long as
 * the import is, and can be passed on by another ticket; an import of an export that has ended is never
 * current, nothing of it will change any more. A ticket used before, dropped or too old is HB_GONE;
 * HB_REVOKED when the export was taken back: a revoke ends tickets, too. While the export is suspended it
 * pins nothing and answers HB_SUSPENDED. The memory counts for the maker until then: `hipbrokerctl who` names
 * the tickets and who made them, also when those have gone. A failed mapping has used the ticket up. HB_QUOTA
 * (4,096 a session, 16,384 a uid), HB_READ_ONLY, HB_RANGE, HB_SUSPENDED, HB_GONE, HB_INVALID, HB_TIMEOUT. */
HB_API hb_status hb_export_ticket(hb_export* exported, uint64_t offset, uint64_t bytes, uint32_t access,
                                  uint64_t ttl_ns, uint64_t deadline_ns, hb_key* ret_ticket, hb_error* error);
HB_API hb_status hb_import_ticket(hb_import* imported, uint64_t offset, uint64_t bytes, uint32_t access,
                                  uint64_t ttl_ns, uint64_t deadline_ns, hb_key* ret_ticket, hb_error* error);

/* Ends a ticket that nobody will use; by a process of its maker's uid. HB_GONE: it was used, or its time is
 * over. */
HB_API hb_status hb_ticket_drop(hb_client* client, const hb_key* ticket, uint64_t deadline_ns,
                                hb_error* error);

#ifdef __cplusplus
}
#endif
#endif
