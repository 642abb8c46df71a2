/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * libhipbroker: share memory between processes through hipbrokerd.
 *
 * Sharing gives no ordering. A byte another process writes, or another GPU, is seen by you only after a
 * synchronisation of your own (an event, a flag, a message). The library provides none.
 *
 * The library is a guest in your process. It starts no threads, installs no signal handlers, prints nothing,
 * never exits, and loads no GPU runtime until you ask for GPU memory.
 *
 * Conventions
 *   Status     Every call that can fail returns hb_status: HB_OK (0) or a negative code of status.h. Pass an
 *              hb_error to learn the rest; NULL when you do not care.
 *              Output parameters are untouched on failure.
 *   Deadlines  Absolute nanoseconds of CLOCK_MONOTONIC. 0 = do not wait, HB_NO_DEADLINE = wait without
 *              end. A deadline covers the wait for the daemon, never for a driver. EINTR resumes.
 *   A daemon that died  A client that had a session connects again by itself: the next call that needs the
 *              daemon looks for it until its deadline, then answers HB_NO_DAEMON (HB_TIMEOUT where another
 *              thread was looking already). With HB_NO_DEADLINE it looks without end: give a deadline to be
 *              told. A call whose request was already sent when
 *              the daemon died answers HB_CLOSED and is not repeated: what it asked for may have been done.
 *              Exports of the lost session are offered to the next daemon again, with their memory, and
 *              leases of imports asked for anew: by the calls that follow, none of which takes more than a
 *              moment for it unless it is about such an export. An export stays what it was: handle, id,
 *              generation, key. It is gone, and hb_export_withdraw and others answer HB_GONE and why, where
 *              the daemon's grace time was over, it was claimed from another process, its memory was freed,
 *              or it was made of descriptors that were closed since or are a driver's own.
 *              hb_import_is_current says 0 from when a call of this client has met the loss (a killed daemon
 *              tells nobody) until the lease is there again and the export is what is mapped; mappings stay
 *              readable throughout. Groups and hb_acquire's descriptors stay without a lease. Whoever
 *              dispatches events (events.h) is told, and all this happens without a call.
 *   A daemon that is started again under systemd keeps its sessions: none of this happens, calls just take
 *              longer, within their deadlines.
 *   Sizes      Bytes. Offsets are relative to what the call names.
 *   Descriptors  Inputs are borrowed: you still own and close them. Outputs are yours.
 *   Threads    Every function may be called from any thread on the same handle, except the one that
 *              destroys it. A waiting call does not block calls of other threads.
 *   fork       In a forked child every handle of the parent is inert: calls answer HB_FORKED, destroying one
 *              frees the child's copy and tells the daemon nothing. Mappings of host memory stay usable
 *              there. GPU memory does not exist in a child of a process that had started HIP through this
 *              library: HB_FORKED, whichever client asks. No call in the child waits for what threads of
 *              the parent held.
 *   Structs    Start from the matching *_INIT; `size` lets later versions append members.
 */
#ifndef HIPBROKER_HIPBROKER_H
#define HIPBROKER_HIPBROKER_H

#include <stddef.h>
#include <stdint.h>

#include "hipbroker/status.h"

#if defined(__GNUC__)
#define HB_API __attribute__((visibility("default")))
#else
#define HB_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define HB_NO_DEADLINE UINT64_MAX
#define HB_KEY_BYTES 64
#define HB_KEY_TEXT_BYTES 92 /* with the terminating zero */
#define HB_BROKER_ID_BYTES 16
#define HB_MAX_NAME 255
#define HB_MAX_METADATA 4096
#define HB_OWN_UID UINT32_MAX /* as owner_uid: the caller's own */
#define HB_WHOLE UINT64_MAX   /* as length: to the end */

/* ---- errors ----------------------------------------------------------------------------------- */

typedef struct hb_error {
  size_t size;
  hb_status status;
  int32_t sys_errno;  /* errno of the call named in `operation`, 0 when none failed */
  uint64_t used;      /* with HB_QUOTA, HB_NO_FDS, HB_RANGE: how much, */
  uint64_t limit;     /* of how much */
  int64_t chunk;      /* number of the chunk concerned, -1 when none is */
  char operation[32]; /* "mmap" */
  char what[64];      /* the thing limited or refused: "RLIMIT_NOFILE" */
  char who[64];       /* whom the limit counts: "uid 1001" */
  char message[512];  /* one sentence for a person */
} hb_error;
#define HB_ERROR_INIT                                          \
  {                                                            \
    sizeof(hb_error), HB_OK, 0, 0, 0, -1, {0}, {0}, {0}, { 0 } \
  }

HB_API const char* hb_status_name(hb_status status); /* "HB_STALE"; never NULL */
HB_API const char* hb_status_text(hb_status status); /* "the key names an older generation"; never NULL */
HB_API const char* hb_library_version(void);         /* "0.1.0" */

/* now + ns on CLOCK_MONOTONIC, saturating. */
HB_API uint64_t hb_deadline_in(uint64_t ns);

/* ---- client: one session with a broker -------------------------------------------------------- */

typedef struct hb_client hb_client;

typedef struct hb_client_options {
  size_t size;
  const char* socket;           /* path; NULL: $HIPBROKER_SOCKET, else /run/hipbroker/broker.sock, else
                                   $XDG_RUNTIME_DIR/hipbroker/broker.sock. A path given here or in
                                   $HIPBROKER_SOCKET is the only one tried. */
  uint64_t deadline_ns;         /* for connecting and the first exchange */
  const uint32_t* trusted_uids; /* more uids that may serve the socket, besides root and your own */
  size_t trusted_uid_count;
  uint64_t cache_bytes; /* imports kept mapped after their last close, least recently used evicted first.
                           They pin the exporter's memory; 0 = none is kept */
} hb_client_options;
#define HB_CLIENT_OPTIONS_INIT \
  { sizeof(hb_client_options), NULL, HB_NO_DEADLINE, NULL, 0, 0 }

/* The first connection is not waited for: HB_NO_DAEMON comes at once, whatever the deadline. Once open, a
 * client whose daemon died connects again within the deadline of each call (above: a daemon that died).
 * Else HB_UNTRUSTED, HB_DENIED (the socket's mode), HB_VERSION, HB_TIMEOUT, HB_QUOTA, HB_NO_FDS, HB_SYSTEM.
 * The socket's path and peer are checked before a byte is sent. */
HB_API hb_status hb_client_open(const hb_client_options* options, hb_client** ret_client, hb_error* error);

/* Ends the session: its leases are given back, its exports end or are orphaned, by their lifetime. Mappings
 * made through it stay mapped until their own handles are destroyed. NULL is allowed. */
HB_API void hb_client_close(hb_client* client);

