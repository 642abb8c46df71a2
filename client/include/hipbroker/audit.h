/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * The audit trail: who got, gave back, was refused and took back what. docs/audit.md has the records.
 * Part of hipbroker.h, which includes it and whose conventions hold here.
 */
#ifndef HIPBROKER_AUDIT_H
#define HIPBROKER_AUDIT_H

#include "hipbroker/hipbroker.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hb_audit_options {
  size_t size;
  uint64_t after;         /* number of the last record that was read; 0: from the oldest that is kept */
  uint64_t since_unix_ns; /* none older than that; 0: all */
  uint32_t max_records;   /* 0: as many as fit one answer, which are some hundreds */
  uint64_t deadline_ns;
} hb_audit_options;
#define HB_AUDIT_OPTIONS_INIT \
  { sizeof(hb_audit_options), 0, 0, 0, HB_NO_DEADLINE }

typedef struct hb_audit hb_audit;

typedef struct hb_audit_info {
  size_t size;
  const char* const* records; /* each a JSON object on one line */
  size_t record_count;
  uint64_t last; /* number of the last of them, for `after` of the next call */
  int more;      /* 1: there are others already */
  uint64_t lost; /* older ones that were asked for and that the daemon does not keep any more */
} hb_audit_info;
#define HB_AUDIT_INFO_INIT \
  { sizeof(hb_audit_info), NULL, 0, 0, 0, 0 }

/* Reads one page of what the daemon keeps of its audit trail: the last 16,384 records of this run of it; what
 * is older is in its log. Admin socket only (HB_DENIED). A number above all of this run is taken for one of
 * an earlier run: then it begins with the oldest. */
HB_API hb_status hb_audit_read(hb_client* client, const hb_audit_options* options, hb_audit** ret_audit,
                               hb_error* error);
/* Valid as long as the handle. */
HB_API void hb_audit_get_info(const hb_audit* audit, hb_audit_info* ret_info);
HB_API void hb_audit_destroy(hb_audit* audit); /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
