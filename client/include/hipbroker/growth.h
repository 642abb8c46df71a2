/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * Exports that grow and change: append, replace; imports that follow: refresh.
 * Part of hipbroker.h, which includes it and whose conventions hold here.
 */
#ifndef HIPBROKER_GROWTH_H
#define HIPBROKER_GROWTH_H

#include "hipbroker/hipbroker.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif
#endif
