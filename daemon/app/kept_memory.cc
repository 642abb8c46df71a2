// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "app/kept_memory.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "os/descriptor_store.h"
#include "os/memory_region.h"
#include "restart/parking.h"
#include "restart/record_codec.h"
#include "wire/limits_edge.h"
#include "wire/name.h"
#include "wire/sys_error.h"

namespace hb::app {
namespace {

constexpr const char* kNode = "node";
constexpr const char* kRecords = "records";
constexpr const char* kInbox = "inbox";
constexpr std::uint64_t kStoreWaitNs = 2'000'000'000;

using os::MemoryRegion;
using Stored = std::map<std::string, std::vector<UniqueFd>>;

// Where regions come from, one way for all of them.
class Source {
 public:
  Source(os::DescriptorStore& store, Stored& stored, std::string directory)
      : store_(store), stored_(stored), directory_(std::move(directory)) {}

  // What is there under the name, else new memory.
  MemoryRegion open(const char* name, std::size_t bytes) {
    if (!store_.available()) return open_file(name, bytes);
    const auto found = stored_.find(name);
    if (found == stored_.end()) return make(name, bytes);
    std::vector<UniqueFd> all = std::move(found->second);
    stored_.erase(found);
    store_.count_inherited(name, all.size());
    if (all.size() > 1)
      lines_.push_back(std::string("the descriptor store has \"") + name + "\" " +
                       std::to_string(all.size()) + " times: one of them is used");
    for (UniqueFd& fd : all) {
      auto adopted = MemoryRegion::adopt(std::move(fd), bytes);
      if (adopted) return std::move(*adopted);
      lines_.push_back(std::string("stored memory \"") + name + "\" cannot be used: " + adopted.error());
    }
    return make_anew(name, bytes);
  }

  // In the place of what is there.
  MemoryRegion make_anew(const char* name, std::size_t bytes) {
    if (!store_.available()) return {};
    static_cast<void>(store_.remove(name));
    return make(name, bytes);
  }

  // What lies there cannot be used. Nothing without a directory.
  MemoryRegion replace_file(const char* name, std::size_t bytes) {
    if (store_.available()) return {};
    const std::string path = directory_ + "/" + name;
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return {};
    return open_file(name, bytes);
  }

  [[nodiscard]] const std::string& unsafe() const { return unsafe_; }
  std::vector<std::string>& lines() { return lines_; }

 private:
  MemoryRegion make(const char* name, std::size_t bytes) {
    auto made = MemoryRegion::make((std::string("hipbroker-") + name).c_str(), bytes);
    if (!made) {
      unsafe_ = made.error();
      return {};
    }
    auto added = store_.add(name, made->descriptor());
    if (added) added = store_.barrier(kStoreWaitNs);
    if (!added) unsafe_ = std::string("memory \"") + name + "\" is not stored: " + added.error();
    return std::move(*made);
  }

  MemoryRegion open_file(const char* name, std::size_t bytes) {
    auto opened = MemoryRegion::open_file(directory_, name, bytes);
    // One that is too small is grown by zeros, and then read like any that is damaged.
    auto whole = opened ? opened->region.grow(bytes) : tl::expected<void, std::string>();
    if (opened && whole) return std::move(opened->region);
    if (opened) opened = tl::unexpected(std::move(whole.error()));
    unsafe_ = store_.why_not() + "; and nothing is kept beside the admin socket: " + opened.error();
    return {};
  }

  os::DescriptorStore& store_;
  Stored& stored_;
  std::string directory_;
  std::string unsafe_;
  std::vector<std::string> lines_;
};

// A lock of this process: the open file is shared with the service manager and with the daemons before, so
// one of the file (flock) would be held for ever.
std::optional<Exit> lock(BorrowedFd memory) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(memory.get(), F_SETLK, &whole) == 0) return std::nullopt;
  const SysError error = SysError::last("fcntl(F_SETLK)");
  if (error.code != EACCES && error.code != EAGAIN)
    return Exit{kExitLocal, {"the node's memory: " + error.text()}};
  const bool known =
      ::fcntl(memory.get(), F_GETLK, &whole) == 0 && whole.l_type != F_UNLCK && whole.l_pid > 0;
  return Exit{kExitAnother,
              {"another daemon" + (known ? " (pid " + std::to_string(whole.l_pid) + ")" : std::string()) +
               " serves by the same memory of this node; stop it, or choose another --socket"}};
}

std::optional<restart::NodeIdentity> fresh_identity() {
  restart::NodeIdentity fresh;
  const auto fill = [](auto& out) {
    return ::getrandom(out.data(), out.size(), 0) == static_cast<ssize_t>(out.size());
  };
  if (!fill(fresh.broker) || !fill(fresh.master)) return std::nullopt;
  return fresh;
}

}  // namespace