typedef struct hb_client_info {
  size_t size;
  uint8_t broker_id[HB_BROKER_ID_BYTES]; /* equal to a key's: that key can be opened here */
  uint64_t session_id;
  uint32_t uid;      /* as the kernel told the daemon */
  uint32_t pid;      /* the same; 0 = the daemon's pid namespace cannot see it */
  int admin;         /* 1 on the admin socket */
  uint32_t protocol; /* version agreed on */
  char daemon[64];   /* "hipbrokerd 0.1.0" */
  char scope[72];
  char socket[108]; /* the path connected to */
} hb_client_info;
#define HB_CLIENT_INFO_INIT                                     \
  {                                                             \
    sizeof(hb_client_info), {0}, 0, 0, 0, 0, 0, {0}, {0}, { 0 } \
  }
HB_API hb_status hb_client_get_info(hb_client* client, hb_client_info* ret_info, hb_error* error);

/* A round trip. `ret_uptime_ns` (may be NULL): how long the daemon has been running. */
HB_API hb_status hb_ping(hb_client* client, uint64_t deadline_ns, uint64_t* ret_uptime_ns, hb_error* error);

/* ---- keys ------------------------------------------------------------------------------------- */

/* 64 opaque bytes that name an export or a part of it. Send them over any channel. A key pins nothing and
 * gives no right by itself: the exporter's access list decides. */
typedef struct hb_key {
  uint8_t bytes[HB_KEY_BYTES];
} hb_key;

typedef struct hb_key_info {
  size_t size;
  uint32_t version;
  uint8_t broker_id[HB_BROKER_ID_BYTES];
  uint64_t export_id;
  uint32_t generation;
  uint64_t offset;
  uint64_t length;
  uint32_t kind; /* HB_KEY_PLAIN; HB_KEY_TICKET: it works once, and export_id is the ticket's own number */
} hb_key_info;
#define HB_KEY_INFO_INIT \
  { sizeof(hb_key_info), 0, {0}, 0, 0, 0, 0, 0 }
enum { HB_KEY_PLAIN = 0, HB_KEY_TICKET = 1 };

/* No I/O, no client. HB_VERSION for a key of a version this library does not know. Nothing is verified: only
 * the daemon can tell a true key. */
HB_API hb_status hb_key_inspect(const hb_key* key, hb_key_info* ret_info, hb_error* error);
HB_API void hb_key_to_text(const hb_key* key, char ret_text[HB_KEY_TEXT_BYTES]);
HB_API hb_status hb_key_from_text(const char* text, hb_key* ret_key, hb_error* error);

/* ---- memory of the library's own -------------------------------------------------------------- */

typedef struct hb_memory hb_memory;

enum {
  HB_PROVIDER_HOST = 1,
  HB_PROVIDER_HIP = 2 /* AMD GPUs; the runtime is looked for at the first use of GPU memory, and tried out in
                         a helper process where nothing is remembered of it (up to 20 s) */
};
enum { HB_ACCESS_READ = 1, HB_ACCESS_READ_WRITE = 3 };

/* How firmly read-only holds, weakest first. */
enum {
  HB_LEVEL_ANY = 0,
  HB_LEVEL_INTENT = 1,     /* nothing enforces it: GPU memory, dma-bufs, readers of the exporter's own uid */
  HB_LEVEL_PER_READER = 2, /* holds against every uid but the exporter's and root: the memfd has mode 0444
                              and the daemon reopens it read-only for the reader, checking at every grant */
  HB_LEVEL_SEALED = 3      /* holds against everyone: F_SEAL_FUTURE_WRITE at creation. Only mappings that
                              the exporter made before can write */
};

enum { HB_KIND_MEMFD = 1, HB_KIND_DMABUF = 2, HB_KIND_DRIVER = 3 };

/* A GPU, or a part of one, by what is the same in every process of the node. */
typedef struct hb_device_id {
  char uuid[64];      /* "GPU-f00d000000000002"; "" for boards without */
  char pci[32];       /* "0000:83:00.0", always function 0 */
  uint32_t partition; /* 0 for a whole GPU */
} hb_device_id;

/* Ordinals are HIP's in this process: *_VISIBLE_DEVICES shifts them, and they never travel. */
#define HB_DEVICE_CURRENT (-1)  /* as device: the calling thread's current one */
#define HB_ALL_VISIBLE SIZE_MAX /* as peer_count: every visible GPU that can reach the memory */
#define HB_EXPORTER_PEERS                                                          \
  (SIZE_MAX - 1) /* as peer_count of an import: the GPUs that the exporter let in, \
                    as far as this process sees them and they reach the memory */

/* Shall the CPU reach GPU memory? It needs a large BAR and a runtime that lets it in. */
enum {
  HB_HOST_NONE = 0,
  HB_HOST_PREFER = 1, /* host_granted tells whether it may */
  HB_HOST_REQUIRE = 2 /* HB_UNSUPPORTED with the reason where it may not */
};

typedef struct hb_memory_options {
  size_t size;
  uint32_t provider;    /* HB_PROVIDER_HOST, HB_PROVIDER_HIP */
  uint64_t bytes;       /* rounded up to whole pages, or to the GPU's granularity; at least 1 */
  uint64_t chunk_bytes; /* one descriptor per chunk; 0 = one chunk; host: a multiple of the page size,
                           GPU: rounded up to its granularity (2 MiB or more) */
  int sealed;           /* host. 1: read-only level `sealed` for every importer */
  /* HB_PROVIDER_HIP: */
  const hb_device_id* device_id; /* the GPU, by identity; NULL: by `device` */
  const int32_t* peers;          /* ordinals of other GPUs that are to reach the memory */
  size_t peer_count;             /* or HB_ALL_VISIBLE */
  int32_t device;                /* ordinal, or HB_DEVICE_CURRENT */
  uint32_t host_access;          /* HB_HOST_NONE, _PREFER, _REQUIRE */
  uint64_t reserve_bytes; /* how large hb_memory_grow may make it; up to `bytes`: it cannot grow. Rounded up
                             to whole chunks. Takes addresses alone, no memory */
  int dmabuf;             /* host. 1: exported as dma-bufs (/dev/udmabuf), for drivers that import those; not
                             with `sealed`. A chunk is at most what the kernel allows:
                             /sys/module/udmabuf/parameters/size_limit_mb, 64 MiB unless it was changed */
} hb_memory_options;
#define HB_MEMORY_OPTIONS_INIT \
  { sizeof(hb_memory_options), HB_PROVIDER_HOST, 0, 0, 0, NULL, NULL, 0, 0, HB_HOST_NONE, 0, 0 }

/* Contiguous memory that can be exported. Host: zeroed; one descriptor per chunk stays open until it is
 * freed. HB_NO_FDS names RLIMIT_NOFILE, the need and the limit before anything is created. GPU: on the device
 * named, whichever is current. HIP 7.14 keeps one descriptor per chunk open, and from it on one per chunk
 * imported; HB_NO_FDS says so.
 * HB_UNSUPPORTED (no runtime, or it cannot share: the reason is named; dmabuf without /dev/udmabuf),
 * HB_DENIED (dmabuf: /dev/udmabuf may not be opened), HB_RANGE (dmabuf: a chunk over size_limit_mb, both
 * numbers), HB_DEVICE (not visible, or a peer that cannot reach it), HB_NO_MEMORY, HB_NO_FDS, HB_BUSY (a
 * stream capture is running). */
