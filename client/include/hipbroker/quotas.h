/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * Quotas: what a principal (a uid in a scope) uses of each resource over all its sessions, and may use.
 * Part of hipbroker.h, which includes it and whose conventions hold here.
 */
#ifndef HIPBROKER_QUOTAS_H
#define HIPBROKER_QUOTAS_H

#include "hipbroker/hipbroker.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Resources are named by one word: "sessions", "exports", "chunks", "bytes", "descriptors", "leases",
 * "stagings" (exports half sent), "waits" (requests that wait), "tickets", "groups", "events", "requests"
 * (unanswered ones), "connects" (a second). Others may come. */

#define HB_UNLIMITED UINT64_MAX

/* Who asks for more is answered HB_QUOTA, with hb_error's `what`, `used`, `limit` and `who`, and nothing of
 * it is done; nobody else is concerned. */

typedef struct hb_limit {
  const char* resource;
  uint64_t limit; /* bytes for "bytes"; HB_UNLIMITED */
} hb_limit;

enum {
  HB_QUOTA_SCOPE = 0, /* all principals of a scope together; not of the main one */
  HB_QUOTA_UID = 1,
  HB_QUOTA_GID = 2 /* each uid that is in this group, by any of its groups */
};

typedef struct hb_quota_options {
  size_t size;
  const char* scope; /* NULL: the main one */
  uint32_t kind;     /* HB_QUOTA_* */
  uint32_t id;       /* uid or gid; 0 for HB_QUOTA_SCOPE */
  const hb_limit* limits;
  size_t limit_count;
  int clear; /* 1: what was set for the same before goes first; without limits it is all that is done */
  uint64_t deadline_ns;
} hb_quota_options;
#define HB_QUOTA_OPTIONS_INIT \
  { sizeof(hb_quota_options), NULL, HB_QUOTA_UID, 0, NULL, 0, 0, HB_NO_DEADLINE }

/* Sets limits until the node reboots, before those of the policy file; admin socket only (HB_DENIED). Limits
 * that are not named stay as they are. Live sessions have them at once: below what is used, all that exists
 * stays and what is new is refused. `ret_sessions` (may be NULL): live sessions that it applies to.
 * HB_INVALID (no such resource; the total of the main scope), HB_NOT_FOUND (no such scope). */
HB_API hb_status hb_quota_set(hb_client* client, const hb_quota_options* options, uint64_t* ret_sessions,
                              hb_error* error);

typedef struct hb_use {
  const char* resource;
  uint64_t used;
  uint64_t limit; /* HB_UNLIMITED */
} hb_use;

typedef struct hb_account {
  const char* scope;
  int whole_scope; /* 1: all principals of the scope together */
  uint32_t uid;    /* unless whole_scope */
  const hb_use* uses;
  size_t use_count;
} hb_account;

/* The caller's own account; on the admin socket every account that uses something. The result owns everything
 * its accessors return. */
typedef struct hb_accounts hb_accounts;
HB_API hb_status hb_quota_list(hb_client* client, uint64_t deadline_ns, hb_accounts** ret_accounts,
                               hb_error* error);
HB_API size_t hb_accounts_count(const hb_accounts* accounts);
HB_API const hb_account* hb_accounts_at(const hb_accounts* accounts, size_t index); /* NULL: no such index */
HB_API void hb_accounts_free(hb_accounts* accounts);                                /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
