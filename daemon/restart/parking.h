// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Descriptors that outlive the daemon. The service manager's store takes few entries, so it gets the ends of
// a few socketpairs, and the descriptors lie in their queues: 10,000 take 64 ms, and PID 1 sees 64 entries at
// most.
//
// Whenever the process ends, between any two system calls, every descriptor that was parked is in some
// queue; it may be there twice, and one that unpark() was to take out may be there still, until it returned.
// One exception: where the kernel takes no copy before the old message is gone (ETOOMANYREFS, or all queues
// full), taking out comes first, and what stays, 253 at most, is in no queue between two calls.
//
// Contract of unpark(): a message is taken out by receiving it without room for descriptors, which closes
// them. Where that were the last reference to GPU memory, the driver would free it there and then, on the
// event loop (25 to 45 ms for 64 GiB). So the owner keeps its own copy until unpark() has returned, and lets
// its closer thread close that one: the parked copy is never the last.
//
// A socket may be parked. It must not be an end of these socketpairs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "os/descriptor_store.h"
#include "restart/parked.h"
#include "restart/parking_queue.h"
#include "wire/expected.h"

namespace hb::restart {

class Parking {
 public:
  static constexpr std::size_t kQueues = 32;
  static constexpr std::size_t kMostQueues = 64;  // of another version's, that are read

  // The daemon's own descriptor of an entry; number -1 where it has none any more.
  using Lookup = std::function<BorrowedFd(const ParkedEntry& entry)>;
  struct Options {
    // Descriptors that may lie in queues, copies while rewriting included: the kernel lets a uid without
    // CAP_SYS_RESOURCE have as many in flight as its soft RLIMIT_NOFILE, and answers need a quarter of it.
    std::uint64_t limit = 0;
    std::size_t queues = kQueues;
    std::uint64_t store_wait_ns = 1'000'000'000;  // for the manager to take a new queue
    // For tests: called before every system call that changes something, with its name.
    std::function<void(const char* call)> step = {};
  };

  // The store outlives this.
  Parking(os::DescriptorStore& store, Options options, Lookup lookup);

  // "q0a".."q63a", "q0b".."q63b".
  [[nodiscard]] static bool is_queue_name(std::string_view name);

  struct Back {
    std::vector<Restored> entries;   // each once
    std::vector<ParkedEntry> lost;   // known by name, and the descriptor could not be had
    std::vector<std::string> lines;  // what went wrong, for the log
  };
  // Once, first of all: takes the queues out of `stored` and reads them. They stay as they are, so that a
  // daemon that ends during its restart leaves the next one what it found.
  [[nodiscard]] Back restore(std::map<std::string, std::vector<UniqueFd>>& stored);
  // After restore(), when lookup() knows what was restored: closes what `known` does not answer for, puts
  // together what is there twice, and empties queues of which an end is missing. The entries that are no
  // longer parked though they are known: they would not survive a restart.
  [[nodiscard]] std::vector<ParkedEntry> drop_unknown(const std::function<bool(const ParkedEntry&)>& known);

  // All of them or none. What is parked already stays. The error says why not, with the limit and what is
  // used: the caller is not restart-safe then.
  [[nodiscard]] tl::expected<void, std::string> park(std::span<const ToPark> entries);
  // No queue refers to them any more when this returns, whatever happens. The value: others that had to be
  // moved for that and could not be parked again; they would not survive a restart.
  [[nodiscard]] std::vector<ParkedEntry> unpark(std::span<const ParkedEntry> entries);
  [[nodiscard]] bool is_parked(const ParkedEntry& entry) const { return places_.count(entry) != 0; }

  [[nodiscard]] std::uint64_t in_flight() const { return in_flight_; }
  [[nodiscard]] std::uint64_t limit() const { return options_.limit; }
  [[nodiscard]] std::size_t queues() const;

 private:
  using Number = std::size_t;
  using Doomed = std::function<bool(const ParkedEntry&)>;

  void step(const char* call) const {
    if (options_.step) options_.step(call);
  }
  [[nodiscard]] tl::expected<void, std::string> fits(std::size_t more) const;
  // A queue for so many in one message, made where that is wise.
  [[nodiscard]] tl::expected<Number, std::string> choose(std::size_t entries);
  [[nodiscard]] tl::expected<Number, std::string> make_queue();
  [[nodiscard]] tl::expected<void, std::string> send(Number number, std::span<const ToPark> entries);
  // False where the queue could not be read: it is then gone, and what was in it is `lost`.
  [[nodiscard]] bool discard_first(Number number, std::vector<ParkedEntry>& lost);
  // Takes the first messages of a queue out, and puts what is not doomed at an end, a message at a time.
  void rewrite(Number number, std::size_t messages, const Doomed& doomed, std::vector<ParkedEntry>& lost);
  struct Batch;
  [[nodiscard]] Batch gather(Number number, std::size_t messages, const Doomed& doomed,
                             std::vector<ParkedEntry>& lost) const;
  [[nodiscard]] tl::expected<void, std::string> send_anywhere(std::span<const ToPark> entries);
  void read_queue(Number number, Back& back);
  void forget(const ParkedEntry& entry, Number number);
  void remove_queue(Number number);
  void remove_from_store(Number number);
  [[nodiscard]] bool is_own_end(BorrowedFd fd) const;

  os::DescriptorStore& store_;
  Options options_;
  Lookup lookup_;
  std::vector<std::optional<ParkingQueue>> queues_;                       // by number
  std::unordered_multimap<ParkedEntry, Number, ParkedEntryHash> places_;  // one for each copy
  // Numbers whose names the manager could not be told to remove: with new ends under the old names the next
  // daemon would not know which to take.
  std::vector<bool> spoilt_;
  std::uint64_t in_flight_ = 0;
  bool makes_queues_ = true;  // until the store did not take one
};

[[nodiscard]] std::string queue_name(std::size_t number, char end);

}  // namespace hb::restart
