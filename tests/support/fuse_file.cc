// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "support/fuse_file.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "support/temp_dir.h"

namespace hb::test {
namespace {

void reply(const UniqueFd& device, const fuse_in_header& request, const void* body, std::size_t bytes,
           int error = 0) {
  std::vector<char> out(sizeof(fuse_out_header) + bytes);
  const fuse_out_header header{static_cast<std::uint32_t>(out.size()), -error, request.unique};
  std::memcpy(out.data(), &header, sizeof header);
  if (bytes != 0) std::memcpy(out.data() + sizeof header, body, bytes);
  // ENOENT: who asked has gone.
  if (::write(device.get(), out.data(), out.size()) < 0) return;
}

fuse_attr attributes(std::uint64_t node) {
  fuse_attr attr{};
  attr.ino = node;
  attr.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0666;
  attr.nlink = 1;
  attr.size = 65'536;
  return attr;
}

void answer(const UniqueFd& device, const fuse_in_header& request) {
  switch (request.opcode) {
    case FUSE_INIT: {
      fuse_init_out out{};
      out.major = FUSE_KERNEL_VERSION;
      out.minor = 31;
      out.max_write = 65'536;
      return reply(device, request, &out, sizeof out);
    }
    case FUSE_LOOKUP: {
      fuse_entry_out out{};
      out.nodeid = 2;
      out.attr = attributes(2);
      return reply(device, request, &out, sizeof out);
    }
    case FUSE_GETATTR: {
      fuse_attr_out out{};
      out.attr = attributes(request.nodeid);
      return reply(device, request, &out, sizeof out);
    }
    case FUSE_OPEN: {
      fuse_open_out out{};
      return reply(device, request, &out, sizeof out);
    }
    case FUSE_FLUSH:  // answered ENOSYS it would never be asked again
    case FUSE_RELEASE:
      return reply(device, request, nullptr, 0);
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
      return;
    default:
      return reply(device, request, nullptr, 0, ENOSYS);
  }
}

}  // namespace

FuseFile::FuseFile(std::string name) : name_(std::move(name)) {
  device_ = UniqueFd(::open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK));
  stop_ = UniqueFd(::eventfd(0, EFD_CLOEXEC));
  if (!device_ || !stop_) throw std::runtime_error(std::string("/dev/fuse: ") + std::strerror(errno));
  // A mount namespace of its own goes with its thread; what was opened in it stays.
  std::thread([this] { mount(); }).join();
  if (!failure_.empty()) {
    end();
    throw std::runtime_error(failure_);
  }
}

FuseFile::~FuseFile() { end(); }

void FuseFile::mount() {
  const TempDir dir;
  const std::string options =
      "fd=" + std::to_string(device_.get()) + ",rootmode=40000,user_id=0,group_id=0,allow_other";
  const auto failed = [this](const char* call) {
    failure_ = std::string(call) + ": " + std::strerror(errno);
  };
  if (::unshare(CLONE_NEWNS) != 0) return failed("unshare(CLONE_NEWNS)");
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return failed("mount(private)");
  if (::mount("fuse", dir.path().c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) != 0)
    return failed("mount(fuse)");
  server_ = std::thread([this] { serve(); });  // not before: a device without a mount polls as an error
  root_ = UniqueFd(::open(dir.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root_) failed("open of the mount");
  ::umount2(dir.path().c_str(), MNT_DETACH);
}

UniqueFd FuseFile::open() {
  UniqueFd file(::openat(root_.get(), name_.c_str(), O_RDWR | O_CLOEXEC));
  if (!file) throw std::runtime_error(std::string("open on FUSE: ") + std::strerror(errno));
  return file;
}

void FuseFile::serve() {
  std::vector<char> buffer(1u << 17);
  for (;;) {
    pollfd both[2] = {{device_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    if (::poll(both, 2, -1) < 0 && errno != EINTR) return;
    if (both[1].revents != 0 || (both[0].revents & POLLERR) != 0) return;
    const ssize_t bytes = ::read(device_.get(), buffer.data(), buffer.size());
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOENT)) continue;
    if (bytes < static_cast<ssize_t>(sizeof(fuse_in_header))) return;
    fuse_in_header request{};
    std::memcpy(&request, buffer.data(), sizeof request);
    if (!hangs_) answer(device_, request);
  }
}

void FuseFile::end() {
  if (!server_.joinable()) return;  // not mounted, or ended
  const std::uint64_t one = 1;
  if (::write(stop_.get(), &one, sizeof one) != sizeof one) std::abort();
  server_.join();
  device_.reset();  // the last reference: the kernel ends what waits for an answer
  root_.reset();
  stop_.reset();
}

}  // namespace hb::test
