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

#ifdef __cplusplus
}
#endif
#endif
