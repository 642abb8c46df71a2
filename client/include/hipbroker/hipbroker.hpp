// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// C++17 over the C ABI of hipbroker.h: owners that cannot be copied, failures as exceptions. Header-only:
// nothing of C++ crosses the library's boundary.
//
// A moved-from object holds nothing; only destruction and assignment are allowed then. Destruction never
// throws and never waits for the daemon.
#ifndef HIPBROKER_HIPBROKER_HPP
#define HIPBROKER_HIPBROKER_HPP

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hipbroker/hipbroker.h"

namespace hipbroker {

// What a failed call tells. what() is the sentence; the rest are the fields of hb_error.
class Error : public std::runtime_error {
 public:
  explicit Error(const hb_error& error)
      : std::runtime_error(std::string(hb_status_name(error.status)) + ": " + error.message), error_(error) {}

  hb_status status() const noexcept { return error_.status; }
  int sys_errno() const noexcept { return error_.sys_errno; }
  std::uint64_t used() const noexcept { return error_.used; }
  std::uint64_t limit() const noexcept { return error_.limit; }
  // -1: no chunk is concerned.
  std::int64_t chunk() const noexcept { return error_.chunk; }
  std::string_view operation() const noexcept { return error_.operation; }
  std::string_view limited() const noexcept { return error_.what; }
  std::string_view who() const noexcept { return error_.who; }
  std::string_view message() const noexcept { return error_.message; }

 private:
  hb_error error_;
};

namespace detail {

// Calls `function(arguments..., &error)` and throws what it reports.
template <class Function, class... Arguments>
void call(Function&& function, Arguments&&... arguments) {
  hb_error error = HB_ERROR_INIT;
  const hb_status status = function(std::forward<Arguments>(arguments)..., &error);
  if (status == HB_OK) return;
  error.status = status;
  throw Error(error);
}

// The one owner of a C handle.
template <class Handle, void (*kDestroy)(Handle*)>
class Owner {
 public:
  Owner() noexcept = default;
  explicit Owner(Handle* handle) noexcept : handle_(handle) {}
  Owner(Owner&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owner& operator=(Owner&& other) noexcept {
    if (this != &other) reset(std::exchange(other.handle_, nullptr));
    return *this;
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() { reset(nullptr); }

  Handle* get() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != nullptr; }
  void disown() noexcept { handle_ = nullptr; }

 private:
  void reset(Handle* handle) noexcept {
    Handle* const old = std::exchange(handle_, handle);
    if (old != nullptr) kDestroy(old);
  }
  Handle* handle_ = nullptr;
};

}  // namespace detail

// How long a call may wait for the daemon. Converts from any duration: hb.ping(std::chrono::seconds(2)).
class Deadline {
 public:
  // Default: no end.
  constexpr Deadline() noexcept = default;
  template <class Rep, class Period>
  Deadline(std::chrono::duration<Rep, Period> in) {  // NOLINT: implicit is the point
    if (in <= std::chrono::duration<Rep, Period>::zero()) {
      ns_ = 0;
    } else {
      // By seconds first: hours::max() in nanoseconds overflows.
      const auto seconds = std::chrono::duration_cast<std::chrono::duration<double>>(in).count();
      ns_ = seconds > 9.0e9 ? HB_NO_DEADLINE
                            : hb_deadline_in(static_cast<std::uint64_t>(
                                  std::chrono::duration_cast<std::chrono::nanoseconds>(in).count()));
    }
  }
  // steady_clock is CLOCK_MONOTONIC.
  Deadline(std::chrono::steady_clock::time_point at) {  // NOLINT: as above
    const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count();
    ns_ = since < 0 ? 0 : static_cast<std::uint64_t>(since);
  }
  static constexpr Deadline never() noexcept { return Deadline(); }
  static Deadline no_wait() noexcept {
    Deadline deadline;
    deadline.ns_ = 0;
    return deadline;
  }
  constexpr std::uint64_t ns() const noexcept { return ns_; }

