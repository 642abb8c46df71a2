// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "os/descriptor_store.h"

#include <fcntl.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "os/notify_socket.h"
#include "wire/sys_error.h"

namespace hb::os {
namespace {

std::size_t number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return 0;
  std::size_t number = 0;
  const char* end = text + std::strlen(text);
  const auto [at, error] = std::from_chars(text, end, number);
  return error == std::errc() && at == end ? number : 0;
}

std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

DescriptorStore DescriptorStore::of_environment() {
  DescriptorStore store;
  if (!notify_wanted()) {
    store.why_not_ = "no descriptor store: no service manager ($NOTIFY_SOCKET is not set)";
    return store;
  }
  store.most_ = number_in("FDSTORE");
  if (store.most_ == 0) store.most_ = number_in("HIPBROKER_FD_STORE_MAX");
  if (store.most_ == 0) {
    store.why_not_ =
        "no descriptor store: the service manager tells no capacity (set FileDescriptorStoreMax= in the "
        "unit, "
        "and the same number in Environment=HIPBROKER_FD_STORE_MAX= for systemd before 254)";
  }
  return store;
}

std::string DescriptorStore::safe_name(std::string_view name) {
  std::string safe(name.substr(0, kNameLength));
  std::replace_if(
      safe.begin(), safe.end(), [](char c) { return c < ' ' || c > '~' || c == ':'; }, '_');
  return safe.empty() ? "_" : safe;
}

void DescriptorStore::count_inherited(const std::string& name, std::size_t entries) {
  if (entries == 0) return;
  entries_ += entries;
  names_[name] += entries;
  name_bytes_ += (name.size() + 1) * entries;
}

void DescriptorStore::count_listener(const std::string& name) { name_bytes_ += name.size() + 1; }

tl::expected<void, std::string> DescriptorStore::add(const std::string& wanted,
                                                     std::span<const BorrowedFd> fds) {
  if (!available()) return tl::unexpected(why_not_);
  const std::string name = safe_name(wanted);
  if (entries_ + fds.size() > most_) {
    return tl::unexpected("the descriptor store has " + std::to_string(entries_) + " entries, " +
                          std::to_string(fds.size()) + " more than that exceed its " + std::to_string(most_) +
                          " (FileDescriptorStoreMax=)");
  }
  const std::size_t bytes = name_bytes_ + (name.size() + 1) * fds.size();
  if (bytes > kNameBytes) {
    return tl::unexpected("the names of the descriptor store would have " + std::to_string(bytes) +
                          " bytes, the limit is " + std::to_string(kNameBytes) +
                          ": with more the unit could not be started again");
  }
  for (std::size_t first = 0; first < fds.size(); first += kNotifyFds) {
    const auto part = fds.subspan(first, std::min(fds.size() - first, kNotifyFds));
    // FDPOLL=0: a socket whose peer has gone is still wanted, and memory cannot be polled at all.
    if (auto sent = notify_send("FDSTORE=1\nFDNAME=" + name + "\nFDPOLL=0", part); !sent) return sent;
    count_inherited(name, part.size());
  }
  return {};
}

tl::expected<void, std::string> DescriptorStore::remove(const std::string& wanted) {
  const std::string name = safe_name(wanted);
  if (auto sent = notify_send("FDSTOREREMOVE=1\nFDNAME=" + name); !sent) return sent;
  const auto known = names_.find(name);
  if (known == names_.end()) return {};
  entries_ -= known->second;
  name_bytes_ -= (name.size() + 1) * known->second;
  names_.erase(known);
  return {};
}

tl::expected<void, std::string> DescriptorStore::barrier(std::uint64_t wait_ns) {
  if (!notify_wanted()) return {};
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return tl::unexpected(SysError::last("pipe2").text());
  const UniqueFd mine(ends[0]);
  UniqueFd theirs(ends[1]);
  const BorrowedFd sent_end = theirs;
  const std::uint64_t deadline = now_ns() + wait_ns;
  if (auto sent = notify_send("BARRIER=1", std::span(&sent_end, 1), std::min(wait_ns, kNotifyWaitNs));
      !sent) {
    return sent;
  }
  theirs.reset();
  for (;;) {
    const std::uint64_t now = now_ns();
    const int left = now >= deadline ? 0 : static_cast<int>((deadline - now) / 1'000'000) + 1;
    pollfd hangup{mine.get(), 0, 0};
    const int ready = ::poll(&hangup, 1, left);
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return tl::unexpected(SysError::last("poll").text());
    if (ready == 0 && left == 0) {
      return tl::unexpected("the service manager did not take what was sent to its descriptor store within " +
                            std::to_string(wait_ns / 1'000'000) + " ms");
    }
  }
}

}  // namespace hb::os