HB_API hb_status hb_memory_alloc(hb_client* client, const hb_memory_options* options, hb_memory** ret_memory,
                                 hb_error* error);
/* ptr never changes. bytes, chunks and hb_memory_get_info may be asked while another thread lets the memory
 * grow, sleep or wake: they tell of before or after. */
HB_API void* hb_memory_ptr(const hb_memory* memory);
HB_API uint64_t hb_memory_bytes(const hb_memory* memory);
HB_API uint64_t hb_memory_chunks(const hb_memory* memory);

typedef struct hb_memory_info {
  size_t size;
  void* ptr;
  uint64_t bytes;
  uint64_t chunk_bytes; /* of every chunk but perhaps a shorter last one; 0: they differ */
  uint64_t chunks;
  int host_granted;        /* 1: the CPU may use `ptr`; 0 while it sleeps */
  hb_device_id device;     /* the GPU it is on; "" for host memory */
  uint64_t reserved_bytes; /* how large it can become */
  int asleep;              /* 1: nothing is behind `ptr`; sizes tell what hb_memory_wake brings back */
} hb_memory_info;
#define HB_MEMORY_INFO_INIT \
  { sizeof(hb_memory_info), NULL, 0, 0, 0, 0, {{0}, {0}, 0}, 0, 0 }
HB_API void hb_memory_get_info(const hb_memory* memory, hb_memory_info* ret_info);

/* The three below wait for each other, may come from any thread, need no client and reach no daemon. In a
 * forked child they answer HB_FORKED.
 *
 * Adds memory behind the end, in place: whole chunks of chunk_bytes, or one new chunk where that was 0. All
 * of it or none. No export grows by this. HB_HOST_PREFER is asked again for the new chunks: host_granted
 * tells. HB_RANGE (over reserved_bytes: both numbers), HB_SUSPENDED (asleep), HB_NO_MEMORY, HB_NO_FDS,
 * HB_BUSY, HB_INVALID. HIP 7.2 keeps what a growth that failed half-way had made until the memory sleeps or
 * is freed. */
HB_API hb_status hb_memory_grow(hb_memory* memory, uint64_t bytes, hb_error* error);

/* Gives the memory back, contents and all, and keeps the addresses for hb_memory_wake. GPU memory must not be
 * in use any more, as for hb_memory_free. Importers that are still mapped keep what they have. HIP 7.2 gives
 * nothing back as long as its addresses are reserved: there they are given up, and anything may be mapped at
 * them meanwhile. Asleep already: HB_OK. HB_BUSY with the export in `what` while one of it is alive and not
 * suspended, or is being made. What failed on the way is counted in failed_frees of hb_stats. */
HB_API hb_status hb_memory_sleep(hb_memory* memory, hb_error* error);

/* New memory of the same size, chunks and access at the same address, for the CPU too if host_granted was 1.
 * Host memory is zeroed. Whole, or it sleeps on and may be woken later. Awake already: HB_OK. HB_ADDRESS (HIP
 * 7.2: something else is mapped there now; unmap it, or free this memory), HB_NO_MEMORY, HB_NO_FDS,
 * HB_UNSUPPORTED (the CPU is not let in any more), HB_BUSY (a stream capture is running). */
HB_API hb_status hb_memory_wake(hb_memory* memory, hb_error* error);

/* Withdraws nothing: exports of it live on and importers keep their bytes. Always succeeds locally. GPU
 * memory must not be in use any more, here or by a GPU: before HIP 7.14 it is pulled away, and from 7.14 on
 * hipMemUnmap waits for all streams of the owner and of every GPU that was let in, without end behind a
 * kernel that has none. hb_free_when waits for nothing. */
HB_API void hb_memory_free(hb_memory* memory);

/* ---- export ----------------------------------------------------------------------------------- */

typedef struct hb_export hb_export;

enum { HB_ACL_UID = 0, HB_ACL_GID = 1 };
typedef struct hb_acl_entry {
  uint32_t kind; /* HB_ACL_UID, HB_ACL_GID */
  uint32_t id;
  uint32_t access; /* HB_ACCESS_READ, HB_ACCESS_READ_WRITE */
} hb_acl_entry;

typedef struct hb_chunk {
  int fd; /* in: borrowed. A sealed memfd (SHRINK, GROW, SEAL), a dma-buf, or a driver's own where the
             daemon's configuration names its kind; chunks of those end where their memory does */
  uint64_t offset; /* of the chunk inside the object */
  uint64_t bytes;
} hb_chunk;

/* An allocation of hipMemCreate by what the program holds of it. */
typedef struct hb_hip_handle {
  void* handle;   /* hipMemGenericAllocationHandle_t; borrowed for the length of the call */
  uint64_t bytes; /* as it was created; descriptors of another size are refused */
  void* base;     /* where it is mapped in this process, NULL = nowhere. hb_range_gone finds it by this */
} hb_hip_handle;

/* What memory at an address is (hb_classify), and what an exporter may vouch for. */
enum {
  HB_MEMORY_UNKNOWN = 0,
  HB_MEMORY_OWN = 1,      /* of hb_memory_alloc, hb_arena_alloc */
  HB_MEMORY_IMPORTED = 2, /* of hb_import_open */
  HB_MEMORY_VMM = 3,      /* mapped by hipMemMap */
  HB_MEMORY_MALLOC = 4,   /* of hipMalloc */
  HB_MEMORY_POOL = 5,     /* of hipMallocAsync: never shareable */
  HB_MEMORY_HOST = 6      /* of the CPU: hipHostMalloc, hipHostRegister, hipMemCreate at a Host location */
};

/* How long an export lives when it is not withdrawn (succession.h). */
enum {
  HB_LIFETIME_OWNER = 0,  /* as long as the session that made it */
  HB_LIFETIME_LINGER = 1, /* linger_ns longer: until then a process of the same uid may claim it */
  HB_LIFETIME_PERSIST =
      2 /* until it is withdrawn or revoked: a right that the daemon's configuration gives */
};

