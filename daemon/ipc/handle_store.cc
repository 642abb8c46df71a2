// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/handle_store.h"

#include <fcntl.h>

#include <string>
#include <utility>

namespace hb::ipc {

void HandleStore::add(UniqueFd fd, core::HandleFacts& facts) {
  std::uint32_t index = static_cast<std::uint32_t>(slots_.size());
  if (free_.empty()) {
    slots_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Slot& slot = slots_[index];
  ++slot.use;
  facts.id = core::HandleId::of(index, slot.use);
  slot.fd = std::move(fd);
  slot.facts = facts;
  ++used_;
}

bool HandleStore::restore(UniqueFd& fd, const core::HandleFacts& facts) {
  const std::uint32_t index = facts.id.slot();
  if (index >= slots_.size()) slots_.resize(std::size_t{index} + 1);
  Slot& slot = slots_[index];
  if (slot.fd) return false;
  slot.use = facts.id.use();
  slot.fd = std::move(fd);
  slot.facts = facts;
  ++used_;
  return true;
}

void HandleStore::finish_restoring() {
  free_.clear();
  for (auto index = static_cast<std::uint32_t>(slots_.size()); index-- > 0;) {
    if (!slots_[index].fd) free_.push_back(index);
  }
}

const HandleStore::Slot* HandleStore::find(core::HandleId id) const {
  if (!id || id.slot() >= slots_.size()) return nullptr;
  const Slot& slot = slots_[id.slot()];
  return slot.use == id.use() && slot.fd ? &slot : nullptr;
}

const UniqueFd* HandleStore::get(core::HandleId id) const {
  const Slot* slot = find(id);
  return slot != nullptr ? &slot->fd : nullptr;
}

const UniqueFd* HandleStore::get_read_only(core::HandleId id) const {
  const Slot* slot = find(id);
  return slot != nullptr && slot->read_only ? &slot->read_only : nullptr;
}

const core::HandleFacts* HandleStore::facts(core::HandleId id) const {
  const Slot* slot = find(id);
  return slot != nullptr ? &slot->facts : nullptr;
}

tl::expected<void, SysError> HandleStore::reopen_read_only(core::HandleId id) {
  const Slot* found = find(id);
  if (found == nullptr) return tl::unexpected(SysError{"reopen", EBADF});
  Slot& slot = slots_[id.slot()];
  if (slot.read_only) return {};
  const std::string path = "/proc/self/fd/" + std::to_string(slot.fd.get());
  // O_NONBLOCK: the exporter may hold a lease on the file (F_SETLEASE), and open() would wait 45 s for it to
  // let go. It answers EWOULDBLOCK instead.
  slot.read_only = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!slot.read_only) return tl::unexpected(SysError::last("open(/proc/self/fd)"));
  return {};
}

void HandleStore::take(core::HandleId id, std::vector<UniqueFd>& out) {
  if (find(id) == nullptr) return;
  Slot& slot = slots_[id.slot()];
  out.push_back(std::move(slot.fd));
  if (slot.read_only) out.push_back(std::move(slot.read_only));
  free_.push_back(id.slot());
  --used_;
}

}  // namespace hb::ipc