 private:
  std::uint64_t ns_ = HB_NO_DEADLINE;
};

enum class Access : std::uint32_t { kRead = HB_ACCESS_READ, kReadWrite = HB_ACCESS_READ_WRITE };

class Key {
 public:
  Key() = default;
  explicit Key(const hb_key& key) : key_(key) {}
  static Key from_bytes(const std::array<std::uint8_t, HB_KEY_BYTES>& bytes) {
    Key key;
    std::memcpy(key.key_.bytes, bytes.data(), bytes.size());
    return key;
  }
  static Key from_text(const std::string& text) {
    Key key;
    detail::call(hb_key_from_text, text.c_str(), &key.key_);
    return key;
  }
  std::array<std::uint8_t, HB_KEY_BYTES> bytes() const {
    std::array<std::uint8_t, HB_KEY_BYTES> bytes{};
    std::memcpy(bytes.data(), key_.bytes, bytes.size());
    return bytes;
  }
  std::string text() const {
    char text[HB_KEY_TEXT_BYTES];
    hb_key_to_text(&key_, text);
    return text;
  }
  // No I/O; nothing is verified.
  hb_key_info inspect() const {
    hb_key_info info = HB_KEY_INFO_INIT;
    detail::call(hb_key_inspect, &key_, &info);
    return info;
  }
  const hb_key* get() const noexcept { return &key_; }
  friend bool operator==(const Key& a, const Key& b) noexcept {
    return std::memcmp(a.key_.bytes, b.key_.bytes, HB_KEY_BYTES) == 0;
  }
  friend bool operator!=(const Key& a, const Key& b) noexcept { return !(a == b); }

 private:
  hb_key key_{};
};

// Memory that can be exported.
class Memory {
 public:
  Memory() = default;
  explicit Memory(hb_memory* memory) noexcept : memory_(memory) {}
  void* data() const noexcept { return hb_memory_ptr(memory_.get()); }
  std::uint64_t size() const noexcept { return hb_memory_bytes(memory_.get()); }
  std::uint64_t chunks() const noexcept { return hb_memory_chunks(memory_.get()); }
  hb_memory_info info() const noexcept {
    hb_memory_info info = HB_MEMORY_INFO_INIT;
    hb_memory_get_info(memory_.get(), &info);
    return info;
  }
  // In place, up to info().reserved_bytes.
  void grow(std::uint64_t bytes) { detail::call(hb_memory_grow, memory_.get(), bytes); }
  // Gives the memory back; wake() brings other memory to the same address.
  void sleep() { detail::call(hb_memory_sleep, memory_.get()); }
  void wake() { detail::call(hb_memory_wake, memory_.get()); }
  // Freed by a later call, once the event (a hipEvent_t) is done; empty afterwards.
  void free_when(void* event) {
    detail::call(hb_free_when, memory_.get(), event);
    memory_.disown();
  }
  hb_memory* get() const noexcept { return memory_.get(); }
  explicit operator bool() const noexcept { return static_cast<bool>(memory_); }

 private:
  detail::Owner<hb_memory, hb_memory_free> memory_;
};

// Memory that becomes part of an export. What it names is borrowed for the length of a call.
struct Source : hb_source {
  Source() : hb_source HB_SOURCE_INIT {}
  Source(const void* from, std::uint64_t count) : Source() {
    ptr = from;
    bytes = count;
  }
  Source(const Memory& whole) : Source(whole.data(), whole.size()) {}  // NOLINT: implicit is the point
  explicit Source(const std::vector<hb_chunk>& descriptors) : Source() {
    chunks = descriptors.data();
    chunk_count = descriptors.size();
  }
  explicit Source(const std::vector<hb_hip_handle>& allocations) : Source() {
    handles = allocations.data();
    handle_count = allocations.size();
  }
};

// Who has acknowledged a step, and who has not.
class Acks {
 public:
  Acks() = default;
  explicit Acks(hb_acks* acks) noexcept : acks_(acks) {}
  hb_acks_info info() const noexcept {
    hb_acks_info info = HB_ACKS_INFO_INIT;
    hb_acks_get_info(acks_.get(), &info);
    return info;
  }
  bool complete() const noexcept {
    const hb_acks_info now = info();
    return now.missing_count == 0 && now.left_count == 0;
  }
  hb_acks* get() const noexcept { return acks_.get(); }

