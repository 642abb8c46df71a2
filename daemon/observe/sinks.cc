// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "observe/sinks.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

namespace hb::observe {
namespace {

// $JOURNAL_STREAM names the device and inode of the journal's socket: a stderr redirected elsewhere by the
// service inherits the variable all the same.
bool stderr_is_journal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  if (stream == nullptr) return false;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  if (std::sscanf(stream, "%" SCNu64 ":%" SCNu64, &device, &inode) != 2) return false;
  struct stat status {};
  return ::fstat(STDERR_FILENO, &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

}  // namespace

bool LineSink::write(const Writable& what) {
  const std::string line = what.line() + '\n';
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t n = ::write(to_.get(), line.data() + done, line.size() - done);
    if (n > 0) {
      done += static_cast<std::size_t>(n);
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) return false;
    pollfd writable{to_.get(), POLLOUT, 0};
    static_cast<void>(::poll(&writable, 1, -1));
  }
  return true;
}

bool JournalSink::write(const Writable& what) {
  std::vector<std::string> fields = what.fields();
  fields.emplace_back("SYSLOG_IDENTIFIER=hipbrokerd");
  std::vector<iovec> vectors;
  vectors.reserve(fields.size());
  for (std::string& field : fields) vectors.push_back({field.data(), field.size()});
  return ::sd_journal_sendv(vectors.data(), static_cast<int>(vectors.size())) == 0;
}

std::unique_ptr<Sink> make_default_sink() {
  if (stderr_is_journal()) return std::make_unique<JournalSink>();
  return std::make_unique<LineSink>(BorrowedFd::of_caller(STDERR_FILENO), "stderr");
}

}  // namespace hb::observe