typedef struct hb_export_options {
  size_t size;
  const char* name;     /* UTF-8, 1..255 bytes, '/' between parts; NULL = anonymous, found by key alone */
  const void* metadata; /* yours, opaque, given to importers */
  size_t metadata_bytes;
  const hb_acl_entry* acl; /* besides your own uid, which may always read and write */
  size_t acl_count;
  uint32_t max_access; /* the most any importer may get; 0 = all that the descriptors allow */
  /* The memory, one of: */
  const void* ptr;        /* 1. inside memory of hb_memory_alloc, or of HIP: */
  uint64_t bytes;         /*    this many bytes from there */
  const hb_chunk* chunks; /* 2. descriptors brought along, in address order */
  size_t chunk_count;
  uint64_t deadline_ns;
  const hb_device_id* device; /* with `chunks`: the GPU they are on; NULL = host memory. With `handles`: NULL
                                 = the runtime is asked. Memory at `ptr` knows its own */
  const hb_hip_handle* handles; /* 3. allocations of hipMemCreate, in address order; their sizes may differ */
  size_t handle_count;
  uint32_t memory;    /* with `ptr` outside of hb_memory_alloc: HB_MEMORY_UNKNOWN = find out; HB_MEMORY_VMM or
                         HB_MEMORY_MALLOC = you know it, and that it came from no other process */
  uint32_t lifetime;  /* HB_LIFETIME_* */
  uint64_t linger_ns; /* with HB_LIFETIME_LINGER: 1 to a day */
  int replace; /* 1: the export that has the name now, of this session or an orphan, is withdrawn in the same
                  moment: whoever asks for the name gets the old or the new one, never neither */
  uint64_t max_bytes; /* hb_export_append may make it so large; 0 = it cannot grow. Importers of all of it
                         reserve as many addresses; the key then goes to the end, wherever that is */
} hb_export_options;
#define HB_EXPORT_OPTIONS_INIT                                                                             \
  {                                                                                                        \
    sizeof(hb_export_options), NULL, NULL, 0, NULL, 0, 0, NULL, 0, NULL, 0, HB_NO_DEADLINE, NULL, NULL, 0, \
        HB_MEMORY_UNKNOWN, HB_LIFETIME_OWNER, 0, 0, 0                                                      \
  }

/* Whole or not at all. Your own uid may import it, others only through `acl`. It lives until it is
 * withdrawn or revoked, or this session ends, or longer by its `lifetime`. A range in the middle of chunks
 * exports exactly its bytes, under the key and under the name alike; but an importer's descriptor reaches the
 * whole chunks it touches. HB_EXISTS (the name is taken), HB_DENIED (no right to HB_LIFETIME_PERSIST),
 * HB_BAD_HANDLE, HB_READ_ONLY (a write grant over a read-only descriptor), HB_RANGE (larger than the object),
 * HB_QUOTA, HB_NO_FDS, HB_NOT_SHAREABLE, HB_UNSUPPORTED, HB_MIXED (on different GPUs), HB_DEVICE, HB_BUSY,
 * HB_GONE (hb_range_gone came meanwhile), HB_SUSPENDED (the memory is asleep), HB_INVALID.
 *
 * GPU memory that the library did not make stays its maker's: keep it until the export is withdrawn, and
 * call hb_range_gone before it is unmapped or freed. Its runtime must be loaded already.
 *
 * By handles: works with every runtime. The allocations must have been created with the descriptor type
 * (hipMemHandleTypePosixFileDescriptor). HIP 7.14 answers every export of a handle with one number, which
 * stays open. With `base` the library gets another; without, close yours after the handle is released: any
 * hipMemExportToShareableHandle of it before tells the number.
 *
 * By ptr, mapped by hipMemMap: HIP 7.12 or newer; every mapping the range touches, created with a type or
 * not.
 *
 * By ptr, of hipMalloc: the owning allocation, cut to the bytes asked for, if it has its buffer to itself.
 * Allocations below 2 MiB share one, and a reader would reach the neighbours. Needs the HSA runtime that HIP
 * loads; without it HIP 7.0 or newer, and ptr at the start of the allocation.
 *
 * Some runtimes must not be asked about unknown pointers: HIP 7.14 and 7.15 crash on imported ones, unless
 * hb_hip_probe saw otherwise. They take a `ptr` only with `memory`, and a false `memory` can crash there.
 * Pool memory (hipMallocAsync) and memory of the CPU are refused by name.
 *
 * HB_NOT_SHAREABLE: this memory cannot be exported, other memory may. The reason is remembered: asking again
 * costs no export call. Imported memory is refused before any driver call: pass its key on.
 * HB_UNSUPPORTED: this runtime cannot, for the reason that hb_hip_probe tells. */
HB_API hb_status hb_export_create(hb_client* client, const hb_export_options* options, hb_export** ret_export,
                                  hb_error* error);

typedef struct hb_export_info {
  size_t size;
  uint64_t export_id;
  uint32_t generation;
  uint64_t layout_version;
  uint64_t bytes;
  hb_key key; /* names exactly the bytes exported; with max_bytes also those that will be appended */
} hb_export_info;
#define HB_EXPORT_INFO_INIT               \
  {                                       \
    sizeof(hb_export_info), 0, 0, 0, 0, { \
      { 0 }                               \
    }                                     \
  }
HB_API void hb_export_get_info(const hb_export* exported, hb_export_info* ret_info);

/* A key to [offset, offset + bytes) of the export; no round trip. With HB_WHOLE of an export that can grow it
 * goes to the end, wherever that is. It is no fence: whoever may use it holds
 * descriptors of the whole chunks those bytes lie in. HB_RANGE. */
HB_API hb_status hb_export_subkey(const hb_export* exported, uint64_t offset, uint64_t bytes, hb_key* ret_key,
                                  hb_error* error);

/* What the end of a sharing left behind. Memory returns to the system when the last mapping of it is gone;
 * the broker cannot unmap anyone. */
typedef struct hb_withdrawn {
  size_t size;
  uint64_t exports; /* ended by this call */
  uint64_t holders; /* leases that were left when the call returned */
} hb_withdrawn;
#define HB_WITHDRAWN_INIT \
  { sizeof(hb_withdrawn), 0, 0 }

/* Ends the export: the daemon's descriptors are closed when this returns, unless a ticket pins them
 * (succession.h): then it counts among the holders. The handle stays to be destroyed.
 */
HB_API hb_status hb_export_withdraw(hb_export* exported, uint64_t deadline_ns, hb_withdrawn* ret_withdrawn,
                                    hb_error* error);
/* Of this session: by id; every export over any byte of [ptr, ptr + bytes); all. By id only: HB_GONE when it
 * has ended, HB_NOT_FOUND when there is none. */
HB_API hb_status hb_withdraw_id(hb_client* client, uint64_t export_id, uint64_t deadline_ns,
                                hb_withdrawn* ret_withdrawn, hb_error* error);
HB_API hb_status hb_withdraw_range(hb_client* client, const void* ptr, uint64_t bytes, uint64_t deadline_ns,
                                   hb_withdrawn* ret_withdrawn, hb_error* error);
HB_API hb_status hb_withdraw_all(hb_client* client, uint64_t deadline_ns, hb_withdrawn* ret_withdrawn,
                                 hb_error* error);
/* Frees the handle. The export lives on. NULL is allowed. */
HB_API void hb_export_destroy(hb_export* exported);

/* ---- memory that comes and goes ----------------------------------------------------------------- */

#define HB_RANGE_GONE_NS ((uint64_t)2000000000) /* what hb_range_gone waits for the daemon, in all */

/* You are about to unmap or free [ptr, ptr + bytes). Every export over any byte of it, made by any client of
 * this process with `ptr` or with the `base` of handles, is withdrawn when this returns: the daemon has
 * answered, or the session was lost and its exports with it. What was remembered of the memory is forgotten.
 * An export that another thread is just making of it fails with HB_GONE, and is waited for. Exports of
 * hb_memory_alloc memory that was freed live on: its addresses are others' now.
 * HB_TIMEOUT: the daemon did not answer within HB_RANGE_GONE_NS; the session was ended, which ends all its
 * exports. Free the memory all the same.
 * For free and munmap hooks: without an export near the range it takes no lock, allocates nothing and makes
 * no system call; called from inside the library on the same thread (whose own frees run hooks, too) it
 * answers HB_OK at once. In a forked child nothing is exported: HB_OK. Call it with no lock held that an
 * allocation on another thread may need. */