 private:
  detail::Owner<hb_acks, hb_acks_destroy> acks_;
};

struct TicketOptions {
  std::uint64_t offset = 0;
  std::uint64_t bytes = HB_WHOLE;
  Access access = Access::kRead;
  std::chrono::nanoseconds lasts = std::chrono::minutes(1);
  Deadline deadline;
};

// Destroying it ends nothing: an export lives until it is withdrawn or its client is closed.
class Export {
 public:
  Export() = default;
  explicit Export(hb_export* exported) noexcept : export_(exported) {}
  hb_export_info info() const noexcept {
    hb_export_info info = HB_EXPORT_INFO_INIT;
    hb_export_get_info(export_.get(), &info);
    return info;
  }
  Key key() const { return Key(info().key); }
  Key subkey(std::uint64_t offset, std::uint64_t bytes) const {
    hb_key key;
    detail::call(hb_export_subkey, export_.get(), offset, bytes, &key);
    return Key(key);
  }
  hb_withdrawn withdraw(Deadline deadline = {}) {
    hb_withdrawn withdrawn = HB_WITHDRAWN_INIT;
    detail::call(hb_export_withdraw, export_.get(), deadline.ns(), &withdrawn);
    return withdrawn;
  }
  void append(const Source& source, Deadline deadline = {}) {
    detail::call(hb_export_append, export_.get(), &source, deadline.ns());
  }
  void replace(std::uint64_t first_chunk, const Source& source, Deadline deadline = {}) {
    detail::call(hb_export_replace, export_.get(), first_chunk, &source, deadline.ns());
  }
  // Waits so long for the holders to unmap; `holders` of the result says how many have not.
  hb_suspended suspend(std::chrono::nanoseconds wait = {}, Deadline deadline = {}) {
    hb_suspended suspended = HB_SUSPENDED_INIT;
    const auto ns = wait.count() < 0 ? 0 : static_cast<std::uint64_t>(wait.count());
    detail::call(hb_export_suspend, export_.get(), ns, deadline.ns(), &suspended, nullptr);
    return suspended;
  }
  void resume(const Source& source, Deadline deadline = {}) {
    detail::call(hb_export_resume, export_.get(), &source, deadline.ns());
  }
  // A key that pins, once.
  Key ticket(const TicketOptions& options = {}) {
    hb_key key;
    detail::call(hb_export_ticket, export_.get(), options.offset, options.bytes,
                 static_cast<std::uint32_t>(options.access),
                 static_cast<std::uint64_t>(options.lasts.count()), options.deadline.ns(), &key);
    return Key(key);
  }
  void publish(std::uint64_t step, Deadline deadline = {}) {
    detail::call(hb_export_publish, export_.get(), step, deadline.ns());
  }
  // Returns at the deadline, too: then it names who is missing.
  Acks wait_acks(std::uint64_t step, Deadline deadline = {}) {
    hb_acks* acks = nullptr;
    detail::call(hb_export_wait_acks, export_.get(), step, deadline.ns(), &acks);
    return Acks(acks);
  }
  hb_export* get() const noexcept { return export_.get(); }
  explicit operator bool() const noexcept { return static_cast<bool>(export_); }

