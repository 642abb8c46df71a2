// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "wire/key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <set>
#include <vector>

namespace hb::test {
namespace {

std::string hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02X", byte);
    text += digits;
  }
  return text;
}

template <std::size_t N>
std::array<std::uint8_t, N> random_bytes(std::mt19937_64& random) {
  std::array<std::uint8_t, N> bytes;
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

KeyFields random_fields(std::mt19937_64& random) {
  KeyFields fields;
  fields.version = static_cast<std::uint16_t>(random());
  fields.kind = static_cast<KeyKind>(random() & 0xffff);
  fields.broker = random_bytes<16>(random);
  fields.export_id = random();
  fields.generation = static_cast<std::uint32_t>(random());
  fields.offset = random();
  fields.length = random();
  return fields;
}

struct SipVector {
  std::size_t length;
  const char* mac;
};

// Key 00..0f, input 00, 01, 02 ... of that length: the reference vectors, confirmed with OpenSSL 3
// (`openssl mac -macopt hexkey:000102030405060708090a0b0c0d0e0f -in FILE SIPHASH`).
constexpr SipVector kSipVectors[] = {
    {0, "A3817F04BA25A8E66DF67214C7550293"},  {1, "DA87C1D86B99AF44347659119B22FC45"},
    {7, "A1F1EBBED8DBC153C0B84AA61FF08239"},  {8, "3B62A9BA6258F5610F83E264F31497B4"},
    {15, "5493E99933B0A8117E08EC0F97CFC3D9"}, {16, "6EE2A4CA67B054BBFD3315BF85230577"},
    {48, "F7E5AEF549F782CF379055A608269B16"}, {63, "5150D1772F50834A503E069A973FBD7C"},
    {64, "1EAF077DC0D4CD3F8CAD4D383658A74B"},
};

TEST(SipHash, PublishedVectors) {
  Secret secret;
  for (std::size_t i = 0; i < secret.size(); ++i) secret[i] = static_cast<std::uint8_t>(i);
  for (const SipVector& vector : kSipVectors) {
    std::vector<std::uint8_t> input(vector.length);
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<std::uint8_t>(i);
    EXPECT_EQ(hex(siphash128(secret, input)), vector.mac) << vector.length;
  }
}

TEST(Key, LayoutIsTheDocumentedOne) {
  KeyFields fields;
  fields.kind = KeyKind::kTicket;
  for (std::size_t i = 0; i < fields.broker.size(); ++i)
    fields.broker[i] = static_cast<std::uint8_t>(0xa0 + i);
  fields.export_id = 0x0102030405060708;
  fields.generation = 0x11121314;
  fields.offset = 0x2122232425262728;
  fields.length = 0x3132333435363738;
  const KeyBytes key = encode_key(fields, Secret{});
  EXPECT_EQ(hex(std::span(key).first(48)),
            "01000100A0A1A2A3A4A5A6A7A8A9AAABACADAEAF0807060504030201"
            "1413121128272625242322213837363534333231");
  EXPECT_EQ(hex(std::span(key).last(16)), hex(siphash128(Secret{}, std::span(key).first(48))));
}

TEST(Key, EveryFieldRoundTrips) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 500; ++round) {
    const KeyFields in = random_fields(random);
    const Secret secret = random_bytes<16>(random);
    const KeyBytes key = encode_key(in, secret);
    const KeyFields out = decode_key(key);
    EXPECT_EQ(out.version, in.version);
    EXPECT_EQ(out.kind, in.kind);
    EXPECT_EQ(out.broker, in.broker);
    EXPECT_EQ(out.export_id, in.export_id);
    EXPECT_EQ(out.generation, in.generation);
    EXPECT_EQ(out.offset, in.offset);
    EXPECT_EQ(out.length, in.length);
    EXPECT_TRUE(key_is_authentic(key, secret));
  }
}

TEST(Key, OneFlippedBitAnywhereIsNoticed) {
  std::mt19937_64 random(3);
  const Secret secret = random_bytes<16>(random);
  const KeyBytes key = encode_key(random_fields(random), secret);
  for (std::size_t bit = 0; bit < key.size() * 8; ++bit) {
    KeyBytes forged = key;
    forged[bit / 8] = static_cast<std::uint8_t>(forged[bit / 8] ^ (1u << (bit % 8)));
    EXPECT_FALSE(key_is_authentic(forged, secret)) << "bit " << bit;
  }
}

