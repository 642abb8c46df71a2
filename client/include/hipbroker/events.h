/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * What becomes of what you hold: grown, replaced, suspended, resumed, withdrawn, revoked, owner died, gone,
 * claimed. And taking back: revoke.
 * Part of hipbroker.h, which includes it and whose conventions hold here.
 */
#ifndef HIPBROKER_EVENTS_H
#define HIPBROKER_EVENTS_H

#include "hipbroker/hipbroker.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- events ----------------------------------------------------------------------------------- */

enum {
  HB_EVENT_GROWN = 1,      /* `bytes` is the new size; hb_import_refresh takes it in */
  HB_EVENT_REPLACED = 2,   /* chunks first_chunk .. + chunk_count have other memory now */
  HB_EVENT_SUSPENDED = 3,  /* asleep: unmap, the owner waits for that */
  HB_EVENT_RESUMED = 4,    /* awake again */
  HB_EVENT_WITHDRAWN = 5,  /* the owner ended it */
  HB_EVENT_REVOKED = 6,    /* it was taken back. Without `imported`: an export of yours was */
  HB_EVENT_OWNER_DIED = 7, /* the owner's session ended; `bytes` is 0 where the export ended with it */
  HB_EVENT_GONE = 8,       /* nobody took it over in time */
  HB_EVENT_CLAIMED = 9,    /* a new owner took it over, under a new generation */
  /* Of the client itself, without an import: */
  HB_EVENT_LOST =
      10, /* more happened than the limit of events let be kept: hb_import_refresh what you hold */
  HB_EVENT_SESSION_LOST =
      100, /* the daemon died: imports stay readable, none is current, exports are known to nobody */
  HB_EVENT_SESSION_NEW =
      101 /* there is a daemon again: this and later dispatches bring exports and leases over to it */
};

typedef struct hb_event {
  size_t size;
  uint32_t kind;       /* HB_EVENT_*; later versions may send others: ignore what you do not know */
  hb_import* imported; /* whose mapping is concerned; NULL: what hb_handles_acquire gave, an export of
                          yours, or the client itself. Valid while the handler runs, whoever closes it */
  uint64_t lease_id;   /* 0: an export of yours, or the client itself */
  uint64_t export_id;
  uint32_t generation; /* of now, like the next two: what was overtaken before you read it is left out */
  uint64_t layout_version;
  uint64_t bytes;       /* of the whole export; 0 once it has ended */
  uint64_t first_chunk; /* HB_EVENT_REPLACED */
  uint64_t chunk_count;
} hb_event;
#define HB_EVENT_INIT \
  { sizeof(hb_event), 0, NULL, 0, 0, 0, 0, 0, 0, 0 }

HB_API const char* hb_event_name(uint32_t kind); /* "owner-died"; "unknown"; never NULL */

/* Called on the dispatching thread, with no lock held, once for each event in their order; once for a
 * mapping, however often it was opened. It may call every function of the library, close imports and the
 * client, too; what it closes is unmapped when it returns. It must return: no exception, no longjmp. */
typedef void (*hb_event_handler)(const hb_event* event, void* userdata);

/* A descriptor that becomes readable when there is something to dispatch, also while the daemon is looked
 * for. The number is the same as long as the client is open. Borrowed: only for poll, epoll and select; do
 * not read, write or close it. Subscribes at the first call; what happened to what you hold before is told
 * first. Three descriptors more are open from then on. HB_NO_FDS, HB_TIMEOUT (the daemon did not answer in 2
 * seconds), HB_UNSUPPORTED. */
HB_API hb_status hb_events_fd(hb_client* client, int* ret_fd, hb_error* error);

/* Calls the handler for everything there is to tell and returns; `ret_count` (may be NULL): how often.
 * Subscribes at the first call. Nothing to tell costs one non-blocking read. Where the daemon is gone, it is
 * looked for without waiting for it, and found by a later call: nothing else has to be done. Events of what
 * you gave back meanwhile are left out.
 * HB_BUSY: called from a handler, or while another thread or hb_dispatch_loop dispatches for this client.
 * HB_TIMEOUT: the daemon did not answer in 2 seconds; nothing is lost, dispatch again. HB_CLOSED, HB_VERSION
 * or HB_UNTRUSTED (of a daemon that took the old one's place). */
HB_API hb_status hb_events_dispatch(hb_client* client, hb_event_handler handler, void* userdata,
                                    uint64_t* ret_count, hb_error* error);

/* The same on this thread until hb_dispatch_stop (HB_OK) or hb_client_close (HB_OK). A daemon that dies is
 * waited for without end, with growing pauses of at most half a second; it ends with an error only where
 * waiting does not help: HB_VERSION, HB_UNTRUSTED, HB_UNSUPPORTED, HB_PROTO, HB_BUSY. */
HB_API hb_status hb_dispatch_loop(hb_client* client, hb_event_handler handler, void* userdata,
                                  hb_error* error);
/* From any thread, a handler or a signal handler. The loop returns when the handler that runs has. Without a
 * loop the next one returns at once. */
HB_API void hb_dispatch_stop(hb_client* client);

/* What a daemon that comes back remembers of exports, and what the library brings it, hipbroker.h tells ("a
 * daemon that died"). Started again under systemd it keeps the session: HB_EVENT_LOST is all that is told. */

/* ---- taking back ------------------------------------------------------------------------------ */

/* Takes an export from its holders, whether it is live or has ended and is still held: by a process of its
 * owner's uid, or on the admin socket. The target is a name (with owner_uid) or, where `name` is NULL, an
 * export_id. First its key is dead, its name free, the daemon's descriptors closed and every holder told;
 * then the call waits up to `grace_ns` for the holders to give it back. `ret_left` (may be NULL): who has
 * not, for hb_holders_free. Nobody can be unmapped from outside: their memory returns when they unmap or
 * exit. Asked again it waits again, and counts 0 exports. HB_DENIED, HB_NOT_FOUND, HB_GONE (by id: it has
 * ended and nobody holds it). HB_TIMEOUT (a deadline before the end of the grace): it is revoked all the
 * same. */
HB_API hb_status hb_revoke(hb_client* client, const char* name, uint32_t owner_uid, uint64_t export_id,
                           uint64_t grace_ns, uint64_t deadline_ns, hb_withdrawn* ret_withdrawn,
                           hb_holders** ret_left, hb_error* error);

/* hb_export_withdraw, which then waits up to `wait_ns` for the holders to give it back, and names those left
 * in `ret_left` (may be NULL), for hb_holders_free. */
HB_API hb_status hb_export_withdraw_wait(hb_export* exported, uint64_t wait_ns, uint64_t deadline_ns,
                                         hb_withdrawn* ret_withdrawn, hb_holders** ret_left, hb_error* error);

/* ---- looking ---------------------------------------------------------------------------------- */

enum { HB_LIST_ENDED = 1 /* also exports that have ended and are still held */ };
/* hb_list_exports with HB_LIST_* flags. */
HB_API hb_status hb_list_exports_with(hb_client* client, const char* prefix, uint32_t flags,
                                      uint64_t deadline_ns, hb_list** ret_list, hb_error* error);

#ifdef __cplusplus
}
#endif
#endif