 private:
  detail::Owner<hb_export, hb_export_destroy> export_;
};

// A mapping of what another process exported. Sharing gives no ordering: synchronise by other means.
class Import {
 public:
  Import() = default;
  explicit Import(hb_import* imported) noexcept : import_(imported) {}
  hb_import_info info() const noexcept {
    hb_import_info info = HB_IMPORT_INFO_INIT;
    hb_import_get_info(import_.get(), &info);
    return info;
  }
  void* data() const noexcept { return info().ptr; }
  std::uint64_t size() const noexcept { return info().bytes; }
  std::string_view metadata() const noexcept {
    const hb_import_info now = info();
    return {static_cast<const char*>(now.metadata), now.metadata_bytes};
  }
  // A read of shared memory. False once withdrawn, revoked, suspended, replaced, or the session was lost.
  bool is_current() const noexcept { return hb_import_is_current(import_.get()) != 0; }
  Key subkey(std::uint64_t offset, std::uint64_t bytes) const {
    hb_key key;
    detail::call(hb_import_subkey, import_.get(), offset, bytes, &key);
    return Key(key);
  }
  // To the present layout, in place. Alters what size() says, never data().
  hb_refreshed refresh(Deadline deadline = {}) {
    hb_refreshed refreshed = HB_REFRESHED_INIT;
    detail::call(hb_import_refresh, import_.get(), deadline.ns(), &refreshed);
    return refreshed;
  }
  // Gives way to a sleep of the export, until refresh().
  void unmap() { detail::call(hb_import_unmap, import_.get()); }
  // Of what it maps.
  Key ticket(const TicketOptions& options = {}) {
    hb_key key;
    detail::call(hb_import_ticket, import_.get(), options.offset, options.bytes,
                 static_cast<std::uint32_t>(options.access),
                 static_cast<std::uint64_t>(options.lasts.count()), options.deadline.ns(), &key);
    return Key(key);
  }
  // The step that is published then, `step` or a later one.
  std::uint64_t wait_step(std::uint64_t step, Deadline deadline = {}) {
    std::uint64_t reached = 0;
    detail::call(hb_import_wait_step, import_.get(), step, deadline.ns(), &reached);
    return reached;
  }
  void ack_step(std::uint64_t step) { detail::call(hb_import_ack_step, import_.get(), step); }
  // Unmapped by a later call, once the event (a hipEvent_t) is done; empty afterwards.
  void unmap_when(void* event) {
    detail::call(hb_unmap_when, import_.get(), event);
    import_.disown();
  }
  hb_import* get() const noexcept { return import_.get(); }
  explicit operator bool() const noexcept { return static_cast<bool>(import_); }

 private:
  detail::Owner<hb_import, hb_import_close> import_;
};

// Descriptors without a mapping.
class Handles {
 public:
  Handles() = default;
  explicit Handles(hb_handles* handles) noexcept : handles_(handles) {}
  hb_import_info info() const noexcept {
    hb_import_info info = HB_IMPORT_INFO_INIT;
    hb_handles_get_info(handles_.get(), &info);
    return info;
  }
  std::size_t chunk_count() const noexcept { return hb_handles_chunk_count(handles_.get()); }
  const hb_handle_chunk* chunks() const noexcept { return hb_handles_chunks(handles_.get()); }
  std::size_t fd_count() const noexcept { return hb_handles_fd_count(handles_.get()); }
  int borrow_fd(std::size_t index) const noexcept { return hb_handles_fd(handles_.get(), index); }
  // Yours to close. -1 when taken or out of range.
  int take_fd(std::size_t index) noexcept { return hb_handles_take_fd(handles_.get(), index); }
  hb_handles* get() const noexcept { return handles_.get(); }
  explicit operator bool() const noexcept { return static_cast<bool>(handles_); }

 private:
  detail::Owner<hb_handles, hb_handles_release> handles_;
};

// A set of GPUs by their ordinals in this process.
class Devices {
 public:
  Devices() = default;
  Devices(std::initializer_list<std::int32_t> ordinals) : ordinals_(ordinals) {}
  explicit Devices(std::vector<std::int32_t> ordinals) : ordinals_(std::move(ordinals)) {}
  // Every visible one that can reach the memory.
  static Devices all_visible() {
    Devices devices;
    devices.special_ = HB_ALL_VISIBLE;
    return devices;
  }
  // Of an import: those that the exporter let in, as far as they are visible here.
  static Devices exporters() {
    Devices devices;
    devices.special_ = HB_EXPORTER_PEERS;
    return devices;
  }
  const std::int32_t* data() const noexcept { return ordinals_.data(); }
  std::size_t count() const noexcept { return special_ != 0 ? special_ : ordinals_.size(); }

