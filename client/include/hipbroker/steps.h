/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * Steps: the owner of an export publishes a number, holders wait for it and acknowledge it.
 * Part of hipbroker.h, which includes it and whose conventions hold here.
 */
#ifndef HIPBROKER_STEPS_H
#define HIPBROKER_STEPS_H

#include "hipbroker/hipbroker.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif
#endif
