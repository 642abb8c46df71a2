// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A benchmark that cannot do what it claims to measure stops at once and says where and why.
#pragma once

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace hb::bench {

[[noreturn]] [[gnu::format(printf, 1, 2)]] inline void die(const char* format, ...) {
  const int saved = errno;
  va_list arguments;
  va_start(arguments, format);
  std::fprintf(stderr, "hb_bench: ");
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  if (saved != 0) std::fprintf(stderr, " (errno: %s, %s)", ::strerrorname_np(saved), ::strerror(saved));
  std::fprintf(stderr, "\n");
  std::exit(2);
}

}  // namespace hb::bench

#define HB_BENCH_CHECK(condition)                                                            \
  do {                                                                                       \
    if (!(condition)) ::hb::bench::die("%s:%d: failed: %s", __FILE__, __LINE__, #condition); \
  } while (0)