 private:
  std::vector<std::int32_t> ordinals_;
  std::size_t special_ = 0;
};

enum class HostAccess : std::uint32_t {
  kNone = HB_HOST_NONE,
  kPrefer = HB_HOST_PREFER,
  kRequire = HB_HOST_REQUIRE
};

struct GpuOptions {
  std::uint64_t chunk_bytes = 0;  // 0 = one chunk
  std::int32_t device = 0;        // ordinal in this process, or HB_DEVICE_CURRENT
  std::optional<hb_device_id> device_id;
  Devices peers;
  HostAccess host_access = HostAccess::kNone;
  std::uint64_t reserve_bytes = 0;  // how large it may grow
};

// Gives back what waited for an event that is done; how many still wait.
inline std::uint64_t reap() {
  std::uint64_t waiting = 0;
  detail::call(hb_reap, &waiting);
  return waiting;
}

// What is known of this process's HIP runtime for memory on one GPU.
inline hb_hip_report hip_probe(std::int32_t device = 0) {
  hb_hip_report report{};
  report.size = sizeof report;
  detail::call(hb_hip_probe, device, &report);
  return report;
}

// What the memory at an address is.
inline hb_pointer_info classify(const void* ptr) {
  hb_pointer_info info = HB_POINTER_INFO_INIT;
  detail::call(hb_classify, ptr, &info);
  return info;
}

// Before memory is unmapped or freed: ends every export over it.
inline hb_withdrawn range_gone(const void* ptr, std::uint64_t bytes) {
  hb_withdrawn withdrawn = HB_WITHDRAWN_INIT;
  detail::call(hb_range_gone, ptr, bytes, &withdrawn);
  return withdrawn;
}

struct ExportOptions {
  std::string name;  // "" = anonymous
  std::string metadata;
  std::vector<hb_acl_entry> acl;
  std::uint32_t max_access = 0;              // 0 = all that the descriptors allow
  std::uint64_t max_bytes = 0;               // it may grow to so many; 0 = it cannot
  std::optional<hb_device_id> device;        // of descriptors and handles: the GPU they are on
  std::uint32_t memory = HB_MEMORY_UNKNOWN;  // of a pointer: what you vouch for
  std::uint32_t lifetime = HB_LIFETIME_OWNER;
  std::chrono::nanoseconds linger{0};  // with HB_LIFETIME_LINGER
  bool replace = false;                // what has the name now ends in the same moment
  Deadline deadline;
};

struct ClaimOptions {
  std::uint32_t lifetime = HB_LIFETIME_OWNER;
  std::chrono::nanoseconds linger{0};
  Deadline deadline;
};

struct ImportOptions {
  std::uint32_t owner_uid = HB_OWN_UID;
  Access access = Access::kRead;
  std::uint64_t offset = 0;
  std::uint64_t bytes = HB_WHOLE;
  void* address = nullptr;
  std::uint32_t demand_level = HB_LEVEL_ANY;
  bool alias = false;
  bool wait = false;  // for the name
  Devices peers;      // of this process, besides the owner's GPU
  HostAccess host_access = HostAccess::kNone;
  bool external = false;            // HB_MAP_EXTERNAL
  std::uint64_t reserve_bytes = 0;  // 0 = what the export may grow to
  Deadline deadline;
};

class Client {
 public:
  // Search order of hb_client_options.
  Client() : Client(hb_client_options HB_CLIENT_OPTIONS_INIT) {}
  explicit Client(const std::string& socket, Deadline deadline = {})
      : Client(options_for(socket.c_str(), deadline)) {}
  explicit Client(const hb_client_options& options) {
    hb_client* client = nullptr;
    detail::call(hb_client_open, &options, &client);
    client_ = detail::Owner<hb_client, hb_client_close>(client);
  }

  hb_client_info info() const {
    hb_client_info info = HB_CLIENT_INFO_INIT;
    detail::call(hb_client_get_info, client_.get(), &info);
    return info;
  }
  std::chrono::nanoseconds ping(Deadline deadline = {}) const {
    std::uint64_t uptime = 0;
    detail::call(hb_ping, client_.get(), deadline.ns(), &uptime);
    return std::chrono::nanoseconds(uptime);
  }
  hb_stats stats() const noexcept {
    hb_stats stats{};
    stats.size = sizeof stats;
    hb_client_get_stats(client_.get(), &stats);
    return stats;
  }

