// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "ipc/translate_request_parts.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "wire/limits.h"

namespace hb::ipc {

tl::unexpected<EdgeError> invalid(std::string message) {
  return tl::unexpected(edge_error(HB_INVALID, std::move(message)));
}

tl::unexpected<EdgeError> too_much(const char* what, std::uint64_t used, std::uint64_t limit) {
  return tl::unexpected(over_limit(what, used, limit));
}

Result<core::Access> access_of(std::uint32_t value, const char* what) {
  if (value == 1) return core::Access::kRead;
  if (value == 3) return core::Access::kReadWrite;
  return invalid(std::string(what) + " is " + std::to_string(value) +
                 ", expected 1 (read) or 3 (read and write)");
}

Result<core::NameRef> name_of(const v1::NameRef& ref) {
  if (ref.name().size() > limits::kNameBytes)
    return too_much("name bytes", ref.name().size(), limits::kNameBytes);
  core::NameRef name{ref.name(), std::nullopt};
  if (ref.owner_case() == v1::NameRef::kUid) name.owner_uid = ref.uid();
  return name;
}

Result<core::Device> device_of(const v1::Device& device) {
  if (device.uuid().size() > limits::kDeviceUuidBytes)
    return too_much("device UUID bytes", device.uuid().size(), limits::kDeviceUuidBytes);
  if (device.pci().size() > limits::kDevicePciBytes)
    return too_much("device PCI address bytes", device.pci().size(), limits::kDevicePciBytes);
  return core::Device{device.uuid(), device.pci(), device.partition()};
}

Result<KeyBytes> key_of(const std::string& bytes, const char* what) {
  KeyBytes key{};
  if (bytes.size() != key.size()) {
    return invalid(std::string(what) + " is " + std::to_string(key.size()) + " bytes, this one has " +
                   std::to_string(bytes.size()));
  }
  std::memcpy(key.data(), bytes.data(), key.size());
  return key;
}

Result<core::Lifetime> lifetime_of(std::uint32_t value) {
  if (value <= static_cast<std::uint32_t>(core::Lifetime::kPersist))
    return static_cast<core::Lifetime>(value);
  return invalid("lifetime is " + std::to_string(value) + ", expected 0 (owner), 1 (linger) or 2 (persist)");
}

Result<core::Target> target_by_key_or_name(const v1::Target& target, const char* verb) {
  if (target.by_case() == v1::Target::kExportId) {
    return invalid(std::string(verb) + " names its export by key or by name, not by id");
  }
  if (target.by_case() == v1::Target::BY_NOT_SET) {
    return invalid(std::string(verb) + " needs the key or the name of an export");
  }
  return target_of(target);
}

Result<core::Target> target_of(const v1::Target& target) {
  switch (target.by_case()) {
    case v1::Target::kKey:
      return key_of(target.key(), "a key").map([](const KeyBytes& key) { return core::Target(key); });
    case v1::Target::kName:
      return name_of(target.name()).map([](core::NameRef name) { return core::Target(std::move(name)); });
    case v1::Target::kExportId:
      return core::Target(core::ExportId{target.export_id()});
    case v1::Target::BY_NOT_SET:
      break;
  }
  return core::Target();
}

Result<std::vector<core::NewChunk>> chunks_of(const google::protobuf::RepeatedPtrField<v1::Chunk>& chunks,
                                              std::size_t fd_count) {
  if (static_cast<std::size_t>(chunks.size()) > limits::kPageChunks) {
    return too_much("chunks of one page", static_cast<std::uint64_t>(chunks.size()), limits::kPageChunks);
  }
  std::vector<core::NewChunk> result;
  result.reserve(static_cast<std::size_t>(chunks.size()));
  std::vector<bool> used(fd_count, false);
  for (const v1::Chunk& chunk : chunks) {
    const std::string number = "chunk " + std::to_string(result.size());
    if (chunk.opaque().size() > limits::kOpaqueBytes) {
      EdgeError error = over_limit("opaque bytes of a chunk", chunk.opaque().size(), limits::kOpaqueBytes);
      error.chunk = result.size() + 1;
      return tl::unexpected(std::move(error));
    }
    core::NewChunk made;
    if (chunk.handle() > fd_count) {
      EdgeError error =
          edge_error(HB_INVALID, number + " of the page names descriptor " + std::to_string(chunk.handle()) +
                                     ", the frame carries " + std::to_string(fd_count));
      error.chunk = result.size() + 1;
      return tl::unexpected(std::move(error));
    }
    if (chunk.handle() != 0) {
      made.handle = chunk.handle() - 1;
      used[made.handle] = true;
    }
    made.offset = chunk.offset();
    made.size = chunk.size();
    made.identity = chunk.identity();
    made.object_size = chunk.object_size();
    made.opaque = chunk.opaque();
    result.push_back(std::move(made));
  }
  if (const auto unused = std::find(used.begin(), used.end(), false); unused != used.end()) {
    return invalid("descriptor " + std::to_string(unused - used.begin() + 1) + " of the frame's " +
                   std::to_string(fd_count) + " belongs to no chunk of the page");
  }
  return result;
}

}  // namespace hb::ipc
