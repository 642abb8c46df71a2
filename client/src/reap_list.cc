// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "reap_list.h"

#include <atomic>
#include <list>
#include <memory>
#include <mutex>

#include "per_process.h"
#include "providers/hip/event.h"

namespace hb::client {
namespace {

struct Waiting {
  std::shared_ptr<const hip::Runtime> runtime;  // that the event is of
  void* event;
  std::function<void()> give_back;
};

struct List {
  std::mutex lock;
  std::list<Waiting> entries;           // those that no thread is looking at just now
  std::atomic<std::uint64_t> count{0};  // of all of them
};

constinit PerProcess<List> g_list;

bool is_due(const Waiting& waiting) {
  const hip::EventState state = hip::event_state(*waiting.runtime, waiting.event);
  // An event that is gone, or on a lost device, will not tell any more. Nothing of it runs.
  return state != hip::EventState::kRunning && state != hip::EventState::kCaptured;
}

}  // namespace

Result<void> check_event(void* event) {
  if (event == nullptr) return fail(HB_INVALID, "event is NULL");
  const auto runtime = hip::Runtime::get();
  if (!runtime) return tl::unexpected(runtime.error());
  return hip::check_event(**runtime, event);
}

Result<void> give_back_when(void* event, std::function<void()> give_back) {
  if (auto sound = check_event(event); !sound) return sound;
  auto runtime = hip::Runtime::get();
  if (!runtime) return tl::unexpected(std::move(runtime.error()));
  std::list<Waiting> fresh;
  fresh.push_back({std::move(*runtime), event, std::move(give_back)});
  List& list = g_list.get();
  const std::lock_guard guard(list.lock);
  list.entries.splice(list.entries.end(), fresh);
  list.count.fetch_add(1, std::memory_order_relaxed);
  return {};
}

std::uint64_t reap() noexcept {
  List* const list = g_list.find();
  if (list == nullptr || list->count.load(std::memory_order_relaxed) == 0) return 0;
  // Taken out: no other thread gives the same back, and none has to wait for what is asked and done here.
  std::list<Waiting> mine;
  {
    const std::lock_guard guard(list->lock);
    mine.swap(list->entries);
  }
  std::list<Waiting> due;
  for (auto at = mine.begin(); at != mine.end();) {
    const auto here = at++;
    if (is_due(*here)) due.splice(due.end(), mine, here);
  }
  {
    const std::lock_guard guard(list->lock);
    list->entries.splice(list->entries.begin(), mine);
  }
  for (Waiting& waiting : due) {
    waiting.give_back();
    list->count.fetch_sub(1, std::memory_order_relaxed);
  }
  return list->count.load(std::memory_order_relaxed);
}

}  // namespace hb::client