  Memory allocate(std::uint64_t bytes, std::uint64_t chunk_bytes = 0, bool sealed = false,
                  std::uint64_t reserve_bytes = 0) const {
    hb_memory_options options = HB_MEMORY_OPTIONS_INIT;
    options.reserve_bytes = reserve_bytes;
    options.bytes = bytes;
    options.chunk_bytes = chunk_bytes;
    options.sealed = sealed ? 1 : 0;
    hb_memory* memory = nullptr;
    detail::call(hb_memory_alloc, client_.get(), &options, &memory);
    return Memory(memory);
  }

  Memory allocate_gpu(std::uint64_t bytes, const GpuOptions& gpu = {}) const {
    hb_memory_options options = HB_MEMORY_OPTIONS_INIT;
    options.provider = HB_PROVIDER_HIP;
    options.bytes = bytes;
    options.chunk_bytes = gpu.chunk_bytes;
    options.reserve_bytes = gpu.reserve_bytes;
    options.device = gpu.device;
    options.device_id = gpu.device_id ? &*gpu.device_id : nullptr;
    options.peers = gpu.peers.data();
    options.peer_count = gpu.peers.count();
    options.host_access = static_cast<std::uint32_t>(gpu.host_access);
    hb_memory* memory = nullptr;
    detail::call(hb_memory_alloc, client_.get(), &options, &memory);
    return Memory(memory);
  }

  Export export_memory(const void* ptr, std::uint64_t bytes, const ExportOptions& options = {}) const {
    hb_export_options given = given_options(options);
    given.ptr = ptr;
    given.bytes = bytes;
    return create_export(given);
  }
  Export export_memory(const Memory& memory, const ExportOptions& options = {}) const {
    return export_memory(memory.data(), memory.size(), options);
  }
  // Descriptors are borrowed for the length of the call.
  Export export_chunks(const std::vector<hb_chunk>& chunks, const ExportOptions& options = {}) const {
    hb_export_options given = given_options(options);
    given.chunks = chunks.data();
    given.chunk_count = chunks.size();
    return create_export(given);
  }

  // Allocations of hipMemCreate. Borrowed for the length of the call.
  Export export_handles(const std::vector<hb_hip_handle>& handles, const ExportOptions& options = {}) const {
    hb_export_options given = given_options(options);
    given.handles = handles.data();
    given.handle_count = handles.size();
    return create_export(given);
  }

  Import import(const Key& key, const ImportOptions& options = {}) const {
    return open_import(given_options(key.get(), nullptr, options));
  }
  Import import(const std::string& name, const ImportOptions& options = {}) const {
    return open_import(given_options(nullptr, name.c_str(), options));
  }
  Handles acquire(const Key& key, const ImportOptions& options = {}) const {
    return open_handles(given_options(key.get(), nullptr, options));
  }
  Handles acquire(const std::string& name, const ImportOptions& options = {}) const {
    return open_handles(given_options(nullptr, name.c_str(), options));
  }
  void wait_for(const std::string& name, Deadline deadline = {}, std::uint32_t owner_uid = HB_OWN_UID) const {
    detail::call(hb_wait_name, client_.get(), name.c_str(), owner_uid, deadline.ns());
  }

  // An export whose owner has gone becomes this client's own, without memory here.
  Export claim(const std::string& name, const ClaimOptions& options = {}) const {
    return claim(nullptr, name.c_str(), options);
  }
  Export claim(const Key& key, const ClaimOptions& options = {}) const {
    return claim(key.get(), nullptr, options);
  }
  void drop_ticket(const Key& ticket, Deadline deadline = {}) const {
    detail::call(hb_ticket_drop, client_.get(), ticket.get(), deadline.ns());
  }

