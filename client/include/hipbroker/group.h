/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * Groups: the ranks of one job on this node exchange their memory, all of them or none.
 * Part of hipbroker.h, which includes it and whose conventions hold here.
 */
#ifndef HIPBROKER_GROUP_H
#define HIPBROKER_GROUP_H

#include "hipbroker/hipbroker.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif
#endif
