/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * sharer export NAME BYTES LIFETIME [READER_UID [udmabuf]]: shares memory filled with a pattern of NAME.
 *     LIFETIME: owner, persist, or the seconds that it lingers. udmabuf: a dma-buf of the kernel.
 * sharer import OWNER_UID NAME BYTES: waits for it, maps it and checks every byte.
 * Both print "ready KIND", then answer each line of stdin until it ends, which ends them: "check" looks at
 * every byte again, "ping" asks the daemon, "withdraw" ends the export. Answers are "ok", or the reason.
 * Descriptors left open by the library at the end are an error. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/udmabuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hipbroker/hipbroker.h"

#define SECOND UINT64_C(1000000000)

static void die(const char* what, const char* why) {
  printf("%s: %s\n", what, why);
  exit(1);
}

static void check(const char* what, hb_status status, const hb_error* error) {
  if (status != HB_OK) die(what, error->message);
}

static uint64_t word(const char* name, uint64_t index) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (; *name != '\0'; ++name) hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
  return (hash + index) * UINT64_C(0x9e3779b97f4a7c15);
}

static const char* fault_of(const uint64_t* words, uint64_t bytes, const char* name) {
  static char text[128];
  for (uint64_t i = 0; i < bytes / 8; ++i) {
    if (words[i] == word(name, i)) continue;
    snprintf(text, sizeof text, "byte %" PRIu64 " is wrong: %016" PRIx64 " instead of %016" PRIx64, i * 8,
             words[i], word(name, i));
    return text;
  }
  return NULL;
}

static unsigned count_descriptors(void) {
  unsigned count = 0;
  DIR* directory = opendir("/proc/self/fd");
  if (directory == NULL) die("/proc/self/fd", strerror(errno));
  while (readdir(directory) != NULL) ++count;
  closedir(directory);
  return count;
}

