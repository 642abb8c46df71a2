// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// libgcc_eh of GCC 12 finds unwind tables through _dl_find_object, which glibc has only since 2.35. This
// definition stays inside the shared library (the version script hides it) and answers from
// dl_iterate_phdr, so that the library loads on glibc 2.34 and its exceptions still unwind. Slower than
// glibc's, and only run when something was thrown. Left out of sanitizer builds, which bring their own
// unwinder.
#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstring>

namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* result;
};

int visit(dl_phdr_info* object, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  const ElfW(Phdr)* eh_frame = nullptr;
  std::uintptr_t low = UINTPTR_MAX;
  std::uintptr_t high = 0;
  bool inside = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type == PT_GNU_EH_FRAME) eh_frame = &segment;
    if (segment.p_type != PT_LOAD) continue;
    const std::uintptr_t start = object->dlpi_addr + segment.p_vaddr;
    const std::uintptr_t end = start + segment.p_memsz;
    if (start < low) low = start;
    if (end > high) high = end;
    if (search.address >= start && search.address < end) inside = true;
  }
  if (!inside) return 0;
  if (eh_frame == nullptr) return -1;
  search.result->dlfo_map_start = reinterpret_cast<void*>(low);
  search.result->dlfo_map_end = reinterpret_cast<void*>(high);
  search.result->dlfo_eh_frame = reinterpret_cast<void*>(object->dlpi_addr + eh_frame->p_vaddr);
  return 1;
}

}  // namespace

extern "C" int _dl_find_object(void* address, dl_find_object* result) noexcept {
  std::memset(result, 0, sizeof *result);
  Search search{reinterpret_cast<std::uintptr_t>(address), result};
  return ::dl_iterate_phdr(visit, &search) == 1 ? 0 : -1;
}
