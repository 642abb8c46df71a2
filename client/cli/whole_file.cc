// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "whole_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "connection.h"
#include "exit_codes.h"
#include "format.h"

namespace hb::cli {

void write_whole_file(const std::string& path, const std::string& text) {
  const std::size_t name = path.rfind('/') + 1;  // 0 without a slash
  // Hidden, and not ending as the file does: who collects a folder passes it by.
  const std::string temporary = fmt::format("{}.{}.{}", path.substr(0, name), path.substr(name), ::getpid());
  const auto failed = [](const char* what, const std::string& where) {
    const int code = errno;
    return Failure(kLocal, fmt::format("{} {}: {} ({})", what, safe(where.c_str()), ::strerrorname_np(code),
                                       std::strerror(code)));
  };
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(temporary.c_str(), "wxe"), std::fclose);
  if (file == nullptr) throw failed("creating", temporary);
  const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
                       std::fflush(file.get()) == 0 && ::fchmod(::fileno(file.get()), 0644) == 0;
  const Failure failure = failed("writing", temporary);
  file.reset();
  if (written && std::rename(temporary.c_str(), path.c_str()) == 0) return;
  const Failure renaming = failed("renaming to", path);
  std::remove(temporary.c_str());
  throw written ? renaming : failure;
}

}  // namespace hb::cli
