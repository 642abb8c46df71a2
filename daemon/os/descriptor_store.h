// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The service manager's descriptor store: what is in it is there again after a restart (activation.h).
//
// PID 1 tells nobody that it did not keep a descriptor, so everything it would refuse is refused here:
//  - more than FileDescriptorStoreMax= of them: the surplus is closed with a line in the journal;
//  - names that make $LISTEN_FDNAMES, one environment string, longer than exec() takes: the unit could not
//    be started any more, ever (status=203/EXEC);
//  - it compares every new one with every stored one: few entries, each with much behind it
//  (restart/parking).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "wire/expected.h"
#include "wire/unique_fd.h"

namespace hb::os {

class DescriptorStore {
 public:
  // The sum of (length + 1) over all names, listeners included, that one environment string has room for.
  static constexpr std::size_t kNameBytes = 131'057;
  static constexpr std::size_t kNameLength = 255;

  // None: available() is false.
  DescriptorStore() = default;
  // By the environment: $NOTIFY_SOCKET, and its capacity by $FDSTORE (systemd 254 and later) or
  // $HIPBROKER_FD_STORE_MAX (in our unit, beside FileDescriptorStoreMax=).
  [[nodiscard]] static DescriptorStore of_environment();
  // With a capacity that the caller knows.
  explicit DescriptorStore(std::size_t most) : most_(most) {}

  [[nodiscard]] bool available() const { return most_ > 0; }
  [[nodiscard]] const std::string& why_not() const { return why_not_; }  // where it is not available

  // Counts what came with the start: a stored one, or a listener, whose name alone counts.
  void count_inherited(const std::string& name, std::size_t entries);
  void count_listener(const std::string& name);

  // Stores them under one name, made safe if it is not. The manager takes copies of its own. It has taken
  // them only when barrier() has returned: what was sent by a process that ends before is dropped.
  [[nodiscard]] tl::expected<void, std::string> add(const std::string& name, std::span<const BorrowedFd> fds);
  [[nodiscard]] tl::expected<void, std::string> add(const std::string& name, BorrowedFd fd) {
    return add(name, std::span(&fd, 1));
  }
  // All of that name.
  [[nodiscard]] tl::expected<void, std::string> remove(const std::string& name);
  // Waits until the manager has dealt with all that was sent before.
  [[nodiscard]] tl::expected<void, std::string> barrier(std::uint64_t wait_ns);

  [[nodiscard]] std::size_t entries() const { return entries_; }
  [[nodiscard]] std::size_t entries_max() const { return most_; }

  // What PID 1 takes as a name: printable ASCII without ':', 1 to 255 bytes. Other bytes become '_'.
  [[nodiscard]] static std::string safe_name(std::string_view name);

 private:
  std::size_t most_ = 0;
  std::size_t entries_ = 0;
  std::size_t name_bytes_ = 0;
  std::map<std::string, std::size_t> names_;
  std::string why_not_ = "no descriptor store";
};

}  // namespace hb::os
