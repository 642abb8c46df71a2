// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A program with a protobuf of its own, as PyTorch is one, that loads the library beside it: both work, in
// turns, and neither sees the other's symbols. Arguments: the library, a daemon's socket.
#include <dlfcn.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/struct.pb.h>

#include <cstdio>
#include <string>

#include "hipbroker/hipbroker.h"

namespace {

bool protobuf_works() {
  google::protobuf::Struct value;
  (*value.mutable_fields())["answer"].set_number_value(42);
  google::protobuf::Struct back;
  if (!back.ParseFromString(value.SerializeAsString())) return false;
  return back.fields().at("answer").number_value() == 42 &&
         back.GetDescriptor()->full_name() == "google.protobuf.Struct";
}

template <class Function>
Function* symbol(void* library, const char* name, Function*) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}
#define HB_LOAD(name) auto* const name##_ = symbol(library, #name, &name)

int failed(const char* step, const hb_error& error) {
  std::fprintf(stderr, "%s: %d %s\n", step, error.status, error.message);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || !protobuf_works()) return 10;
  void* const library = ::dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return 11;
  }
  HB_LOAD(hb_client_open);
  HB_LOAD(hb_memory_alloc);
  HB_LOAD(hb_memory_ptr);
  HB_LOAD(hb_export_create);
  HB_LOAD(hb_import_open);
  HB_LOAD(hb_import_get_info);
  HB_LOAD(hb_import_close);
  HB_LOAD(hb_export_destroy);
  HB_LOAD(hb_memory_free);
  HB_LOAD(hb_client_close);

  hb_error error = HB_ERROR_INIT;
  hb_client_options client_options = HB_CLIENT_OPTIONS_INIT;
  client_options.socket = argv[2];
  hb_client* client = nullptr;
  if (hb_client_open_(&client_options, &client, &error) != HB_OK) return failed("open", error);
  for (int round = 0; round < 10; ++round) {
    hb_memory_options memory_options = HB_MEMORY_OPTIONS_INIT;
    memory_options.bytes = 1 << 20;
    hb_memory* memory = nullptr;
    if (hb_memory_alloc_(client, &memory_options, &memory, &error) != HB_OK) return failed("alloc", error);
    static_cast<char*>(hb_memory_ptr_(memory))[5] = static_cast<char>(round);
    hb_export_options export_options = HB_EXPORT_OPTIONS_INIT;
    const std::string name = "beside/" + std::to_string(round);
    export_options.name = name.c_str();
    export_options.ptr = hb_memory_ptr_(memory);
    export_options.bytes = memory_options.bytes;
    hb_export* exported = nullptr;
    if (hb_export_create_(client, &export_options, &exported, &error) != HB_OK)
      return failed("export", error);
    if (!protobuf_works()) return 12;
    hb_import_options import_options = HB_IMPORT_OPTIONS_INIT;
    import_options.name = name.c_str();
    hb_import* imported = nullptr;
    if (hb_import_open_(client, &import_options, &imported, &error) != HB_OK) return failed("import", error);
    hb_import_info info = HB_IMPORT_INFO_INIT;
    hb_import_get_info_(imported, &info);
    if (static_cast<const char*>(info.ptr)[5] != round) return 13;
    hb_import_close_(imported);
    hb_export_destroy_(exported);
    hb_memory_free_(memory);
  }
  hb_client_close_(client);
  // Exceptions of both sides' runtimes, each with its own unwinder.
  try {
    throw 1;
  } catch (int) {
  }
  client_options.trusted_uids = reinterpret_cast<const uint32_t*>(argv);
  client_options.trusted_uid_count = std::size_t{1} << 60;
  if (hb_client_open_(&client_options, &client, &error) != HB_NO_MEMORY) return failed("exception", error);
  return protobuf_works() && ::dlclose(library) == 0 ? 0 : 14;
}