HB_API hb_status hb_range_gone(const void* ptr, uint64_t bytes, hb_withdrawn* ret_withdrawn, hb_error* error);

typedef struct hb_pointer_info {
  size_t size;
  uint32_t memory;      /* HB_MEMORY_* */
  int32_t shareable;    /* hb_export_create with `ptr`: 1 takes it, 0 refuses it, -1 has to try */
  void* base;           /* of the allocation or mapping around ptr; NULL = not known */
  uint64_t bytes;       /* of it; 0 = not known */
  int32_t ordinal;      /* HIP's number of the GPU in this process; -1 = none, not known or not visible */
  int32_t host_granted; /* may the CPU use it? 1, 0; -1 = not known: do not */
  hb_device_id device;
  uint64_t export_id; /* HB_MEMORY_IMPORTED: whose it is */
  uint32_t generation;
  uint32_t owner_uid;
  char reason[400]; /* with HB_MEMORY_UNKNOWN and where `shareable` is not 1: why */
} hb_pointer_info;
#define HB_POINTER_INFO_INIT                                                                      \
  {                                                                                               \
    sizeof(hb_pointer_info), HB_MEMORY_UNKNOWN, 0, NULL, 0, -1, -1, {{0}, {0}, 0}, 0, 0, 0, { 0 } \
  }

/* What the memory at `ptr` is. For any address, mapped or not: never crashes, never loads a runtime, never
 * tries one out. Own and imported memory is known to the library: no driver call. Of other memory the HIP
 * runtime is asked that the process has loaded, unless that crashes there: then HB_MEMORY_UNKNOWN with the
 * reason. Whether memory of HIP is shareable is found out by an export that goes nowhere, once an allocation.
 * HB_OK, or HB_INVALID (ret_info). */
HB_API hb_status hb_classify(const void* ptr, hb_pointer_info* ret_info, hb_error* error);

/* ---- import ----------------------------------------------------------------------------------- */

typedef struct hb_import hb_import;

/* How GPU memory is mapped. Nothing is chosen silently: what HB_MAP_VMM cannot do here is refused. */
enum {
  HB_MAP_VMM = 0,     /* reserved, mapped and granted: any number of chunks and GPUs. Host memory: mmap */
  HB_MAP_EXTERNAL = 1 /* hipImportExternalMemory, where a runtime cannot import the other way: one chunk, a
                         dma-buf, for the calling thread's current device alone, read and write, anew with
                         each hb_import_open. No address, peers, host access or alias */
};

typedef struct hb_import_options {
  size_t size;
  const hb_key* key;     /* what to import: a key, */
  const char* name;      /* or a name */
  uint32_t owner_uid;    /* whose name; HB_OWN_UID = the caller's own */
  uint32_t access;       /* HB_ACCESS_READ or HB_ACCESS_READ_WRITE */
  uint64_t offset;       /* part of the target, from here */
  uint64_t bytes;        /* so many; HB_WHOLE = to the end */
  void* address;         /* wished address of the first byte asked for; NULL = anywhere */
  uint32_t demand_level; /* read-only level at least; a weaker one is HB_LEVEL */
  int alias; /* 1: in the exporting process, the owner's own pointer instead of a second mapping */
  int wait;  /* 1: wait for the name until the deadline */
  uint64_t deadline_ns;
  /* GPU memory. The owner's GPU is found by its identity; where this process does not see it, its own GPUs
     are tried, and HB_DEVICE names both sides when the runtime says no. */
  const int32_t* peers;   /* ordinals, in this process, of more GPUs that are to reach it */
  size_t peer_count;      /* or HB_ALL_VISIBLE, or HB_EXPORTER_PEERS */
  uint32_t host_access;   /* HB_HOST_NONE, _PREFER, _REQUIRE */
  uint32_t mapping;       /* HB_MAP_VMM, HB_MAP_EXTERNAL */
  uint64_t reserve_bytes; /* addresses to hold for growth, from the first byte asked for; 0 = as much as the
                             export may grow to (its max_bytes) where the import goes to the end, else none.
                             They take no memory */
} hb_import_options;
#define HB_IMPORT_OPTIONS_INIT                                                                             \
  {                                                                                                        \
    sizeof(hb_import_options), NULL, NULL, HB_OWN_UID, HB_ACCESS_READ, 0, HB_WHOLE, NULL, HB_LEVEL_ANY, 0, \
        0, HB_NO_DEADLINE, NULL, 0, HB_HOST_NONE, HB_MAP_VMM, 0                                            \
  }

/* Acquires and maps. The same part of the same export imported again with the same access is the same
 * mapping, counted; no system call then, and never for what has ended, changed, or grown where it goes to the
 * end: that is acquired and mapped anew, and who had it keeps what they have. A wished address must be
 * congruent to the offset modulo the page size, or the GPU's granularity (HB_RANGE), and free (HB_ADDRESS).
 * GPU memory is mapped in whole chunks: what lies around the bytes asked for is reachable, too, by every GPU
 * let in. HB_NOT_FOUND, HB_GONE, HB_STALE, HB_REVOKED, HB_DENIED, HB_READ_ONLY, HB_LEVEL, HB_RANGE,
 * HB_ADDRESS, HB_NO_FDS, HB_QUOTA, HB_TIMEOUT, HB_NO_MEMORY, HB_DEVICE, HB_BAD_HANDLE, HB_UNSUPPORTED. On
 * failure nothing stays mapped, leased or open. */
HB_API hb_status hb_import_open(hb_client* client, const hb_import_options* options, hb_import** ret_import,
                                hb_error* error);

/* A GPU besides the owner's. */
typedef struct hb_peer {
  hb_device_id device;
  int32_t ordinal; /* in this process; -1 = not visible here */
  int32_t granted; /* 1: this import let it in */
} hb_peer;

typedef struct hb_import_info {
  size_t size;
  void* ptr; /* the first byte asked for */
  uint64_t bytes;
  uint64_t offset; /* of it inside the export */
  uint64_t export_id;
  uint32_t generation;
  uint64_t layout_version;
  uint64_t export_bytes; /* of the whole export */
  uint64_t chunks;       /* of it that are mapped here */
  uint32_t owner_uid;
  uint32_t access;
  uint32_t level;       /* read-only level that holds, HB_LEVEL_ANY with write access */
  uint32_t kind;        /* HB_KIND_* */
  const void* metadata; /* valid as long as the handle */
  size_t metadata_bytes;
  hb_device_id device;  /* the owner's GPU; "" for host memory */
  int host_granted;     /* 1: the CPU may use `ptr` */
  int32_t ordinal;      /* of `device` in this process; -1 = not visible here, or not on a GPU */
  const hb_peer* peers; /* the GPUs that the exporter let in besides the owner's, in its order, then others
                           that this import let in; valid as long as the handle */
  size_t peer_count;
  uint32_t mapping;        /* HB_MAP_VMM, HB_MAP_EXTERNAL */
  uint64_t max_bytes;      /* the export may grow to so many; 0 = it does not grow */
  uint64_t reserved_bytes; /* addresses held, from `ptr`: how far hb_import_refresh can go */
  int asleep;              /* 1: hb_import_unmap: nothing is behind `ptr`, do not touch it */
} hb_import_info;
#define HB_IMPORT_INFO_INIT                                                                                \
  {                                                                                                        \
    sizeof(hb_import_info), NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, {{0}, {0}, 0}, 0, -1, NULL, 0, \
        HB_MAP_VMM, 0, 0, 0                                                                                \
  }
