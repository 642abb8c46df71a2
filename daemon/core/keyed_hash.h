// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// A hash under a secret: clients choose names and identities, and must not choose who collides.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "wire/key.h"

namespace hb::core {

class KeyedHash {
 public:
  explicit KeyedHash(const Secret& secret) : secret_(secret) {}

  [[nodiscard]] std::uint32_t operator()(std::span<const std::uint8_t> bytes) const {
    const Mac mac = siphash128(secret_, bytes);
    std::uint32_t out = 0;
    std::memcpy(&out, mac.data(), sizeof out);
    return out;
  }

  // Fields put one after the other; what does not fit is not hashed, and costs a comparison only.
  class Input {
   public:
    Input& add(std::uint64_t value) {
      return add_bytes(reinterpret_cast<const std::uint8_t*>(&value), sizeof value);
    }
    Input& add(std::string_view text) {
      return add(std::uint64_t{text.size()})
          .add_bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    }
    [[nodiscard]] std::span<const std::uint8_t> bytes() const { return {bytes_.data(), size_}; }

   private:
    Input& add_bytes(const std::uint8_t* data, std::size_t size) {
      const std::size_t room = bytes_.size() - size_;
      const std::size_t n = size < room ? size : room;
      if (n != 0) std::memcpy(bytes_.data() + size_, data, n);
      size_ += n;
      return *this;
    }
    std::array<std::uint8_t, 640> bytes_;
    std::size_t size_ = 0;
  };
  [[nodiscard]] std::uint32_t operator()(const Input& input) const { return (*this)(input.bytes()); }

 private:
  Secret secret_;
};

}  // namespace hb::core