bool is_stored_name(std::string_view name) {
  return name == kNode || name == kRecords || name == kInbox || restart::Parking::is_queue_name(name);
}

tl::expected<KeptMemory, Exit> open_kept_memory(const Settings& settings, Stored& stored,
                                                std::uint64_t limit) {
  KeptMemory out;
  ipc::Continuity::Kept& kept = out.kept;
  kept.store = std::make_unique<os::DescriptorStore>(
      settings.personal ? os::DescriptorStore() : os::DescriptorStore::of_environment());
  // A quarter of what may be in flight stays for answers.
  kept.park_limit = limits::in_flight_budget(limit) / 4 * 3;
  Source source(*kept.store, stored, settings.admin_socket.substr(0, settings.admin_socket.rfind('/')));

  const auto fresh = fresh_identity();
  if (!fresh) return tl::unexpected(Exit{kExitLocal, {SysError::last("getrandom").text()}});
  MemoryRegion node = source.open(kNode, restart::NodeMemory::kBytes);
  if (node) {
    if (auto held = lock(node.descriptor())) return tl::unexpected(std::move(*held));
  } else if (auto own = MemoryRegion::make("hipbroker-node", restart::NodeMemory::kBytes)) {
    node = std::move(*own);
  }
  auto opened = restart::NodeMemory::open(std::move(node), *fresh);
  if (!opened) return tl::unexpected(Exit{kExitLocal, {"the node's memory: " + opened.error()}});
  if (opened->origin() == restart::NodeMemory::Origin::kBroken)
    out.lost.push_back("who this broker was is lost, and every key with it: " + opened->why());
  const bool goes_on = opened->origin() == restart::NodeMemory::Origin::kAdopted;
  kept.node = std::move(*opened);

  MemoryRegion records = source.open(kRecords, restart::RecordHeap::kLeastBytes);
  if (records) {
    const UniqueFd again(::fcntl(records.descriptor().get(), F_DUPFD_CLOEXEC, 3));
    auto heap = goes_on ? restart::RecordHeap::open(std::move(records))
                        : restart::RecordHeap::make(std::move(records));
    if (!heap) {
      out.lost_records = true;
      out.lost.push_back("the records cannot be read, so nothing is known of what was shared: " +
                         heap.error());
      auto region = MemoryRegion::adopt(again.duplicate(), restart::RecordHeap::kLeastBytes);
      MemoryRegion anew =
          region ? std::move(*region) : source.replace_file(kRecords, restart::RecordHeap::kLeastBytes);
      if (anew) heap = restart::RecordHeap::make(std::move(anew));
    }
    if (heap) {
      // Memory of zeros beside a node that has started before: it was there, and is not.
      out.lost_records = out.lost_records || (goes_on && heap->report.made) || heap->report.corrupt != 0 ||
                         heap->report.truncated;
      if (heap->report.corrupt != 0 || heap->report.truncated)
        out.lost.push_back("the records are damaged: " + std::to_string(heap->report.corrupt) +
                           " of them are lost" +
                           (heap->report.truncated ? ", and the end of the memory is" : ""));
      kept.heap = std::move(heap->heap);
    } else {
      kept.unsafe = "nothing can be recorded: " + heap.error();
    }
  }
  // Which ids were given out is not known then: under the same secret an old key would open what is new.
  const bool unknown = goes_on && (!kept.heap || (out.lost_records && !restart::read_floors(*kept.node)));
  if (unknown) {
    out.lost.push_back(
        "which ids were given out is not known, so this is another broker: older keys are void");
    out.locked = std::move(kept.node);
    auto own = MemoryRegion::make("hipbroker-node", restart::NodeMemory::kBytes);
    if (!own) return tl::unexpected(Exit{kExitLocal, {"the node's memory: " + own.error()}});
    auto other = restart::NodeMemory::open(std::move(*own), *fresh);
    if (!other) return tl::unexpected(Exit{kExitLocal, {"the node's memory: " + other.error()}});
    kept.node = std::move(*other);
    if (kept.unsafe.empty() && kept.heap)
      kept.unsafe = "the node's memory is damaged: remove it, and start again";
  }
  if (kept.store->available()) {
    MemoryRegion inbox = source.open(kInbox, restart::Inbox::kBytes);
    if (inbox) out.inbox = restart::Inbox(std::move(inbox));
  }
  if (kept.unsafe.empty()) kept.unsafe = source.unsafe();
  std::move(source.lines().begin(), source.lines().end(), std::back_inserter(out.lost));
  return out;
}

}  // namespace hb::app
