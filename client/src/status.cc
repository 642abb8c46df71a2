// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <cstddef>
#include <iterator>

#include "hipbroker/hipbroker.h"

namespace {

struct Entry {
  const char* name;
  const char* text;
};

// By -status. Append only: the numbers are fixed for ever.
constexpr Entry kStatus[] = {
    {"HB_OK", "success"},
    {"HB_INVALID", "an argument is wrong"},
    {"HB_NOT_FOUND", "nothing of that name or key that you may know of"},
    {"HB_GONE", "it existed and has ended"},
    {"HB_STALE", "the key names an older generation"},
    {"HB_REVOKED", "taken back by its owner or an admin"},
    {"HB_DENIED", "you have no right to it"},
    {"HB_QUOTA", "a limit of the broker is reached"},
    {"HB_NO_FDS", "no file descriptors left"},
    {"HB_PROTO", "the peer broke the protocol"},
    {"HB_VERSION", "no version in common"},
    {"HB_RANGE", "offset and length do not lie inside the object"},
    {"HB_MISMATCH", "members of a group offered different things"},
    {"HB_DEVICE", "the GPU is not usable here"},
    {"HB_UNSUPPORTED", "this runtime, kernel or build cannot do it"},
    {"HB_TIMEOUT", "the deadline passed"},
    {"HB_NOT_HELD", "released already, or never held by this session"},
    {"HB_EXISTS", "the name is taken"},
    {"HB_UNTRUSTED", "the socket could have been planted by someone else"},
    {"HB_NO_DAEMON", "no daemon listens"},
    {"HB_NOT_SHAREABLE", "this memory cannot be exported"},
    {"HB_MIXED", "chunks of different kind or device in one export"},
    {"HB_ADDRESS", "the wished address is taken or impossible"},
    {"HB_REPLACED", "a newer attempt took the place of this one"},
    {"HB_READ_ONLY", "write access asked of something that gives only read"},
    {"HB_LEVEL", "the read-only level is weaker than the one demanded"},
    {"HB_FORKED", "the handle belongs to the parent process; open a new client here"},
    {"HB_CLOSED", "the session ended while the call was under way"},
    {"HB_NO_MEMORY", "out of memory or address space"},
    {"HB_SYSTEM", "an operating system call failed"},
    {"HB_INTERNAL", "a defect of hipbroker; please report it"},
    {"HB_CANCELED", "the caller took the request back"},
    {"HB_SUSPENDED", "the export is asleep"},
    {"HB_BAD_HANDLE", "the descriptor is not of a kind the broker can keep"},
    {"HB_BUSY", "still in use; end the use first"},
};
static_assert(std::size(kStatus) == static_cast<std::size_t>(-HB_BUSY) + 1);
static_assert(std::size(kStatus) <= HB_STATS_REFUSALS);

const Entry* find(hb_status status) {
  if (status > 0 || status <= -static_cast<int>(std::size(kStatus))) return nullptr;
  return &kStatus[-status];
}

}  // namespace

const char* hb_status_name(hb_status status) {
  const Entry* entry = find(status);
  return entry != nullptr ? entry->name : "HB_UNKNOWN";
}

const char* hb_status_text(hb_status status) {
  const Entry* entry = find(status);
  return entry != nullptr ? entry->text : "a status that this version of the library does not know";
}

const char* hb_library_version(void) { return HIPBROKER_VERSION; }