  hb_withdrawn withdraw(std::uint64_t export_id, Deadline deadline = {}) const {
    hb_withdrawn withdrawn = HB_WITHDRAWN_INIT;
    detail::call(hb_withdraw_id, client_.get(), export_id, deadline.ns(), &withdrawn);
    return withdrawn;
  }
  // Every export of this client over any byte of the range.
  hb_withdrawn withdraw(const void* ptr, std::uint64_t bytes, Deadline deadline = {}) const {
    hb_withdrawn withdrawn = HB_WITHDRAWN_INIT;
    detail::call(hb_withdraw_range, client_.get(), ptr, bytes, deadline.ns(), &withdrawn);
    return withdrawn;
  }
  hb_withdrawn withdraw_all(Deadline deadline = {}) const {
    hb_withdrawn withdrawn = HB_WITHDRAWN_INIT;
    detail::call(hb_withdraw_all, client_.get(), deadline.ns(), &withdrawn);
    return withdrawn;
  }

  hb_client* get() const noexcept { return client_.get(); }

 private:
  static hb_client_options options_for(const char* socket, Deadline deadline) {
    hb_client_options options = HB_CLIENT_OPTIONS_INIT;
    options.socket = socket;
    options.deadline_ns = deadline.ns();
    return options;
  }
  static hb_export_options given_options(const ExportOptions& options) {
    hb_export_options given = HB_EXPORT_OPTIONS_INIT;
    given.name = options.name.empty() ? nullptr : options.name.c_str();
    given.metadata = options.metadata.data();
    given.metadata_bytes = options.metadata.size();
    given.acl = options.acl.data();
    given.acl_count = options.acl.size();
    given.max_access = options.max_access;
    given.max_bytes = options.max_bytes;
    given.device = options.device ? &*options.device : nullptr;
    given.memory = options.memory;
    given.lifetime = options.lifetime;
    given.linger_ns = static_cast<std::uint64_t>(options.linger.count());
    given.replace = options.replace ? 1 : 0;
    given.deadline_ns = options.deadline.ns();
    return given;
  }
  Export claim(const hb_key* key, const char* name, const ClaimOptions& options) const {
    hb_claim_options given = HB_CLAIM_OPTIONS_INIT;
    given.key = key;
    given.name = name;
    given.lifetime = options.lifetime;
    given.linger_ns = static_cast<std::uint64_t>(options.linger.count());
    given.deadline_ns = options.deadline.ns();
    hb_export* exported = nullptr;
    detail::call(hb_claim, client_.get(), &given, &exported);
    return Export(exported);
  }
  static hb_import_options given_options(const hb_key* key, const char* name, const ImportOptions& options) {
    hb_import_options given = HB_IMPORT_OPTIONS_INIT;
    given.key = key;
    given.name = name;
    given.owner_uid = options.owner_uid;
    given.access = static_cast<std::uint32_t>(options.access);
    given.offset = options.offset;
    given.bytes = options.bytes;
    given.address = options.address;
    given.demand_level = options.demand_level;
    given.alias = options.alias ? 1 : 0;
    given.wait = options.wait ? 1 : 0;
    given.peers = options.peers.data();
    given.peer_count = options.peers.count();
    given.host_access = static_cast<std::uint32_t>(options.host_access);
    given.mapping = options.external ? HB_MAP_EXTERNAL : HB_MAP_VMM;
    given.reserve_bytes = options.reserve_bytes;
    given.deadline_ns = options.deadline.ns();
    return given;
  }
  Export create_export(const hb_export_options& options) const {
    hb_export* exported = nullptr;
    detail::call(hb_export_create, client_.get(), &options, &exported);
    return Export(exported);
  }
  Import open_import(const hb_import_options& options) const {
    hb_import* imported = nullptr;
    detail::call(hb_import_open, client_.get(), &options, &imported);
    return Import(imported);
  }
  Handles open_handles(const hb_import_options& options) const {
    hb_handles* handles = nullptr;
    detail::call(hb_handles_acquire, client_.get(), &options, &handles);
    return Handles(handles);
  }

  detail::Owner<hb_client, hb_client_close> client_;
};

}  // namespace hipbroker

#include "hipbroker/group.hpp"

#endif
