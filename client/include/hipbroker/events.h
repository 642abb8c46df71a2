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

#ifdef __cplusplus
}
#endif
#endif
