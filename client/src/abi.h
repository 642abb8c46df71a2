// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The boundary of the C ABI: no exception passes it, every failure ends in a status and a filled hb_error,
// structs of older callers are understood and structs of newer ones refused where they ask for something
// this library does not know.
#pragma once

#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>

#include "client.h"
#include "device_record.h"
#include "error.h"
#include "hipbroker/hipbroker.h"
#include "library_scope.h"
#include "providers/placement.h"

struct hb_client {
  std::shared_ptr<hb::client::Client> client;
};

namespace hb::client {

// Fills as much of the caller's struct as it has room for. Allocates nothing.
void show_error(const Error& error, hb_error* out) noexcept;
hb_status report(Error error, hb_error* out, Client* client) noexcept;
hb_status report(hb_status status, const char* message, hb_error* out, Client* client) noexcept;

// Runs `body`, a Result<void>; counts a refusal for `client` (may be null).
template <class Body>
hb_status boundary(Client* client, hb_error* error, Body&& body) noexcept {
  const LibraryScope inside;
  try {
    Result<void> result = body();
    if (result) return HB_OK;
    return report(std::move(result.error()), error, client);
  } catch (const std::bad_alloc&) {
    return report(HB_NO_MEMORY, "this process is out of memory", error, client);
  } catch (const std::length_error&) {
    return report(HB_NO_MEMORY, "a count is larger than any memory", error, client);
  } catch (const std::exception& thrown) {
    return report(HB_INTERNAL, thrown.what(), error, client);
  }
}

// The same for calls of a client, which must exist and belong to this process.
template <class Body>
hb_status client_boundary(const hb_client* handle, hb_error* error, Body&& body) noexcept {
  if (handle == nullptr) return report(HB_INVALID, "client is NULL", error, nullptr);
  Client* const client = handle->client.get();
  if (!client->is_here())
    return report(HB_FORKED, "the client belongs to the parent process; open a new one here", error, nullptr);
  return boundary(client, error, std::forward<Body>(body));
}

[[nodiscard]] inline tl::unexpected<Error> null_argument(const char* name) {
  return fail(HB_INVALID, std::string(name) + " is NULL");
}

// Options of a caller that may be older (shorter: the rest has its default) or newer (longer: what this
// library does not know must be zero, which is every later member's default).
template <class Options>
[[nodiscard]] Result<Options> read_options(const Options* given, const Options& defaults, const char* type) {
  Options options = defaults;
  if (given == nullptr) return options;
  const std::size_t size = given->size;
  constexpr std::size_t kOwn = sizeof(Options);
  if (size < sizeof(std::size_t) || size > 4096)
    return fail(HB_INVALID,
                std::string(type) + ".size is " + std::to_string(size) + "; start from its _INIT");
  std::memcpy(&options, given, size < kOwn ? size : kOwn);
  options.size = kOwn;
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (std::size_t i = kOwn; i < size; ++i)
    if (bytes[i] != 0)
      return fail(HB_UNSUPPORTED, std::string(type) + " sets a member that this library (" HIPBROKER_VERSION
                                                      ") does not have");
  return options;
}

// Results likewise: as much as the caller has room for. A caller's longer struct gets zeros at the end.
template <class Info>
void write_info(Info value, Info* out) noexcept {
  const std::size_t size = out->size;
  if (size < sizeof(std::size_t) || size > 65536) return;
  value.size = size;
  std::memcpy(out, &value, size < sizeof value ? size : sizeof value);
  if (size > sizeof value)
    std::memset(reinterpret_cast<unsigned char*>(out) + sizeof value, 0, size - sizeof value);
}
template <class Info>
[[nodiscard]] Result<void> check_info(const Info* out, const char* name) {
  if (out == nullptr) return null_argument(name);
  if (out->size < sizeof(std::size_t) || out->size > 65536)
    return fail(HB_INVALID,
                std::string(name) + "->size is " + std::to_string(out->size) + "; start from its _INIT");
  return {};
}

// Cuts at the end of the buffer, always terminated.
template <std::size_t kSize>
void copy_text(std::string_view text, char (&out)[kSize]) noexcept {
  const std::size_t n = text.size() < kSize - 1 ? text.size() : kSize - 1;
  if (n != 0) std::memcpy(out, text.data(), n);  // an empty view may have no data to point at
  std::memset(out + n, 0, kSize - n);
}

// GPUs in. HB_EXPORTER_PEERS is for imports.
enum class PeersOf : std::uint8_t { kMemory, kImport };
[[nodiscard]] Result<DeviceSet> read_devices(const std::int32_t* ordinals, std::size_t count, PeersOf of);
[[nodiscard]] Result<HostAccess> read_host_access(std::uint32_t host_access);
[[nodiscard]] Result<DeviceId> read_device_id(const hb_device_id* id);

[[nodiscard]] inline std::optional<std::uint32_t> owner_of(std::uint32_t owner_uid) {
  if (owner_uid == HB_OWN_UID) return std::nullopt;
  return owner_uid;
}

// A name from the caller: HB_INVALID with the reason.
[[nodiscard]] Result<std::string> read_name(const char* name);

}  // namespace hb::client