/* A dma-buf over pages that are filled already; the memfd behind it is not needed any more. */
static int make_dma_buf(uint64_t bytes, const char* name) {
  const int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
  if (device < 0) die("/dev/udmabuf", strerror(errno));
  const int pages = memfd_create("sharer", MFD_ALLOW_SEALING | MFD_CLOEXEC);
  if (pages < 0 || ftruncate(pages, (off_t)bytes) != 0 || fcntl(pages, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
    die("memfd", strerror(errno));
  uint64_t* words = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, pages, 0);
  if (words == MAP_FAILED) die("mmap", strerror(errno));
  for (uint64_t i = 0; i < bytes / 8; ++i) words[i] = word(name, i);
  struct udmabuf_create create = {(uint32_t)pages, UDMABUF_FLAGS_CLOEXEC, 0, bytes};
  const int made = ioctl(device, UDMABUF_CREATE, &create);
  if (made < 0) die("UDMABUF_CREATE", strerror(errno));
  munmap(words, bytes);
  close(pages);
  close(device);
  return made;
}

typedef struct shared {
  hb_client* client;
  hb_memory* memory;
  hb_export* exported;
  hb_import* imported;
  const char* name;
  const uint64_t* words;
  uint64_t bytes;
} shared;

static void start_export(shared* it, const char* lifetime, const char* reader, int dma_buf) {
  hb_error error = HB_ERROR_INIT;
  hb_export_options what = HB_EXPORT_OPTIONS_INIT;
  hb_acl_entry entry = {HB_ACL_UID, 0, HB_ACCESS_READ};
  hb_chunk chunk = {-1, 0, it->bytes};
  if (dma_buf) {
    chunk.fd = make_dma_buf(it->bytes, it->name);
    what.chunks = &chunk;
    what.chunk_count = 1;
  } else {
    hb_memory_options size = HB_MEMORY_OPTIONS_INIT;
    size.bytes = it->bytes;
    check("allocating", hb_memory_alloc(it->client, &size, &it->memory, &error), &error);
    uint64_t* words = hb_memory_ptr(it->memory);
    for (uint64_t i = 0; i < it->bytes / 8; ++i) words[i] = word(it->name, i);
    it->words = words;
    what.ptr = words;
    what.bytes = it->bytes;
  }
  if (reader != NULL) {
    entry.id = (uint32_t)strtoul(reader, NULL, 10);
    what.acl = &entry;
    what.acl_count = 1;
  }
  if (strcmp(lifetime, "persist") == 0) {
    what.lifetime = HB_LIFETIME_PERSIST;
  } else if (strcmp(lifetime, "owner") != 0) {
    what.lifetime = HB_LIFETIME_LINGER;
    what.linger_ns = strtoull(lifetime, NULL, 10) * SECOND;
  }
  what.name = it->name;
  what.deadline_ns = hb_deadline_in(20 * SECOND);
  check("exporting", hb_export_create(it->client, &what, &it->exported, &error), &error);
  if (chunk.fd >= 0) close(chunk.fd);
  printf("ready %s\n", dma_buf ? "dma-buf" : "memfd");
}

static void start_import(shared* it, const char* owner) {
  hb_error error = HB_ERROR_INIT;
  hb_import_options what = HB_IMPORT_OPTIONS_INIT;
  hb_import_info info = HB_IMPORT_INFO_INIT;
  what.name = it->name;
  what.owner_uid = (uint32_t)strtoul(owner, NULL, 10);
  what.wait = 1;
  what.deadline_ns = hb_deadline_in(30 * SECOND);
  check("importing", hb_import_open(it->client, &what, &it->imported, &error), &error);
  hb_import_get_info(it->imported, &info);
  if (info.bytes != it->bytes) die("importing", "another size");
  it->words = info.ptr;
  const char* fault = fault_of(it->words, it->bytes, it->name);
  if (fault != NULL) die("importing", fault);
  printf("ready %s\n", info.kind == HB_KIND_DMABUF ? "dma-buf" : "memfd");
}

static void answer(shared* it, const char* line) {
  hb_error error = HB_ERROR_INIT;
  const char* fault = NULL;
  if (strcmp(line, "check\n") == 0) {
    fault = it->words == NULL ? NULL : fault_of(it->words, it->bytes, it->name);
  } else if (strcmp(line, "ping\n") == 0) {
    if (hb_ping(it->client, hb_deadline_in(30 * SECOND), NULL, &error)) fault = error.message;
  } else if (strcmp(line, "withdraw\n") == 0) {
    if (hb_export_withdraw(it->exported, hb_deadline_in(30 * SECOND), NULL, &error)) fault = error.message;
  } else {
    fault = "what?";
  }
  printf("%s\n", fault == NULL ? "ok" : fault);
}

int main(int argc, char** argv) {
  shared it = {NULL, NULL, NULL, NULL, NULL, NULL, 0};
  setvbuf(stdout, NULL, _IOLBF, 0);
  const int exports = argc >= 5 && argc <= 7 && strcmp(argv[1], "export") == 0;
  const int imports = argc == 5 && strcmp(argv[1], "import") == 0;
  if (!exports && !imports) {
    fprintf(
        stderr,
        "usage: sharer export NAME BYTES LIFETIME [READER_UID [udmabuf]] | import OWNER_UID NAME BYTES\n");
    return 64;
  }
  const unsigned before = count_descriptors();
  hb_error error = HB_ERROR_INIT;
  hb_client_options where = HB_CLIENT_OPTIONS_INIT;
  where.deadline_ns = hb_deadline_in(20 * SECOND);
  check("connecting", hb_client_open(&where, &it.client, &error), &error);
  it.name = argv[exports ? 2 : 3];
  it.bytes = strtoull(argv[exports ? 3 : 4], NULL, 10);
  if (exports)
    start_export(&it, argv[4], argc > 5 ? argv[5] : NULL, argc > 6);
  else
    start_import(&it, argv[2]);
  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL) answer(&it, line);
  hb_import_close(it.imported);
  hb_export_destroy(it.exported);
  hb_memory_free(it.memory);
  hb_client_close(it.client);
  if (count_descriptors() != before) die("at the end", "descriptors are left open");
  return 0;
}