TEST(Key, AnotherSecretIsNoticed) {
  std::mt19937_64 random(4);
  const Secret secret = random_bytes<16>(random);
  const KeyBytes key = encode_key(random_fields(random), secret);
  for (std::size_t bit = 0; bit < secret.size() * 8; ++bit) {
    Secret other = secret;
    other[bit / 8] = static_cast<std::uint8_t>(other[bit / 8] ^ (1u << (bit % 8)));
    EXPECT_FALSE(key_is_authentic(key, other)) << "bit " << bit;
  }
}

TEST(Key, SecretsDifferByMasterExportAndGeneration) {
  std::set<Secret> seen;
  std::size_t made = 0;
  for (const std::uint8_t master_byte : {std::uint8_t{0}, std::uint8_t{1}}) {
    Secret master{};
    master[15] = master_byte;
    for (std::uint64_t id : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32, ~std::uint64_t{0}}) {
      for (std::uint32_t generation : {0u, 1u, 2u, ~0u}) {
        seen.insert(derive_secret(master, id, generation));
        ++made;
      }
    }
  }
  EXPECT_EQ(seen.size(), made);
  EXPECT_EQ(derive_secret(Secret{}, 7, 3), derive_secret(Secret{}, 7, 3));
}

TEST(Key, SecretIsNotTheMacOfAKeyUnderTheMaster) {
  const Secret master{1, 2, 3};
  KeyFields fields;
  fields.export_id = 7;
  fields.generation = 3;
  const KeyBytes key = encode_key(fields, master);
  const Secret secret = derive_secret(master, 7, 3);
  EXPECT_FALSE(std::equal(secret.begin(), secret.end(), key.begin() + 48));
}

TEST(KeyText, RoundTrips) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 500; ++round) {
    const KeyBytes key = random_bytes<64>(random);
    const std::string text = key_to_text(key);
    ASSERT_EQ(text.size(), kKeyTextBytes);
    ASSERT_TRUE(text.starts_with("hbk1_"));
    EXPECT_EQ(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
              std::string::npos);
    const auto back = key_from_text(text);
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(*back, key);
  }
}

TEST(KeyText, KnownText) {
  KeyBytes key;
  key.fill(0);
  EXPECT_EQ(key_to_text(key), "hbk1_" + std::string(86, 'A'));
  key.fill(0xff);
  EXPECT_EQ(key_to_text(key), "hbk1_" + std::string(85, '_') + "w");
}

TEST(KeyText, BadTextSaysWhatIsWrong) {
  const std::string good = key_to_text(KeyBytes{});
  const auto error = [](std::string_view text) {
    const auto key = key_from_text(text);
    EXPECT_FALSE(key.has_value()) << text;
    return key ? KeyTextError{0xff} : key.error();
  };
  EXPECT_EQ(error(""), KeyTextError::kPrefix);
  EXPECT_EQ(error("hbk"), KeyTextError::kPrefix);
  EXPECT_EQ(error("hbk2_" + good.substr(5)), KeyTextError::kPrefix);
  EXPECT_EQ(error("HBK1_" + good.substr(5)), KeyTextError::kPrefix);
  EXPECT_EQ(error(" " + good), KeyTextError::kPrefix);
  EXPECT_EQ(error("hbk1_"), KeyTextError::kLength);
  EXPECT_EQ(error(good.substr(0, 90)), KeyTextError::kLength);
  EXPECT_EQ(error(good + "A"), KeyTextError::kLength);
  EXPECT_EQ(error(good + "\n"), KeyTextError::kLength);
  for (const char bad : {'+', '/', '=', ' ', '\n', '\0', '\x7f', '\xff', '@', '[', '`', '{'}) {
    for (const std::size_t at : {5u, 40u, 90u}) {
      std::string text = good;
      text[at] = bad;
      EXPECT_EQ(error(text), KeyTextError::kCharacter) << "character " << int{bad} << " at " << at;
    }
  }
}

TEST(KeyText, OneTextAKey) {
  std::string text = key_to_text(KeyBytes{});
  for (const char padding_bits : {'B', 'C', 'E', 'I', 'P'}) {
    text.back() = padding_bits;
    const auto key = key_from_text(text);
    ASSERT_FALSE(key.has_value()) << padding_bits;
    EXPECT_EQ(key.error(), KeyTextError::kCharacter);
  }
}

}  // namespace
}  // namespace hb::test
