// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A daemon's descriptors, a store that keeps what is parked, and the daemon that comes after it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "os/descriptor_store.h"
#include "restart/parking.h"
#include "support/fake_service_manager.h"
#include "support/temp_dir.h"

namespace hb::test {

using restart::ParkedEntry;
using restart::ParkedKind;
using restart::Parking;
using restart::ToPark;

// A file whose first bytes are its number: that the right descriptor came back is seen by them.
inline UniqueFd numbered(std::uint64_t number) {
  UniqueFd fd(::memfd_create("hbtest-parked", MFD_CLOEXEC));
  EXPECT_TRUE(fd) << ::strerrorname_np(errno);
  EXPECT_EQ(::pwrite(fd.get(), &number, sizeof number, 0), static_cast<ssize_t>(sizeof number));
  return fd;
}

inline std::uint64_t number_in(BorrowedFd fd) {
  std::uint64_t number = 0;
  return ::pread(fd.get(), &number, sizeof number, 0) == static_cast<ssize_t>(sizeof number) ? number
                                                                                             : UINT64_MAX;
}

inline ParkedEntry handle(std::uint64_t id) {
  return {ParkedKind::kHandle, id, static_cast<std::uint32_t>(id * 7)};
}

// Each entry's descriptor is a file that holds its id.
class Holder {
 public:
  std::vector<ToPark> make(std::uint64_t first, std::uint64_t count) {
    std::vector<ToPark> made;
    for (std::uint64_t id = first; id < first + count; ++id) {
      fds_[id] = numbered(id);
      made.push_back({handle(id), fds_[id]});
    }
    return made;
  }
  void own(std::uint64_t id, UniqueFd fd) { fds_[id] = std::move(fd); }
  void drop(std::uint64_t id) { fds_.erase(id); }
  [[nodiscard]] Parking::Lookup lookup() const {
    return [this](const ParkedEntry& entry) {
      const auto found = fds_.find(entry.id);
      return found == fds_.end() ? BorrowedFd() : BorrowedFd(found->second);
    };
  }
  [[nodiscard]] std::set<std::uint64_t> ids() const {
    std::set<std::uint64_t> out;
    for (const auto& [id, fd] : fds_) out.insert(id);
    return out;
  }

 private:
  std::map<std::uint64_t, UniqueFd> fds_;
};

inline std::vector<ParkedEntry> entries(std::initializer_list<std::uint64_t> ids) {
  std::vector<ParkedEntry> out;
  for (const std::uint64_t id : ids) out.push_back(handle(id));
  return out;
}

// What PID 1 would hand to the next daemon.
inline std::map<std::string, std::vector<UniqueFd>> handed_over(const FakeServiceManager& manager) {
  std::map<std::string, std::vector<UniqueFd>> stored;
  for (const std::string& name : manager.stored_names()) stored[name].push_back(manager.copy_of(name));
  return stored;
}

// The next daemon, with what it got; `holder` owns that afterwards.
struct NextDaemon {
  explicit NextDaemon(const FakeServiceManager& manager, Parking::Options options = {100'000})
      : NextDaemon(handed_over(manager), std::move(options)) {}
  explicit NextDaemon(std::map<std::string, std::vector<UniqueFd>> stored,
                      Parking::Options options = {100'000})
      : parking(store, std::move(options), holder.lookup()), back(parking.restore(stored)) {
    for (restart::Restored& one : back.entries) {
      numbers.push_back(number_in(one.fd));
      ids.insert(one.entry.id);
      holder.own(one.entry.id, std::move(one.fd));
    }
  }
  [[nodiscard]] bool each_is_its_own() const {
    std::vector<std::uint64_t> want;
    for (const restart::Restored& one : back.entries) want.push_back(one.entry.id);
    return want == numbers && ids.size() == want.size();
  }
  os::DescriptorStore store = os::DescriptorStore::of_environment();
  Holder holder;
  Parking parking;
  Parking::Back back;
  std::vector<std::uint64_t> numbers;
  std::set<std::uint64_t> ids;
};

class ParkingTest : public testing::Test {
 protected:
  ParkingTest() {
    ::setenv("NOTIFY_SOCKET", manager_.address().c_str(), 1);
    ::setenv("FDSTORE", "64", 1);
    store_ = os::DescriptorStore::of_environment();
  }
  ~ParkingTest() override {
    EXPECT_EQ(manager_.violations(), std::vector<std::string>());
    ::unsetenv("NOTIFY_SOCKET");
    ::unsetenv("FDSTORE");
  }
  TempDir dir_;
  FakeServiceManager manager_{dir_, {.store_max = 64, .tells_capacity = true, .abstract = false, .env = {}}};
  os::DescriptorStore store_;
  Holder holder_;
};

}  // namespace hb::test
