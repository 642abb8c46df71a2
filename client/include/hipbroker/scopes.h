/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * Scopes: name spaces of their own, each with a directory that is mounted into a pod, a job, a container.
 * The conventions of hipbroker.h hold here.
 */
#ifndef HIPBROKER_SCOPES_H
#define HIPBROKER_SCOPES_H

#include "hipbroker/hipbroker.h"
#include "hipbroker/quotas.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Who connects through the socket in a scope's directory sees what is in that scope and nothing else: a key
 * of another scope answers as a key that never was, and uid 0 of one is another principal than uid 0 of the
 * next. The scope that is always there is "main". All of this is asked on the admin socket: HB_DENIED on
 * every other, also for uid 0. */

typedef struct hb_scope_options {
  size_t size;
  const char* name;      /* 1 to 64 of a-z 0-9 . _ - and no '.' first; not "main", not "admin" */
  const uint32_t* uids;  /* who may connect; none: whoever reaches the directory */
  size_t uid_count;      /* at most 256 */
  const hb_limit* total; /* of all principals in it together; what is not named is not limited */
  size_t total_count;
  const hb_limit* each; /* of each of them; what is not named is as the policy of the node says */
  size_t each_count;
  uint64_t deadline_ns;
} hb_scope_options;
#define HB_SCOPE_OPTIONS_INIT \
  { sizeof(hb_scope_options), NULL, NULL, 0, NULL, 0, NULL, 0, HB_NO_DEADLINE }

typedef struct hb_scope_place {
  size_t size;
  char directory[256]; /* to be mounted: the socket in it is broker.sock */
} hb_scope_place;
#define HB_SCOPE_PLACE_INIT       \
  {                               \
    sizeof(hb_scope_place), { 0 } \
  }

/* Makes it, until it is removed: a daemon that starts anew serves the same directory again, so that what was
 * mounted goes on working. HB_EXISTS, HB_INVALID (no such name or resource), HB_QUOTA (4,096 scopes),
 * HB_NO_FDS, HB_SYSTEM: something that is not the daemon's own is in the way, which the message names. */
HB_API hb_status hb_scope_add(hb_client* client, const hb_scope_options* options, hb_scope_place* ret_place,
                              hb_error* error);

typedef struct hb_scope_removed {
  size_t size;
  uint64_t sessions; /* disconnected */
  uint64_t exports;  /* ended, whatever their lifetime */
  uint64_t tickets;
  uint64_t groups;
  uint64_t bytes; /* of memory that the daemon has let go of; who still maps it keeps it */
} hb_scope_removed;
#define HB_SCOPE_REMOVED_INIT \
  { sizeof(hb_scope_removed), 0, 0, 0, 0, 0 }

/* Ends the scope and everything in it, and answers when the daemon has closed its descriptors.
 * `ret_removed` may be NULL. HB_NOT_FOUND; HB_INVALID for "main". */
HB_API hb_status hb_scope_remove(hb_client* client, const char* name, uint64_t deadline_ns,
                                 hb_scope_removed* ret_removed, hb_error* error);

typedef struct hb_scope {
  const char* name;
  const char* directory;
  const uint32_t* uids; /* who may connect; none: whoever reaches the directory */
  size_t uid_count;
  const hb_use* total; /* each resource that is used or limited */
  size_t total_count;
  uint64_t sessions;
  uint64_t exports;
  uint64_t age_ns;
} hb_scope;

/* Every scope, "main" first. The result owns everything its accessors return. */
typedef struct hb_scopes hb_scopes;
HB_API hb_status hb_scope_list(hb_client* client, uint64_t deadline_ns, hb_scopes** ret_scopes,
                               hb_error* error);
HB_API size_t hb_scopes_count(const hb_scopes* scopes);
HB_API const hb_scope* hb_scopes_at(const hb_scopes* scopes, size_t index); /* NULL: no such index */
HB_API void hb_scopes_free(hb_scopes* scopes);                              /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
