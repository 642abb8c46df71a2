// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "wire/key.h"

#include <algorithm>
#include <bit>

#include "wire/little_endian.h"

namespace hb {
namespace {

constexpr std::size_t kMacOffset = 48;

constexpr std::string_view kTextPrefix = "hbk1_";
constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
static_assert(kTextPrefix.size() + (64 * 8 + 5) / 6 == kKeyTextBytes);

constexpr std::uint8_t kNoDigit = 0xff;
constexpr std::array<std::uint8_t, 256> kDigits = [] {
  std::array<std::uint8_t, 256> digits{};
  digits.fill(kNoDigit);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    digits[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return digits;
}();

struct SipState {
  std::uint64_t v0, v1, v2, v3;

  void rounds(int count) noexcept {
    for (int i = 0; i < count; ++i) {
      v0 += v1;
      v2 += v3;
      v1 = std::rotl(v1, 13) ^ v0;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 = std::rotl(v0, 32);
      v2 += v1;
      v0 += v3;
      v1 = std::rotl(v1, 17) ^ v2;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 = std::rotl(v2, 32);
    }
  }
  void absorb(std::uint64_t word) noexcept {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  }
  [[nodiscard]] std::uint64_t word() const noexcept { return v0 ^ v1 ^ v2 ^ v3; }
};

std::span<const std::uint8_t> covered_by_mac(const KeyBytes& key) noexcept {
  return std::span(key).first<kMacOffset>();
}

}  // namespace

Mac siphash128(const Secret& secret, std::span<const std::uint8_t> data) noexcept {
  const auto k0 = load_le<std::uint64_t>(secret.data());
  const auto k1 = load_le<std::uint64_t>(secret.data() + 8);
  // The constants of the SipHash paper; 0xee and 0xdd are the 128-bit variant's.
  SipState state{k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d ^ 0xee, k0 ^ 0x6c7967656e657261,
                 k1 ^ 0x7465646279746573};
  const std::size_t whole = data.size() / 8 * 8;
  for (std::size_t i = 0; i < whole; i += 8) state.absorb(load_le<std::uint64_t>(data.data() + i));
  std::uint64_t last = static_cast<std::uint64_t>(data.size() & 0xff) << 56;
  for (std::size_t i = whole; i < data.size(); ++i) {
    last |= static_cast<std::uint64_t>(data[i]) << (8 * (i - whole));
  }
  state.absorb(last);

  Mac mac;
  state.v2 ^= 0xee;
  state.rounds(4);
  store_le(mac.data(), state.word());
  state.v1 ^= 0xdd;
  state.rounds(4);
  store_le(mac.data() + 8, state.word());
  return mac;
}

KeyBytes encode_key(const KeyFields& fields, const Secret& secret) noexcept {
  KeyBytes key;
  store_le<std::uint16_t>(key.data(), fields.version);
  store_le<std::uint16_t>(key.data() + 2, static_cast<std::uint16_t>(fields.kind));
  std::copy(fields.broker.begin(), fields.broker.end(), key.begin() + 4);
  store_le<std::uint64_t>(key.data() + 20, fields.export_id);
  store_le<std::uint32_t>(key.data() + 28, fields.generation);
  store_le<std::uint64_t>(key.data() + 32, fields.offset);
  store_le<std::uint64_t>(key.data() + 40, fields.length);
  const Mac mac = siphash128(secret, covered_by_mac(key));
  std::copy(mac.begin(), mac.end(), key.begin() + kMacOffset);
  return key;
}

KeyFields decode_key(const KeyBytes& key) noexcept {
  KeyFields fields;
  fields.version = load_le<std::uint16_t>(key.data());
  fields.kind = static_cast<KeyKind>(load_le<std::uint16_t>(key.data() + 2));
  std::copy_n(key.begin() + 4, fields.broker.size(), fields.broker.begin());
  fields.export_id = load_le<std::uint64_t>(key.data() + 20);
  fields.generation = load_le<std::uint32_t>(key.data() + 28);
  fields.offset = load_le<std::uint64_t>(key.data() + 32);
  fields.length = load_le<std::uint64_t>(key.data() + 40);
  return fields;
}

bool key_is_authentic(const KeyBytes& key, const Secret& secret) noexcept {
  const Mac mac = siphash128(secret, covered_by_mac(key));
  // Every byte is looked at, and volatile keeps the compiler from leaving the loop early: the time must
  // not tell how many bytes of a guess were right.
  volatile std::uint8_t difference = 0;
  for (std::size_t i = 0; i < mac.size(); ++i) {
    difference = static_cast<std::uint8_t>(difference | (mac[i] ^ key[kMacOffset + i]));
  }
  return difference == 0;
}

Secret derive_secret(const Secret& master, std::uint64_t export_id, std::uint32_t generation) noexcept {
  // Labelled and of another length than what a key's MAC covers, so that no MAC under the master could
  // ever be a secret.
  std::array<std::uint8_t, 24> input{'h', 'b', ' ', 's', 'e', 'c', 'r', 'e', 't', ' ', '1', 0};
  store_le<std::uint64_t>(input.data() + 12, export_id);
  store_le<std::uint32_t>(input.data() + 20, generation);
  return siphash128(master, input);
}

std::string key_to_text(const KeyBytes& key) {
  std::string text(kTextPrefix);
  text.reserve(kKeyTextBytes);
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (const std::uint8_t byte : key) {
    bits = (bits << 8) | byte;
    held += 8;
    while (held >= 6) {
      held -= 6;
      text.push_back(kAlphabet[(bits >> held) & 63]);
    }
  }
  text.push_back(kAlphabet[(bits << (6 - held)) & 63]);
  return text;
}

tl::expected<KeyBytes, KeyTextError> key_from_text(std::string_view text) noexcept {
  if (!text.starts_with(kTextPrefix)) return tl::unexpected(KeyTextError::kPrefix);
  if (text.size() != kKeyTextBytes) return tl::unexpected(KeyTextError::kLength);
  text.remove_prefix(kTextPrefix.size());

  KeyBytes key;
  std::size_t filled = 0;
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (const char character : text) {
    const std::uint8_t digit = kDigits[static_cast<unsigned char>(character)];
    if (digit == kNoDigit) return tl::unexpected(KeyTextError::kCharacter);
    bits = (bits << 6) | digit;
    held += 6;
    if (held >= 8) {
      held -= 8;
      key[filled++] = static_cast<std::uint8_t>(bits >> held);
    }
  }
  // The last character carries two bits; one text a key, so the other four must be zero.
  if ((bits & ((1u << held) - 1)) != 0) return tl::unexpected(KeyTextError::kCharacter);
  return key;
}

}  // namespace hb
