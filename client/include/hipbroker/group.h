/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * Groups: the ranks of one job on this node exchange their memory, all of them or none.
 * Part of hipbroker.h, which includes it and whose conventions hold here.
 *
 * Ranks of one uid in one scope meet under a name. Each offers an export of its own: any memory that can be
 * exported, of hb_memory_alloc or an existing tensor. When the last rank has come, every rank gets all the
 * others' memory mapped; or all get the same error, which names the rank it is about and the values. One
 * connection a rank; `rank` and `world` count the ranks of this node.
 */
#ifndef HIPBROKER_GROUP_H
#define HIPBROKER_GROUP_H

#include "hipbroker/hipbroker.h"

#include "hipbroker/growth.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hb_group hb_group;

enum {
  HB_GROUP_AT = 0,  /* each rank's memory at the address wished for it, or anywhere */
  HB_GROUP_FLAT = 1 /* that of rank r at base + r * stride, this rank's too: a symmetric heap */
};

typedef struct hb_group_options {
  size_t size;
  const char* name; /* as of an export */
  uint32_t rank;    /* from 0 */
  uint32_t world;   /* how many ranks, at most 256 */
  uint64_t attempt; /* a higher one ends an older meeting or group of this name with HB_REPLACED, wherever its
                       ranks are: count restarts with it */
  /* What this rank offers, one of: */
  hb_export* exported; /* 1. an export of this client. It must live as long as the group */
  const void* ptr;     /* 2. memory as for hb_export_options.ptr: exported here, anonymous, */
  uint64_t bytes;      /*    and withdrawn by hb_group_leave */
  uint64_t max_bytes;  /*    how large hb_group_append may make it; 0 = it cannot grow */
  uint32_t memory;     /*    HB_MEMORY_UNKNOWN, or what you vouch for */
  uint32_t access;     /* of the others' memory: HB_ACCESS_READ, HB_ACCESS_READ_WRITE */
  /* What must be the same on all ranks besides the number and the sizes of chunks and their kind: */
  const void* agreement; /* yours, opaque, up to 256 bytes: a dtype, a version, a layout */
  size_t agreement_bytes;
  int any_layout; /* 1 on all ranks: number and sizes of chunks may differ */
  /* Where it is mapped: */
  uint32_t layout;        /* HB_GROUP_AT, HB_GROUP_FLAT */
  void* const* bases;     /* HB_GROUP_AT: `world` wished addresses, NULL in it or for all of it = anywhere */
  void* base;             /* HB_GROUP_FLAT: wished address of rank 0; NULL = anywhere */
  uint64_t stride;        /* HB_GROUP_FLAT: bytes from rank to rank; 0 = as much as the largest rank needs */
  uint64_t reserve_bytes; /* addresses to hold for each rank's growth; 0 = what its export may grow to */
  /* GPU memory, as for hb_import_options: */
  const int32_t* peers;
  size_t peer_count;
  uint32_t host_access;
  uint64_t deadline_ns; /* by which all ranks must have come and mapped */
} hb_group_options;
#define HB_GROUP_OPTIONS_INIT                                                                           \
  {                                                                                                     \
    sizeof(hb_group_options), NULL, 0, 0, 0, NULL, NULL, 0, 0, HB_MEMORY_UNKNOWN, HB_ACCESS_READ_WRITE, \
        NULL, 0, 0, HB_GROUP_AT, NULL, NULL, 0, 0, NULL, 0, HB_HOST_NONE, HB_NO_DEADLINE                \
  }

/* Whole or not at all, for all ranks: returns when every rank has mapped every other's memory. With
 * HB_GROUP_FLAT this rank's memory is mapped a second time, at its place in the row; both addresses are the
 * same bytes. HB_GROUP_FLAT is for memory that begins with its first chunk.
 * The same for all: HB_MISMATCH (a rank and both values), HB_TIMEOUT (the ranks that are missing), HB_GONE (a
 * rank died, left, or ended its export), HB_REPLACED, HB_CANCELED, HB_QUOTA, HB_READ_ONLY, HB_SUSPENDED, and
 * whatever kept a rank from mapping (HB_ADDRESS, HB_NO_MEMORY, HB_NO_FDS, HB_DEVICE ...). For this rank
 * alone: HB_EXISTS (a live process holds this rank number, its pid is named, or the group is complete),
 * HB_REPLACED (a higher attempt is under way), HB_INVALID, HB_DENIED, and what hb_export_create says. May be
 * called again at once after any of them. */
HB_API hb_status hb_group_join(hb_client* client, const hb_group_options* options, hb_group** ret_group,
                               hb_error* error);

typedef struct hb_group_member {
  size_t size;
  uint32_t rank;
  uint32_t pid;   /* 0 = not visible from here */
  void* ptr;      /* its memory in this process. Of this rank with HB_GROUP_AT: what it exported, or NULL
                     where that is not mapped here */
  uint64_t bytes; /* grows with hb_group_append */
  uint64_t export_id;
  hb_import* imported; /* the mapping, borrowed; NULL: of this rank with HB_GROUP_AT */
} hb_group_member;
#define HB_GROUP_MEMBER_INIT \
  { sizeof(hb_group_member), 0, 0, NULL, 0, 0, NULL }
/* HB_RANGE for a rank outside of the world. */
HB_API hb_status hb_group_get_member(const hb_group* group, uint32_t rank, hb_group_member* ret_member,
                                     hb_error* error);
HB_API uint32_t hb_group_rank(const hb_group* group);
HB_API uint32_t hb_group_world(const hb_group* group);

/* Asks the daemon whether the group is whole: HB_OK, or why it ended (HB_GONE with the rank, HB_REPLACED
 * ...). One round trip. A group that has ended stays mapped until it is left. */
HB_API hb_status hb_group_check(hb_group* group, uint64_t deadline_ns, hb_error* error);

/* Collective: every rank adds memory behind the end of what it offers, which was exported with a maximum
 * (max_bytes), and sees what all others added at the same offset behind the same base. The ranks add the same
 * number and sizes of chunks unless any_layout was set. For all or for none, with the same error: HB_MISMATCH
 * (a rank and both values), HB_TIMEOUT, HB_GONE and whatever kept a rank from adding or mapping. After an
 * error the group has ended: what was mapped before stays until it is left; what single ranks added to their
 * exports stays added. HB_BUSY while another thread is in a collective call of this group. */
HB_API hb_status hb_group_append(hb_group* group, const hb_source* source, uint64_t deadline_ns,
                                 hb_error* error);

/* Ends the group for the others, too: their next collective call says who left. Unmaps the others' memory and
 * withdraws what hb_group_join exported. Never waits. Call it also for a group that has ended. */
HB_API void hb_group_leave(hb_group* group);

#ifdef __cplusplus
}
#endif
#endif
