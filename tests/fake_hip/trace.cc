// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "trace.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "wire/unique_fd.h"

namespace hb::fakehip {

void Tracer::open(const char* path) {
  if (path != nullptr) path_ = path;
}

void Tracer::line(const char* function, const std::string& arguments, const std::string& result) const {
  if (path_.empty()) return;
  const int saved = errno;
  const std::string text = std::to_string(::getpid()) + " " + std::to_string(::gettid()) + " " + function +
                           "(" + arguments + ") = " + result + "\n";
  const UniqueFd fd(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  // A trace that cannot be written must not change what is traced; a test that reads it sees the gap.
  if (fd && ::write(fd.get(), text.data(), text.size()) < 0) errno = saved;
  errno = saved;
}

}  // namespace hb::fakehip
