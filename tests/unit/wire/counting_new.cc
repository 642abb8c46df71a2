// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "counting_new.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> count{0};
thread_local bool refusing = false;

}  // namespace

namespace hb::test {

std::size_t allocations() noexcept { return count.load(); }
NoMemory::NoMemory() noexcept { refusing = true; }
NoMemory::~NoMemory() { refusing = false; }

}  // namespace hb::test

__attribute__((visibility("default"))) void* operator new(std::size_t bytes) {
  if (refusing) throw std::bad_alloc();
  count.fetch_add(1);
  if (void* memory = std::malloc(bytes != 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
__attribute__((visibility("default"))) void* operator new[](std::size_t bytes) {
  return ::operator new(bytes);
}
__attribute__((visibility("default"))) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((visibility("default"))) void operator delete[](void* memory) noexcept { std::free(memory); }
__attribute__((visibility("default"))) void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
__attribute__((visibility("default"))) void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
