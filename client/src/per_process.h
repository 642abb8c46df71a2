// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What a process has once, its lock included, and a forked child has anew: what it inherited may be locked by
// a thread that it does not have, or be half changed.
#pragma once

#include <atomic>
#include <memory>
#include <new>

#include "fork_guard.h"

namespace hb::client {

// For static storage: needs no initialisation and is never destroyed, since static destructors may still use
// what it holds. Thread-safe.
template <class T>
class PerProcess {
 public:
  constexpr PerProcess() = default;

  // This process's, made at the first call.
  [[nodiscard]] T& get() {
    Node* last = last_.load(std::memory_order_acquire);
    if (last != nullptr && last->mark.is_here()) return last->value;
    const auto mark = ProcessMark::take();
    if (!mark) throw std::bad_alloc();  // no page for the mark
    auto fresh = std::make_unique<Node>(*mark, last);
    while (!last_.compare_exchange_strong(last, fresh.get(), std::memory_order_acq_rel)) {
      if (last->mark.is_here()) return last->value;
      fresh->parent = last;
    }
    return fresh.release()->value;
  }
  // nullptr before the first get() of this process.
  [[nodiscard]] T* find() const noexcept {
    Node* last = last_.load(std::memory_order_acquire);
    return last != nullptr && last->mark.is_here() ? &last->value : nullptr;
  }
  // Whether it holds for one that a process was forked with, further up included. Only what is atomic in it
  // may be looked at.
  template <class Test>
  [[nodiscard]] bool inherited(Test&& test) const {
    for (Node* node = last_.load(std::memory_order_acquire); node != nullptr; node = node->parent)
      if (!node->mark.is_here() && test(static_cast<const T&>(node->value))) return true;
    return false;
  }

 private:
  struct Node {
    Node(ProcessMark made_in, Node* made_before) : mark(made_in), parent(made_before) {}
    ProcessMark mark;
    Node* parent;
    T value{};
  };
  std::atomic<Node*> last_{nullptr};
};

}  // namespace hb::client
