// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "gpu/fake_cuda/machine.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "fake_hip/accounting.h"

namespace hb::fakecuda {
namespace {

constexpr int kMostDevices = 8;
constexpr std::size_t kCounted = 1u << 30;
constexpr const char* kMemfdName = "fakecuda.";

std::size_t number_from(const char* variable, std::size_t fallback) {
  const char* text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? fallback : std::strtoull(text, nullptr, 10);
}
int device_count() {
  return static_cast<int>(std::min<std::size_t>(number_from("FAKE_CUDA_DEVICES", 2), kMostDevices));
}
const std::string& folder() {
  static const std::string known = [] {
    const char* text = std::getenv("FAKE_CUDA_STATE");
    return std::string(text != nullptr ? text : "");
  }();
  return known;
}
bool as_terminals() {
  const char* text = std::getenv("FAKE_CUDA_HANDLES");
  return text != nullptr && std::strcmp(text, "pty") == 0;
}
std::uint32_t machine() { return fakehip::machine_number("cuda:" + folder()); }

// ---- terminals: the size of the window tells a terminal from a later one with the same number -----

struct Terminal {
  unsigned number = 0;
  winsize mark{};
};

std::string file_of(const Terminal& terminal, int device) {
  char text[64];
  std::snprintf(text, sizeof text, "/%u.%04x%04x%04x%04x.%d", terminal.number, terminal.mark.ws_row,
                terminal.mark.ws_col, terminal.mark.ws_xpixel, terminal.mark.ws_ypixel, device);
  return folder() + text;
}

UniqueFd make_terminal(Terminal& terminal) {
  UniqueFd master(::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
  const int unlocked = 0;
  if (!master || ::ioctl(master.get(), TIOCSPTLCK, &unlocked) != 0 ||
      ::ioctl(master.get(), TIOCGPTN, &terminal.number) != 0 ||
      ::getrandom(&terminal.mark, sizeof terminal.mark, 0) != sizeof terminal.mark ||
      ::ioctl(master.get(), TIOCSWINSZ, &terminal.mark) != 0)
    return {};
  return master;
}

// Whether the terminal that a file belongs to is still open anywhere.
bool alive(const Terminal& terminal) {
  const std::string path = "/dev/pts/" + std::to_string(terminal.number);
  const UniqueFd other_end(::open(path.c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  winsize mark{};
  return other_end && ::ioctl(other_end.get(), TIOCGWINSZ, &mark) == 0 &&
         std::memcmp(&mark, &terminal.mark, sizeof mark) == 0;
}

// Files nobody can reach any more are removed on the way.
std::size_t bytes_in_files(int device) {
  std::size_t total = 0;
  DIR* dir = ::opendir(folder().c_str());
  if (dir == nullptr) return 0;
  while (const dirent* entry = ::readdir(dir)) {
    Terminal terminal;
    unsigned short row = 0;
    unsigned short col = 0;
    unsigned short x = 0;
    unsigned short y = 0;
    int on = 0;
    if (std::sscanf(entry->d_name, "%u.%4hx%4hx%4hx%4hx.%d", &terminal.number, &row, &col, &x, &y, &on) != 6)
      continue;
    terminal.mark = {row, col, x, y};
    const std::string path = folder() + "/" + entry->d_name;
    struct stat status {};
    if (!alive(terminal))
      ::unlink(path.c_str());
    else if (on == device && ::stat(path.c_str(), &status) == 0)
      total += static_cast<std::size_t>(status.st_size);
  }
  ::closedir(dir);
  return total;
}

std::optional<Object> make_with_terminal(int device, std::size_t bytes) {
  Terminal terminal;
  Object out;
  out.token = make_terminal(terminal);
  if (!out.token) return std::nullopt;
  out.memory.reset(::open(file_of(terminal, device).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!out.memory || ::ftruncate(out.memory.get(), static_cast<off_t>(bytes)) != 0) return std::nullopt;
  out.device = device;
  out.bytes = bytes;
  return out;
}

std::optional<Object> open_terminal(BorrowedFd shared) {
  Terminal terminal;
  if (::ioctl(shared.get(), TIOCGPTN, &terminal.number) != 0 ||
      ::ioctl(shared.get(), TIOCGWINSZ, &terminal.mark) != 0)
    return std::nullopt;
  for (int device = 0; device < kMostDevices; ++device) {
    Object out;
    out.memory.reset(::open(file_of(terminal, device).c_str(), O_RDWR | O_CLOEXEC));
    struct stat status {};
    if (!out.memory || ::fstat(out.memory.get(), &status) != 0) continue;
    out.token.reset(::fcntl(shared.get(), F_DUPFD_CLOEXEC, 3));
    if (!out.token) return std::nullopt;
    out.device = device;
    out.bytes = static_cast<std::size_t>(status.st_size);
    return out;
  }
  return std::nullopt;
}

// ---- memfds ---------------------------------------------------------------------------------------

std::optional<Object> make_memfd(int device, std::size_t bytes) {
  Object out;
  out.memory.reset(
      ::memfd_create((kMemfdName + std::to_string(device)).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!out.memory || ::ftruncate(out.memory.get(), static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(out.memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
      !fakehip::account(out.memory.get(), machine(), device, bytes))
    return std::nullopt;
  out.device = device;
  out.bytes = bytes;
  return out;
}

std::optional<Object> open_memfd(BorrowedFd shared) {
  char link[64] = {};
  if (::fcntl(shared.get(), F_GET_SEALS) < 0 ||
      ::readlink(("/proc/self/fd/" + std::to_string(shared.get())).c_str(), link, sizeof link - 1) <= 0)
    return std::nullopt;
  Object out;
  struct stat status {};
  const std::string name = std::string("/memfd:") + kMemfdName;
  if (std::strncmp(link, name.c_str(), name.size()) != 0 || ::fstat(shared.get(), &status) != 0)
    return std::nullopt;
  out.memory.reset(::fcntl(shared.get(), F_DUPFD_CLOEXEC, 3));
  if (!out.memory) return std::nullopt;
  out.device = std::atoi(link + name.size());
  out.bytes = static_cast<std::size_t>(status.st_size);
  return out;
}

}  // namespace

std::size_t device_bytes() {
  static const std::size_t known = number_from("FAKE_CUDA_MIB", 81'920) << 20;
  return known;
}

std::size_t used_bytes(int device) {
  return as_terminals() ? bytes_in_files(device) : fakehip::accounted_bytes(machine(), device);
}

std::optional<Object> make_object(int device, std::size_t bytes) {
  // Small ones are not worth the counting.
  if (bytes >= kCounted) {
    const std::size_t used = used_bytes(device);
    if (used > device_bytes() || bytes > device_bytes() - used) {
      errno = ENOMEM;
      return std::nullopt;
    }
  }
  return as_terminals() ? make_with_terminal(device, bytes) : make_memfd(device, bytes);
}

std::optional<Object> open_object(BorrowedFd shared) {
  return as_terminals() ? open_terminal(shared) : open_memfd(shared);
}

const std::vector<int>& visible() {
  static const std::vector<int> known = [] {
    std::vector<int> out;
    const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
    if (list == nullptr) {
      for (int i = 0; i < device_count(); ++i) out.push_back(i);
      return out;
    }
    // The first that does not exist ends the list.
    for (const char* at = list; *at != '\0';) {
      char* end = nullptr;
      const long number = std::strtol(at, &end, 10);
      if (end == at || number < 0 || number >= device_count()) break;
      out.push_back(static_cast<int>(number));
      at = *end == ',' ? end + 1 : end;
    }
    return out;
  }();
  return known;
}

}  // namespace hb::fakecuda