/* What is mapped now: of before or after where another thread refreshes it meanwhile. */
HB_API void hb_import_get_info(const hb_import* imported, hb_import_info* ret_info);

/* 1 while what was imported is current, though the export may have grown behind it; 0 once it was withdrawn,
 * revoked, suspended, a chunk of it replaced, or the session ended. A read of shared memory, no system call.
 * The mapping stays readable either way. */
HB_API int hb_import_is_current(const hb_import* imported);

HB_API hb_status hb_import_subkey(const hb_import* imported, uint64_t offset, uint64_t bytes, hb_key* ret_key,
                                  hb_error* error);

/* Gives one import back; the last one of a mapping unmaps it and releases the lease. Imports of the same
 * share one handle: close it as often as it was opened, never more often. Unmapping GPU memory waits as
 * hb_memory_free does (HB_MAP_EXTERNAL: for nothing); hb_unmap_when does not. NULL is allowed. */
HB_API void hb_import_close(hb_import* imported);

/* ---- GPU memory: given back when the GPU is done ------------------------------------------------ */

/* hb_import_close and hb_memory_free unmap at once, and must not be called while a GPU still uses the memory:
 * runtimes before HIP 7.14 pull it away, newer ones wait in hipMemUnmap for all streams of every GPU that had
 * access, which never ends behind a kernel that does not. These two wait for nothing: the handle is gone when
 * they return HB_OK, and what it holds (mapping, lease, memory) is given back by a later call of hb_reap,
 * hb_memory_alloc, hb_memory_free, hb_import_open, hb_import_close, hb_export_create, hb_unmap_when or
 * hb_free_when that finds `event` done. That call waits as any unmapping does for what other streams have
 * queued by then; no lock of the library is held meanwhile.
 *
 * `event` is a hipEvent_t, recorded after the last use of the memory. It stays yours: do not destroy it and
 * do not record it again before the handle was given back (hb_reap tells 0 waiting). One whose device is lost
 * counts as done. Imports are counted: each use waits for the event of its own, and the last one unmaps.
 * Host memory is given back at once, and the event not looked at.
 *
 * HB_INVALID (NULL, or no event of this process), HB_BUSY (recorded in a stream capture), HB_FORKED. After an
 * error the handle is as it was. What still waits at exit is left to the driver. */
HB_API hb_status hb_unmap_when(hb_import* imported, void* event, hb_error* error);
HB_API hb_status hb_free_when(hb_memory* memory, void* event, hb_error* error);

/* Gives back what is due. `ret_waiting` (may be NULL): how many handles of this process still wait. */
HB_API hb_status hb_reap(uint64_t* ret_waiting, hb_error* error);

/* ---- descriptors without mapping -------------------------------------------------------------- */

typedef struct hb_handles hb_handles;

typedef struct hb_handle_chunk {
  uint32_t handle;        /* index into the descriptors; several chunks may share one */
  uint64_t object_offset; /* of the chunk inside that object */
  uint64_t bytes;
  uint64_t offset;       /* of the chunk inside the export */
  uint64_t object_bytes; /* of that whole object; for HB_KIND_DRIVER as its exporter declared it */
} hb_handle_chunk;

/* Acquires and keeps the descriptors of all chunks the range touches. `options->address` and `alias` are
 * ignored. HB_NO_FDS when RLIMIT_NOFILE does not allow all at once. */
HB_API hb_status hb_handles_acquire(hb_client* client, const hb_import_options* options,
                                    hb_handles** ret_handles, hb_error* error);
/* `ptr` is NULL and every ordinal -1: where nothing is mapped, no runtime is asked. */
HB_API void hb_handles_get_info(const hb_handles* handles, hb_import_info* ret_info);
HB_API size_t hb_handles_chunk_count(const hb_handles* handles);
HB_API const hb_handle_chunk* hb_handles_chunks(const hb_handles* handles);
HB_API size_t hb_handles_fd_count(const hb_handles* handles);
/* Borrowed until hb_handles_release. -1 when taken or out of range. */
HB_API int hb_handles_fd(const hb_handles* handles, size_t index);
/* Yours from now on, close-on-exec. -1 when taken or out of range. */
HB_API int hb_handles_take_fd(hb_handles* handles, size_t index);
/* Gives the lease back and closes what was not taken. */
HB_API void hb_handles_release(hb_handles* handles);

/* Waits until a readable export of that name exists. HB_TIMEOUT. */
HB_API hb_status hb_wait_name(hb_client* client, const char* name, uint32_t owner_uid, uint64_t deadline_ns,
                              hb_error* error);

/* ---- looking ---------------------------------------------------------------------------------- */

typedef struct hb_process {
  uint64_t session_id;
  uint32_t pid; /* 0 = not visible from the daemon's pid namespace */
  uint32_t uid;
  uint32_t gid;
  uint64_t connected_ns;
  const char* command; /* "" when unknown; unescaped bytes of the process's choice */
  const char* cgroup;
  const char* scope;
} hb_process;

typedef struct hb_listed {
  uint64_t export_id;
  const char* name; /* "" = anonymous */
  const char* scope;
  uint32_t owner_uid;
  hb_process owner;
  uint32_t generation;
  uint64_t layout_version;
  const char* state; /* "live", "suspended", "orphaned" (its owner died, it may be claimed); ended and still
                        held: "withdrawn", "revoked", "gone" */
  const char* lifetime; /* "owner", "linger", "persist" */
  uint64_t bytes;
  int bytes_declared; /* 1: the kernel cannot confirm the size of this kind */
  uint64_t chunks;
  uint64_t allocations;
  uint32_t kind;
  const char* device_uuid;
  const char* device_pci;
  uint32_t device_partition;
  uint64_t leases;
  uint64_t age_ns;
  uint32_t access;
  uint32_t level;
  uint32_t metadata_bytes;
  const hb_device_id* peers; /* other GPUs that the exporter let in */
  size_t peer_count;
  uint64_t max_bytes; /* it may grow to so many; 0 = it does not grow */
  uint64_t linger_ns;
  uint64_t linger_left_ns; /* orphaned: until it goes */
  uint64_t tickets;
  uint64_t descriptors; /* that the daemon holds for it */
  uint64_t step;        /* the last one published */
  uint64_t awaited_ns;  /* not 0: a restart of the daemon lost its memory; until it ends, unless its owner,
                           whose  library does that by itself, brings it back */
  int restart_unsafe;   /* 1: a restart of the daemon would lose its memory; told by hb_show alone */
} hb_listed;

