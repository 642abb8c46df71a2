// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "integration/hip/raw_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <sstream>

namespace hb::test {
namespace {

struct Raw {
  char* at = nullptr;
  std::uint64_t bytes = 0;
  std::vector<hb_hip_handle> handles;
  std::function<bool()> give_back;
};

std::map<std::string, Raw>& raws() {
  static std::map<std::string, Raw> table;
  return table;
}

Message added(const Message& m, Raw raw) {
  Message out{{"status", HB_OK}, {"ptr", reinterpret_cast<std::uintptr_t>(raw.at)}, {"bytes", raw.bytes}};
  raws().insert_or_assign(text_of(m, "raw", "r"), std::move(raw));
  return out;
}

Message failed(const char* call, HipError code) {
  return {{"status", 1}, {"message", std::string(call) + ": " + hip().hipGetErrorName(code)}};
}

std::vector<std::uint64_t> numbers(const std::string& text) {
  std::vector<std::uint64_t> out;
  std::istringstream in(text);
  for (std::uint64_t n = 0; in >> n;) out.push_back(n);
  return out;
}

bool unmap(const Raw& raw) {
  Hip& hip = hb::test::hip();
  bool well = true;
  for (const hb_hip_handle& handle : raw.handles) {
    if (handle.base != nullptr) well &= hip.hipMemUnmap(handle.base, handle.bytes) == fh::kSuccess;
    well &= hip.hipMemRelease(handle.handle) == fh::kSuccess;
  }
  if (raw.at != nullptr) well &= hip.hipMemAddressFree(raw.at, raw.bytes) == fh::kSuccess;
  return well;
}

// Side by side, with access for the device of the first.
HipError map_all(Raw& raw, int device) {
  Hip& hip = hb::test::hip();
  raw.at = hip.reserve(raw.bytes);
  char* at = raw.at;
  for (hb_hip_handle& handle : raw.handles) {
    if (const HipError code = hip.hipMemMap(at, handle.bytes, 0, handle.handle, 0); code != fh::kSuccess)
      return code;
    handle.base = at;
    at += handle.bytes;
    const std::uint64_t whole = static_cast<std::uint64_t>(at - raw.at);
    if (const HipError code = hip.grant(raw.at, whole, {device_access(device)}); code != fh::kSuccess)
      return code;
  }
  return fh::kSuccess;
}

// hip_vmm raw= sizes="BYTES ..." [devices="ORDINAL ..."] [type=0] [map=0]
Message make_vmm(ActorState&, const Message& m) {
  Hip& hip = hb::test::hip();
  Raw raw;
  const auto devices = numbers(text_of(m, "devices", "2"));
  for (const std::uint64_t bytes : numbers(text_of(m, "sizes", "2097152"))) {
    const std::uint64_t device = devices[raw.handles.size() % devices.size()];
    static_cast<void>(hip.hipSetDevice(static_cast<int>(device)));
    raw.handles.push_back(
        {hip.create(bytes, static_cast<int>(number_of(m, "type", fh::kHandleFd)), static_cast<int>(device)),
         bytes, nullptr});
    raw.bytes += bytes;
  }
  static_cast<void>(hip.hipSetDevice(0));
  if (number_of(m, "map", 1) != 0)
    if (const HipError code = map_all(raw, static_cast<int>(devices[0])); code != fh::kSuccess)
      return failed("map", code);
  return added(m, std::move(raw));
}

// hip_import raw= handles=: descriptors acquired through the library, imported by HIP past it
Message import_raw(ActorState& state, const Message& m) {
  Hip& hip = hb::test::hip();
  Raw raw;
  const hb_handles* handles = named(state.handles, m, "handles", "h");
  static_cast<void>(hip.hipSetDevice(2));
  for (std::size_t i = 0; i < hb_handles_fd_count(handles); ++i) {
    void* handle = nullptr;
    if (const HipError code = hip.import_fd(&handle, hb_handles_fd(handles, i)); code != fh::kSuccess)
      return failed("import", code);
    raw.handles.push_back({handle, kChunk, nullptr});
    raw.bytes += kChunk;
  }
  const HipError code = map_all(raw, 2);
  static_cast<void>(hip.hipSetDevice(0));
  return code == fh::kSuccess ? added(m, std::move(raw)) : failed("map", code);
}

// hip_alloc raw= how=malloc|pool|host|register|file bytes= [device=]
Message make_other(ActorState&, const Message& m) {
  Hip& hip = hb::test::hip();
  const std::string how = text_of(m, "how", "malloc");
  Raw raw;
  raw.bytes = number_of(m, "bytes", kChunk);
  void* at = nullptr;
  static_cast<void>(hip.hipSetDevice(static_cast<int>(number_of(m, "device", 2))));
  HipError code = fh::kSuccess;
  if (how == "malloc") {
    code = hip.hipMalloc(&at, raw.bytes);
    raw.give_back = [&hip, at] { return hip.hipFree(at) == fh::kSuccess; };
  } else if (how == "pool") {
    code = hip.hipMallocAsync(&at, raw.bytes, nullptr);
    raw.give_back = [&hip, at] { return hip.hipFree(at) == fh::kSuccess; };
  } else if (how == "host") {
    code = hip.hipHostMalloc(&at, raw.bytes, 0);
    raw.give_back = [&hip, at] { return hip.hipHostFree(at) == fh::kSuccess; };
  } else {
    const bool registered = how == "register";
    at = ::mmap(nullptr, raw.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    using Register = HipError (*)(void*, std::size_t, unsigned);
    using Unregister = HipError (*)(void*);
    if (registered) code = reinterpret_cast<Register>(hip.symbol("hipHostRegister"))(at, raw.bytes, 0);
    raw.give_back = [&hip, at, registered, bytes = raw.bytes] {
      const bool well =
          !registered || reinterpret_cast<Unregister>(hip.symbol("hipHostUnregister"))(at) == fh::kSuccess;
      return ::munmap(at, bytes) == 0 && well;
    };
  }
  static_cast<void>(hip.hipSetDevice(0));
  raw.at = static_cast<char*>(at);
  return code == fh::kSuccess ? added(m, std::move(raw)) : failed(how.c_str(), code);
}

Message give_back(ActorState&, const Message& m) {
  free_raw(text_of(m, "raw", "r"));
  return {{"status", HB_OK}};
}

// hip_export raw= [index=] [close=1]: the program exports a handle itself: the descriptor's number, and its
// inode. close=1: it closes what it exported
Message export_raw(ActorState&, const Message& m) {
  static std::vector<UniqueFd> own;
  if (has(m, "close")) {
    own.clear();
    return {{"status", HB_OK}};
  }
  const Raw& raw = named(raws(), m, "raw", "r");
  const int number = hip().export_fd(raw.handles.at(number_of(m, "index")).handle);
  const auto same = [number](const UniqueFd& fd) { return fd.get() == number; };
  if (std::none_of(own.begin(), own.end(), same)) own.emplace_back(number);
  struct stat st {};
  static_cast<void>(::fstat(number, &st));
  return {{"status", HB_OK}, {"number", number}, {"inode", st.st_ino}};
}

}  // namespace

Bytes raw_bytes(const Message& m) {
  const Raw& raw = named(raws(), m, "raw", "r");
  const std::uint64_t offset = number_of(m, "offset");
  return {reinterpret_cast<unsigned char*>(raw.at) + offset, number_of(m, "bytes", raw.bytes - offset)};
}

const std::vector<hb_hip_handle>& raw_handles(const Message& m) {
  return named(raws(), m, "raw", "r").handles;
}

void free_raw(const std::string& name) {
  const auto found = raws().find(name);
  if (found == raws().end()) throw std::runtime_error("no raw \"" + name + "\" here");
  const Raw raw = std::move(found->second);
  raws().erase(found);
  if (!(raw.give_back ? raw.give_back() : unmap(raw))) throw std::runtime_error(name + " was not given back");
}

void add_raw_verbs(VerbTable& table) {
  table["hip_vmm"] = make_vmm;
  table["hip_import"] = import_raw;
  table["hip_alloc"] = make_other;
  table["hip_free"] = give_back;
  table["hip_export"] = export_raw;
}

}  // namespace hb::test
