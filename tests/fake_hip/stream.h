// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Streams and events. Work is done at once, unless the stream was told to be busy (fake_hip_control): then it
// waits in the stream's queue, as behind a kernel that does not end. All guarded by State's mutex.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace hb::fakehip {

struct Event {
  long long recorded = 0;  // how many times recorded
  long long reached = 0;   // the last record whose work is done
  bool captured = false;   // last recorded in a capturing stream
};

struct Stream {
  struct Item {
    std::shared_ptr<Event> wait_for;  // with `wait_until`: not before this record is reached
    long long wait_until = 0;
    std::function<void()> run;
  };
  int ordinal = 0;
  bool null_stream = false;
  bool non_blocking = false;
  bool busy = false;
  std::optional<int> capture_mode;
  bool capture_broken = false;
  pid_t captured_by = 0;  // thread
  std::deque<Item> queue;

  [[nodiscard]] bool idle() const { return !busy && queue.empty(); }
};

class StreamTable {
 public:
  // The caller's word for a stream: NULL and 1 (legacy) are the device's null stream, 2 the thread's own,
  // which is taken for a blocking stream here. nullptr: no such stream.
  [[nodiscard]] Stream* find(const void* stream, int ordinal);
  [[nodiscard]] const void* create(int ordinal, bool non_blocking);
  [[nodiscard]] bool destroy(const void* stream);
  [[nodiscard]] const void* create_event();
  [[nodiscard]] std::shared_ptr<Event> find_event(const void* event) const;
  [[nodiscard]] bool destroy_event(const void* event);

  // Runs or queues. Null streams also wait for the device's blocking streams.
  void submit(Stream& stream, Stream::Item item);
  void set_busy(Stream& stream, bool busy);
  void set_all_busy(bool busy, int device_count);
  // Every stream of the device; null stream and blocking ones only.
  [[nodiscard]] bool device_idle(int ordinal) const;
  [[nodiscard]] bool null_stream_idle(int ordinal) const;
  // A running capture that an unsafe call by `thread` would break; nullptr: none.
  [[nodiscard]] Stream* capture_in_the_way(int thread_mode, int thread);

  [[nodiscard]] std::size_t stream_count() const { return made_.size(); }
  [[nodiscard]] std::size_t event_count() const { return events_.size(); }

 private:
  void run_ready();
  std::map<const void*, std::unique_ptr<Stream>> made_;
  std::map<int, std::unique_ptr<Stream>> null_;
  std::map<int, std::unique_ptr<Stream>> per_thread_;
  std::map<const void*, std::shared_ptr<Event>> events_;
  std::vector<std::shared_ptr<Event>> dead_events_;
};

}  // namespace hb::fakehip