typedef struct hb_held {
  uint64_t export_id;
  uint64_t lease_id;
  hb_process process;
  uint32_t access;
  uint32_t level;
  uint64_t offset;
  uint64_t bytes;
  uint64_t age_ns;
  uint64_t unread_ns; /* for how long events have been waiting for this process; 0 = none are */
  int listens;        /* 1: it subscribed to events */
  int unmap_asked;    /* 1: asked to unmap by a suspension, and has not said that it did */
  uint64_t ticket;    /* not 0: the daemon holds this for a ticket; `process` made it */
  uint64_t ticket_left_ns;
  uint64_t acked_step;
  const char* state; /* of the export, as in hb_listed */
} hb_held;

typedef struct hb_shown_chunk {
  uint64_t offset;
  uint64_t bytes;
  uint64_t allocation; /* equal numbers: one allocation, held once */
  uint64_t object_offset;
  uint64_t object_bytes;
} hb_shown_chunk;

/* Results own everything their accessors return. Exports the caller may read; on the admin socket, all. */
typedef struct hb_list hb_list;
HB_API hb_status hb_list_exports(hb_client* client, const char* prefix, uint64_t deadline_ns,
                                 hb_list** ret_list, hb_error* error);
HB_API size_t hb_list_count(const hb_list* list);
HB_API const hb_listed* hb_list_at(const hb_list* list, size_t index);
HB_API void hb_list_free(hb_list* list);

/* Leases on one export, or on all the caller may ask about (`name` NULL and `export_id` 0). Owners see every
 * holder of theirs, others their own leases, the admin socket all. */
typedef struct hb_holders hb_holders;
HB_API hb_status hb_who(hb_client* client, const char* name, uint32_t owner_uid, uint64_t export_id,
                        uint64_t deadline_ns, hb_holders** ret_holders, hb_error* error);
HB_API size_t hb_holders_count(const hb_holders* holders);
HB_API const hb_held* hb_holders_at(const hb_holders* holders, size_t index);
HB_API void hb_holders_free(hb_holders* holders);

typedef struct hb_shown hb_shown;
HB_API hb_status hb_show(hb_client* client, const char* name, uint32_t owner_uid, uint64_t export_id,
                         uint64_t deadline_ns, hb_shown** ret_shown, hb_error* error);
HB_API const hb_listed* hb_shown_export(const hb_shown* shown);
HB_API size_t hb_shown_acl_count(const hb_shown* shown);
HB_API const hb_acl_entry* hb_shown_acl(const hb_shown* shown);
HB_API size_t hb_shown_chunk_count(const hb_shown* shown);
HB_API const hb_shown_chunk* hb_shown_chunks(const hb_shown* shown);
HB_API void hb_shown_free(hb_shown* shown);

/* What holds around the daemon, so that whoever takes it over gets little: bits. */
enum {
  HB_SANDBOX_TOLD = 1, /* the daemon tells; without it nothing is known */
  HB_SANDBOX_NO_NEW_PRIVILEGES = 2,
  HB_SANDBOX_NO_CAPABILITIES = 4,
  HB_SANDBOX_SYSTEM_CALLS = 8, /* only those on its list */
  HB_SANDBOX_FILES = 16,       /* only its own, by Landlock */
  HB_SANDBOX_WHOLE = 31
};

/* Counters of the daemon; HB_DENIED on every socket but the admin's. */
typedef struct hb_daemon_status {
  size_t size;
  uint64_t uptime_ns;
  uint64_t sessions;
  uint64_t exports;
  uint64_t allocations;
  uint64_t leases;
  uint64_t waits;
  uint64_t stagings;
  uint64_t ended_remembered;
  uint64_t fds_used;
  uint64_t fds_limit;
  uint64_t fds_reserve;
  uint64_t closing;
  uint64_t quarantined;
  uint64_t bytes;
  uint64_t ended_held; /* exports that have ended and that somebody still holds */
  uint64_t tickets;
  uint64_t groups;
  uint64_t events_pending;
  uint64_t in_flight;       /* descriptors sent to clients that have not read them */
  uint64_t in_flight_limit; /* of them at most */
  uint64_t answers_waiting; /* sessions whose next answer does not fit that */
  uint64_t sockets_unread;  /* of sessions that have ended, kept until their clients have read or closed */
  uint64_t log_waiting;     /* lines of its log and audit records that are not written yet */
  uint64_t log_dropped;     /* lines that were lost: nobody read its stderr or the journal */
  uint64_t audit_dropped;   /* audit records, likewise; hb_audit_read may still have them */
  uint64_t audit_told;      /* audit records since it started */
  uint64_t sandbox;         /* HB_SANDBOX_ bits */
  uint64_t restart_safe;    /* 1: a daemon started again has everything that this one has */
  uint64_t parked;          /* descriptors that outlive the daemon */
  uint64_t parked_limit;
  uint64_t store_entries;     /* of the service manager's descriptor store */
  uint64_t store_entries_max; /* 0: there is none */
  uint64_t records;           /* of exports, leases, sessions */
  uint64_t records_bytes;     /* memory for them */
  uint64_t awaited;           /* exports whose memory a restart lost, until their owners bring it back */
  uint64_t restarts;          /* since its memory was new */
  uint64_t draining;          /* 1: hb_drain */
  char restart_reason[256];   /* why it is not restart-safe */
} hb_daemon_status;
#define HB_DAEMON_STATUS_INIT                                                                               \
  {                                                                                                         \
    sizeof(hb_daemon_status), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ""                                                                 \
  }
HB_API hb_status hb_daemon_get_status(hb_client* client, uint64_t deadline_ns, hb_daemon_status* ret_status,
                                      hb_error* error);

/* ---- GPU memory: does sharing work here? -------------------------------------------------------- */

enum { HB_ANSWER_UNKNOWN = 0, HB_ANSWER_YES = 1, HB_ANSWER_NO = 2 };

typedef struct hb_verdict {
  int32_t answer;
  char reason[300]; /* with NO, and why it is unknown: for a person to act on */
} hb_verdict;

typedef struct hb_hip_report {
  size_t size;
  char runtime[256];         /* "HIP 7.1.25424 (/opt/rocm/lib/libamdhip64.so.7)" */
  char source[16];           /* "run", "remembered", "assumed", "known", "off" */
  char note[256];            /* why nothing could be remembered, or why the helper could not be run */
  int32_t ordinal;           /* in this process */
  hb_device_id device;       /* the same everywhere */
  hb_verdict can_export;     /* memory gives a descriptor */
  hb_verdict can_import;     /* a descriptor gives a mapping that shows the exporter's bytes */
  hb_verdict host_on_own;    /* the CPU can be let in to own memory */
  hb_verdict host_on_import; /* and to imported memory */
  hb_verdict query_safe;     /* frameworks may ask the runtime about imported pointers */
  hb_verdict clean;          /* everything given back leaves nothing open */
} hb_hip_report;
#define HB_HIP_REPORT_INIT                                                                          \
  {                                                                                                 \
    sizeof(hb_hip_report), {0}, {0}, {0}, 0, {{0}, {0}, 0}, {0, {0}}, {0, {0}}, {0, {0}}, {0, {0}}, \
        {0, {0}}, {                                                                                 \
      0, { 0 }                                                                                      \
    }                                                                                               \
  }

