// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "validity.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace hb::client {

Result<std::unique_ptr<ValidityPage>> ValidityPage::map(UniqueFd object, std::uint32_t slots) {
  const std::size_t bytes = static_cast<std::size_t>(slots) * sizeof(std::uint32_t);
  struct stat st {};
  if (slots == 0 || ::fstat(object.get(), &st) != 0 || static_cast<std::size_t>(st.st_size) < bytes)
    return fail(HB_PROTO, "the daemon's page of validity words is smaller than the " + std::to_string(slots) +
                              " words it announced");
  const int seals = ::fcntl(object.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
    return fail(HB_PROTO, "the daemon's page of validity words is not sealed against shrinking");
  void* memory = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, object.get(), 0);
  if (memory == MAP_FAILED)
    return fail(system_error(SysError::last("mmap"), "page of validity words", HB_NO_MEMORY));
  return std::unique_ptr<ValidityPage>(
      new ValidityPage(static_cast<const std::atomic<std::uint32_t>*>(memory), slots, bytes));
}

ValidityPage::~ValidityPage() { ::munmap(const_cast<void*>(static_cast<const void*>(words_)), bytes_); }

}  // namespace hb::client
