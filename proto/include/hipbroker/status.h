/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors */
#ifndef HIPBROKER_STATUS_H
#define HIPBROKER_STATUS_H

#include <stdint.h>

/* Every outcome a call of this project can have. The numbers are fixed for ever: they are what the C
 * ABI returns and what the daemon puts on the wire. New codes are appended. A code this library does
 * not know (a newer daemon) is passed through as the number it is. */
typedef int32_t hb_status;

enum {
  HB_OK = 0,
  HB_INVALID = -1,        /* an argument is wrong; the message names it */
  HB_NOT_FOUND = -2,      /* nothing of that name or key that the caller may know of */
  HB_GONE = -3,           /* it existed and has ended; only said to who could read it */
  HB_STALE = -4,          /* the key names an older generation */
  HB_REVOKED = -5,        /* taken back by its owner or an admin */
  HB_DENIED = -6,         /* it exists and the caller has no right to it */
  HB_QUOTA = -7,          /* a limit of the broker: {what, used, limit, who} */
  HB_NO_FDS = -8,         /* no descriptors left, here or in the daemon: RLIMIT_NOFILE, both numbers */
  HB_PROTO = -9,          /* the peer broke the protocol */
  HB_VERSION = -10,       /* no common protocol or key version; both ranges are named */
  HB_RANGE = -11,         /* offset and length do not lie inside the object */
  HB_MISMATCH = -12,      /* members of a group offered different things */
  HB_DEVICE = -13,        /* the GPU is not usable here; both sides are named */
  HB_UNSUPPORTED = -14,   /* this runtime, kernel or build cannot do it */
  HB_TIMEOUT = -15,       /* the deadline passed */
  HB_NOT_HELD = -16,      /* released already, or never held by this session */
  HB_EXISTS = -17,        /* the name is taken by a live export of the same owner */
  HB_UNTRUSTED = -18,     /* the socket could have been planted by someone else; component named */
  HB_NO_DAEMON = -19,     /* no daemon listens on any of the paths tried */
  HB_NOT_SHAREABLE = -20, /* this memory cannot be exported; others of this runtime can */
  HB_MIXED = -21,         /* chunks of different kind or device in one export; the chunk is named */
  HB_ADDRESS = -22,       /* the wished address is taken or impossible */
  HB_REPLACED = -23,      /* a newer attempt took the place of this one */
  HB_READ_ONLY = -24,     /* write access asked of something that gives only read */
  HB_LEVEL = -25,         /* the read-only level is weaker than the one demanded */
  HB_FORKED = -26,        /* the handle belongs to the parent process; open a new client here */
  HB_CLOSED = -27,        /* the session ended while the call was under way */
  HB_NO_MEMORY = -28,     /* the process or the daemon is out of memory or address space */
  HB_SYSTEM = -29,        /* an operating system call failed: operation and errno are named */
  HB_INTERNAL = -30,      /* a defect of this project; please report it */
  HB_CANCELED = -31,      /* the caller took the request back */
  HB_SUSPENDED = -32,     /* the export is asleep; wait for `resumed` */
  HB_BAD_HANDLE = -33,    /* the descriptor is not of a kind the broker can keep; the reason is named */
  HB_BUSY = -34           /* still in use; end the use first */
};

#endif