/* What is known of this process's HIP runtime for memory on one GPU (ordinal or HB_DEVICE_CURRENT). Found out
 * by trying, in a helper process, where nothing is remembered. No client is needed. HB_UNSUPPORTED (no
 * runtime, or one too old), HB_DEVICE. */
HB_API hb_status hb_hip_probe(int32_t device, hb_hip_report* ret_report, hb_error* error);

/* One look, for a person: what there is, and what is wrong with it. No client is needed; nothing that is
 * wrong makes the look itself fail (only HB_NO_MEMORY, HB_INTERNAL do). It loads the runtime as the first use
 * of GPU memory would. One thread at a time. Everything its accessors return belongs to the look and holds
 * until it is closed; issues and pairs until the next hb_hip_look_probe or hb_hip_look_peers. */
typedef struct hb_hip_look hb_hip_look;

typedef struct hb_hip_runtime {
  hb_status status;      /* HB_OK; HB_UNSUPPORTED: none, too old, or two of them; HB_DEVICE: it shows no GPU;
                            HB_SYSTEM: a helper process that started it crashed or hung */
  const char* reason;    /* "" with HB_OK; names the way out */
  const char* name;      /* "HIP 7.1.25424 (/opt/rocm/lib/libamdhip64.so.7)"; "" when none was found */
  const char* path;      /* "" when none was found */
  int32_t version;       /* hipRuntimeGetVersion's: major * 10^7 + minor * 10^5 + patch; 0: none */
  int32_t copies;        /* 0: none is there; 2: two are loaded, and none can be used */
  const char* hsa_path;  /* "" when there is none beside it */
  const char* kernel;    /* release: "6.8.0-45-generic" */
  const char* amdgpu;    /* version of the kernel driver, "in-tree", or "" when it is not loaded */
  const char* variables; /* those that hide GPUs from this process: "HIP_VISIBLE_DEVICES=2,3"; "" */
} hb_hip_runtime;

typedef struct hb_hip_device {
  int32_t ordinal; /* in this process; -1: the kernel has it, and the runtime does not show it here */
  hb_device_id id;
  const char* gfx;       /* "gfx942"; "" when the kernel does not tell */
  uint32_t render_minor; /* /dev/dri/renderD<n>; 0: unknown */
  int vmm;               /* 1: virtual memory management, as far as the runtime tells */
  int large_bar;
  int in_kernel; /* 1: joined with the kernel's list (KFD), or only there */
} hb_hip_device;

enum {
  HB_ISSUE_HANDLED = 1, /* the library works around it; code of your own has to as well */
  HB_ISSUE_NOTE = 2,    /* a limit of this version */
  HB_ISSUE_TROUBLE = 3  /* somebody has to do something */
};
typedef struct hb_hip_issue {
  const char* name;   /* "import_query_crashes": a row of docs/hip-support.md */
  const char* text;   /* what it is, and from where it is known */
  const char* advice; /* what to do */
  uint32_t weight;    /* HB_ISSUE_* */
  int seen;           /* 1: by the probe on this machine; 0: known of this version only */
  int tabled;         /* 1: known of this version */
} hb_hip_issue;

enum {
  HB_PAIR_OK = 1,
  HB_PAIR_NO_ACCESS = 2,   /* the runtime says that the one does not reach the other */
  HB_PAIR_WRONG_BYTES = 3, /* no error, and yet other bytes than were written */
  HB_PAIR_CRASHED = 4,
  HB_PAIR_FAILED = 5
};
typedef struct hb_hip_pair {
  int32_t owner; /* ordinal of the GPU that has the memory, */
  int32_t other; /* and of the one that copies from and to it */
  uint32_t outcome;
  const char* reason; /* "" with HB_PAIR_OK */
} hb_hip_pair;

HB_API hb_status hb_hip_look_open(hb_hip_look** ret_look, hb_error* error);
HB_API const hb_hip_runtime* hb_hip_look_runtime(const hb_hip_look* look);
/* Those of this process in order of their ordinals, then those that only the kernel has. */
HB_API size_t hb_hip_look_device_count(const hb_hip_look* look);
HB_API const hb_hip_device* hb_hip_look_device_at(const hb_hip_look* look, size_t index);
/* hb_hip_probe, and what it saw is known to this look. `again`: 1 = tried anew whatever is remembered. */
HB_API hb_status hb_hip_look_probe(hb_hip_look* look, int32_t device, int again, hb_hip_report* ret_report,
                                   hb_error* error);
/* Of this runtime version and this kernel; what a probe saw to be otherwise is left out. */
HB_API size_t hb_hip_look_issue_count(const hb_hip_look* look);
HB_API const hb_hip_issue* hb_hip_look_issue_at(const hb_hip_look* look, size_t index);
/* Compares what every other visible GPU reads and writes in memory of `owner` with what was written, in a
 * helper process: some hosts give wrong bytes whatever the runtime says. Up to 25 s for each crash.
 * HB_UNSUPPORTED, HB_DEVICE. The pairs of all calls so far are kept. */
HB_API hb_status hb_hip_look_peers(hb_hip_look* look, int32_t owner, hb_error* error);
HB_API size_t hb_hip_look_pair_count(const hb_hip_look* look);
HB_API const hb_hip_pair* hb_hip_look_pair_at(const hb_hip_look* look, size_t index);
HB_API void hb_hip_look_close(hb_hip_look* look); /* NULL is allowed */

/* ---- counters of this client ------------------------------------------------------------------ */

#define HB_STATS_REFUSALS 48
typedef struct hb_stats {
  size_t size;
  uint64_t exports;
  uint64_t imports;    /* acquired and mapped */
  uint64_t cache_hits; /* imports answered without a system call */
  uint64_t evictions;
  uint64_t withdrawn;
  uint64_t reconnects;
  uint64_t mapped_bytes;                /* now */
  uint64_t refusals[HB_STATS_REFUSALS]; /* by -status: refusals[-HB_STALE] */
  uint64_t failed_frees; /* of the whole process: driver calls that failed while GPU memory was given back.
                            What they left is lost until the process ends */
  uint64_t fetched_fds;  /* descriptors that came with imports and refreshes */
} hb_stats;
HB_API void hb_client_get_stats(const hb_client* client, hb_stats* ret_stats); /* fills by ret_stats->size */

#ifdef __cplusplus
}
#endif

#include "hipbroker/audit.h"
#include "hipbroker/events.h"
#include "hipbroker/group.h"
#include "hipbroker/growth.h"
#include "hipbroker/quotas.h"
#include "hipbroker/restart.h"
#include "hipbroker/sleep.h"
#include "hipbroker/steps.h"
#include "hipbroker/succession.h"
#endif
