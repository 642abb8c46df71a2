// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/loaded_objects.h"

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>

namespace hb::client::hip {
namespace {

std::uint32_t gnu_hash(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

// The dynamic symbol table of one object.
class Symbols {
 public:
  explicit Symbols(const dl_phdr_info& info) : base_(info.dlpi_addr) {
    for (int i = 0; i < info.dlpi_phnum; ++i)
      if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
        read(reinterpret_cast<const ElfW(Dyn)*>(base_ + info.dlpi_phdr[i].p_vaddr));
  }

  [[nodiscard]] bool defines(const char* name) const {
    if (symbols_ == nullptr || strings_ == nullptr) return false;
    return gnu_ != nullptr ? in_gnu_table(name) : sysv_ != nullptr && in_sysv_table(name);
  }

 private:
  // glibc turns these into addresses when it loads an object, but not in the vdso.
  template <class T>
  const T* at(ElfW(Addr) value) const {
    return reinterpret_cast<const T*>(value < base_ ? value + base_ : value);
  }

  void read(const ElfW(Dyn) * entry) {
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_SYMTAB) symbols_ = at<ElfW(Sym)>(entry->d_un.d_ptr);
      if (entry->d_tag == DT_STRTAB) strings_ = at<char>(entry->d_un.d_ptr);
      if (entry->d_tag == DT_GNU_HASH) gnu_ = at<std::uint32_t>(entry->d_un.d_ptr);
      if (entry->d_tag == DT_HASH) sysv_ = at<std::uint32_t>(entry->d_un.d_ptr);
    }
  }

  [[nodiscard]] bool is(std::uint32_t index, const char* name) const {
    const ElfW(Sym)& symbol = symbols_[index];
    return symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 &&
           std::strcmp(strings_ + symbol.st_name, name) == 0;
  }

  [[nodiscard]] bool in_gnu_table(const char* name) const {
    const std::uint32_t buckets = gnu_[0];
    const std::uint32_t first = gnu_[1];
    const std::uint32_t bloom_words = gnu_[2];
    if (buckets == 0) return false;
    const std::uint32_t* bucket = gnu_ + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
    const std::uint32_t* chain = bucket + buckets;
    const std::uint32_t hash = gnu_hash(name);
    std::uint32_t index = bucket[hash % buckets];
    if (index < first) return false;
    for (;; ++index) {
      const std::uint32_t entry = chain[index - first];
      if ((entry | 1) == (hash | 1) && is(index, name)) return true;
      if ((entry & 1) != 0) return false;
    }
  }

  [[nodiscard]] bool in_sysv_table(const char* name) const {
    for (std::uint32_t index = 1; index < sysv_[1]; ++index)
      if (is(index, name)) return true;
    return false;
  }

  ElfW(Addr) base_;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* strings_ = nullptr;
  const std::uint32_t* gnu_ = nullptr;
  const std::uint32_t* sysv_ = nullptr;
};

std::string build_id_of(const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const char* note = reinterpret_cast<const char*>(info.dlpi_addr + segment.p_vaddr);
    const char* const end = note + segment.p_memsz;
    while (end - note >= static_cast<std::ptrdiff_t>(sizeof(ElfW(Nhdr)))) {
      ElfW(Nhdr) header;
      std::memcpy(&header, note, sizeof header);
      const std::size_t name_bytes = (header.n_namesz + 3u) & ~3u;
      const std::size_t bytes = sizeof header + name_bytes + ((header.n_descsz + 3u) & ~3u);
      if (static_cast<std::size_t>(end - note) < bytes) break;
      const char* const name = note + sizeof header;
      if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
        static constexpr char kHex[] = "0123456789abcdef";
        std::string out;
        for (std::size_t k = 0; k < header.n_descsz; ++k) {
          const auto byte = static_cast<unsigned char>(name[name_bytes + k]);
          out += kHex[byte >> 4];
          out += kHex[byte & 15];
        }
        return out;
      }
      note += bytes;
    }
  }
  return {};
}

struct Search {
  std::initializer_list<const char*> wanted;
  std::vector<LoadedObject> found;
};

}  // namespace

std::vector<LoadedObject> objects_defining(std::initializer_list<const char*> symbols) {
  Search search{symbols, {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& s = *static_cast<Search*>(data);
        const Symbols table(*info);
        for (const char* name : s.wanted)
          if (!table.defines(name)) return 0;
        s.found.push_back({info->dlpi_name != nullptr ? info->dlpi_name : "", build_id_of(*info)});
        return 0;
      },
      &search);
  return std::move(search.found);
}

unsigned long long loader_additions() {
  unsigned long long additions = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        *static_cast<unsigned long long*>(data) = info->dlpi_adds;
        return 1;
      },
      &additions);
  return additions;
}

}  // namespace hb::client::hip
