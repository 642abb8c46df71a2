/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * An arena: addresses reserved once, memory mapped below them as allocations need it and given back when
 * they are gone. For symmetric heaps, KV caches and pools, whose addresses must stay while their memory
 * comes and goes. What it hands out is the library's own memory: hb_export_create takes its address, and
 * hb_classify knows it. docs/arena.md tells how it is meant.
 *
 * Memory is made in blocks of one size, each with a descriptor of its own. Two things follow:
 *   A block may hold several allocations, and whoever imports one of them gets the descriptor of the whole
 *   block: on the GPU its importers map all of it. Give allocations that are shared with somebody who must
 *   not see their neighbours an alignment of block_bytes and a size that is a multiple of it.
 *   An export of N blocks travels as N chunks.
 *
 * The conventions are those of hipbroker.h. In a forked child an arena is inert: HB_FORKED.
 */
#ifndef HIPBROKER_ARENA_H
#define HIPBROKER_ARENA_H

#include "hipbroker/hipbroker.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hb_arena hb_arena;

typedef struct hb_arena_options {
  size_t size;
  uint32_t provider;      /* HB_PROVIDER_HOST, HB_PROVIDER_HIP */
  uint64_t reserve_bytes; /* of addresses, rounded up to whole blocks; they cost no memory. At least 1 */
  uint64_t block_bytes;   /* memory is made and given back in such pieces. 0 = 2 MiB, or the GPU's
                             granularity. Host: a multiple of the page size, GPU: rounded up to its
                             granularity */
  uint64_t keep_bytes;    /* so much in wholly free blocks stays mapped for later allocations; 0 = none */
  /* HB_PROVIDER_HIP, as in hb_memory_options: */
  const hb_device_id* device_id;
  const int32_t* peers;
  size_t peer_count;
  int32_t device;
  uint32_t host_access;
} hb_arena_options;
#define HB_ARENA_OPTIONS_INIT \
  { sizeof(hb_arena_options), HB_PROVIDER_HOST, 0, 0, 0, NULL, NULL, 0, 0, HB_HOST_NONE }

/* Reserves addresses and makes no memory. HB_INVALID, HB_RANGE (more than an export holds), HB_NO_MEMORY (no
 * such stretch of addresses), HB_ADDRESS (HIP 7.0 to 7.2, which reserve each block by itself: other mappings
 * of this process came between, several times), and for GPUs what hb_memory_alloc answers. */
HB_API hb_status hb_arena_create(hb_client* client, const hb_arena_options* options, hb_arena** ret_arena,
                                 hb_error* error);

/* `alignment` of the address: a power of two; 0 = 256. The memory is not zeroed: it may have been used
 * before, by this arena alone. All of it is mapped when this returns, or nothing was mapped for it.
 * HB_NO_MEMORY: no range of free addresses is large enough; `used` is what was asked for, `limit` the largest
 * free range, the message names both and what is reserved. Or the system or the GPU has no memory.
 * HB_NO_FDS as hb_memory_alloc: a mapped block of host memory keeps one descriptor open, one of the GPU's
 * with HIP 7.14. HB_ADDRESS (HIP 7.2): another mapping has taken a block's addresses.
 * Waits only for a block that another thread is making or giving back just now. */
HB_API hb_status hb_arena_alloc(hb_arena* arena, uint64_t bytes, uint64_t alignment, void** ret_ptr,
                                hb_error* error);

/* Frees what hb_arena_alloc gave. Every export over any byte of it is ended first, as by hb_range_gone:
 * nobody can import what is placed there next. A block that was exported from is given back as soon as it is
 * wholly free, whatever keep_bytes says, so that holders who still map it do not see what comes after; in a
 * block that other allocations still use they would. An alias of the export (hb_import_options.alias) keeps
 * the memory until it is closed. Blocks that are wholly free then are unmapped beyond keep_bytes. No GPU may
 * use the memory any more, and from HIP 7.14 on giving a block back waits for all streams, as hb_memory_free
 * does. HB_INVALID: no allocation of this arena begins at `ptr`. With any other error (HB_TIMEOUT: the daemon
 * did not answer, the session was ended) the memory was freed all the same. */
HB_API hb_status hb_arena_free(hb_arena* arena, void* ptr, hb_error* error);

/* Gives every wholly free block back, whatever keep_bytes says. */
HB_API hb_status hb_arena_trim(hb_arena* arena, hb_error* error);

typedef struct hb_arena_info {
  size_t size;
  void* base;
  uint64_t reserved;      /* bytes of addresses */
  uint64_t block_bytes;   /* as it was rounded */
  uint64_t mapped;        /* bytes that have memory */
  uint64_t blocks_mapped; /* the same in blocks */
  uint64_t used;          /* by allocations, each rounded up to 256 */
  uint64_t allocations;
  uint64_t largest_free; /* the most that one allocation can have */
  uint64_t lost;         /* bytes of addresses that another mapping took while a block was given back */
  int gives_back;        /* 1: what is unmapped returns to the system. 0: HIP 6.4.0 and 6.4.1 keep it */
  int host_granted;      /* 1: the CPU may use it; on a GPU known once a block is mapped */
  hb_device_id device;   /* the GPU it is on; "" for host memory */
} hb_arena_info;
#define HB_ARENA_INFO_INIT                                                     \
  {                                                                            \
    sizeof(hb_arena_info), NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { {0}, {0}, 0 } \
  }
/* Waits for no driver and no daemon. */
HB_API void hb_arena_get_info(const hb_arena* arena, hb_arena_info* ret_info);

/* Frees all of it. Withdraws nothing, like hb_memory_free: exports live on, importers keep their bytes. NULL
 * is allowed. */
HB_API void hb_arena_destroy(hb_arena* arena);

#ifdef __cplusplus
}
#endif
#endif
