/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * Before the daemon is restarted. Part of hipbroker.h, which includes it and whose conventions hold here.
 */
#ifndef HIPBROKER_RESTART_H
#define HIPBROKER_RESTART_H

#include "hipbroker/hipbroker.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a restart of the daemon would lose now. Nothing: restart_safe, and both numbers of what is lost are 0.
 */
typedef struct hb_drain_info {
  size_t size;
  int restart_safe;        /* 1: descriptors and records outlive the daemon */
  uint64_t unsafe_exports; /* whose memory would be lost, unless their owners bring it back */
  uint64_t uploads;        /* exports that are being sent; they go on afterwards */
  uint64_t sessions_lost;  /* of clients that have to connect again */
  char reason[256];        /* why it is not restart-safe */
} hb_drain_info;
#define HB_DRAIN_INFO_INIT \
  { sizeof(hb_drain_info), 0, 0, 0, 0, "" }

enum {
  HB_DRAIN_OFF = 1 /* as before again */
};

/* From now on the daemon answers HB_BUSY to new exports and, on every socket but the admin's, to new
 * sessions; what exists goes on. A daemon that is started again takes both. Admin socket only (HB_DENIED). */
HB_API hb_status hb_drain(hb_client* client, uint32_t flags, uint64_t deadline_ns, hb_drain_info* ret_info,
                          hb_error* error);

#ifdef __cplusplus
}
#endif
#endif
