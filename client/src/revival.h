// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What a client held when its session was lost, and exports whose descriptors a daemon has lost, brought to
// the daemon of now: exports first, then the leases of imports. Done by threads of the program that call the
// library or take events, a slice each, so that no short call waits for all of it.
//
// What never happens: two threads at it at once; a lock held while the daemon is asked; a call that has
// nothing to do with it held up longer than a slice and one request; asked again and again without a pause.
// Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "clock.h"
#include "error.h"
#include "export_record.h"
#include "session.h"

namespace hb::client {

class Client;
class Reoffering;

class Revival {
 public:
  explicit Revival(Client& client);
  ~Revival();
  Revival(const Revival&) = delete;
  Revival& operator=(const Revival&) = delete;

  // This session was lost, with these exports.
  void begin(const std::shared_ptr<Session>& lost, std::vector<std::shared_ptr<ExportRecord>> exports);
  // The daemon has lost their descriptors.
  void add(std::vector<std::shared_ptr<ExportRecord>> exports);
  void close();

  // One load.
  [[nodiscard]] bool is_idle() const noexcept { return idle_.load(std::memory_order_acquire); }
  // When there is something to do; kNoDeadline: there is nothing.
  [[nodiscard]] std::uint64_t due_ns() const;

  // A slice of it, and nothing while another thread is at it.
  void some(const std::shared_ptr<Session>& session, std::uint64_t deadline_ns);
  // This export, until the daemon knows it or, with `whole`, has its chunks. That it can never come back is
  // no error: its record tells.
  [[nodiscard]] Result<void> finish(const std::shared_ptr<Session>& session, const ExportRecord& record,
                                    bool whole, std::uint64_t deadline_ns);

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Pause {
    std::uint64_t next_ns = 0;
    std::uint64_t length_ns = 0;
    void lengthen(std::uint64_t most_ns) noexcept;
  };
  struct Export {
    explicit Export(std::shared_ptr<ExportRecord> record);
    ~Export();
    std::unique_ptr<Reoffering> work;
    Pause pause;
  };
  struct Import {
    std::shared_ptr<Session> lost;
    std::uint64_t lease = 0;
    std::uint64_t until_ns = 0;  // an export that the daemon does not know is given up then
    Pause pause;
  };
  class Turn;

  // For who has the turn. False: nothing is due.
  bool next(const std::shared_ptr<Session>& session, std::uint64_t deadline_ns);
  bool reoffer(std::list<Export>::iterator at, const std::shared_ptr<Session>& session,
               std::uint64_t deadline_ns);
  void attach(std::list<Import>::iterator at, const std::shared_ptr<Session>& session,
              std::uint64_t deadline_ns);
  void take_in();

  Client& client_;
  mutable std::mutex lock_;
  std::condition_variable free_;
  bool busy_ = false;
  std::list<Export> fresh_exports_;
  std::list<Import> fresh_imports_;
  std::uint64_t due_ns_ = kNoDeadline;  // of what the last turn left
  std::atomic<bool> idle_{true};
  std::atomic<bool> closed_{false};

  // Of who has the turn.
  std::list<Export> exports_;
  std::list<Import> imports_;
};

}  // namespace hb::client
