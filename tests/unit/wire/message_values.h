// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Random values and equality for any message of the client's codec, by its table of fields.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <type_traits>

#include "messages.h"

namespace hb::test {

namespace msg = client::msg;

template <typename Value>
concept IsMessage = requires {
  Value::fields();
};
template <typename Value>
concept IsOptional = requires(Value value) {
  value.has_value();
};
template <typename Value>
concept IsRepeated =
    !std::is_same_v<Value, msg::Text> && !std::is_same_v<Value, msg::Bytes> && requires(Value value) {
  value.begin();
};

template <typename Message>
bool equal(const Message& a, const Message& b);

template <typename Value>
bool equal_value(const Value& a, const Value& b) {
  if constexpr (IsMessage<Value>) {
    return equal(a, b);
  } else if constexpr (IsOptional<Value>) {
    return a.has_value() == b.has_value() && (!a || equal_value(*a, *b));
  } else if constexpr (IsRepeated<Value>) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto& x, const auto& y) { return equal_value(x, y); });
  } else if constexpr (std::is_same_v<Value, msg::Bytes>) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  } else {
    return a == b;
  }
}

template <typename Message>
bool equal(const Message& a, const Message& b) {
  return std::apply(
      [&](const auto&... field) { return (equal_value(a.*field.member, b.*field.member) && ...); },
      Message::fields());
}

// Makes messages and owns what their views point at.
class RandomMessages {
 public:
  explicit RandomMessages(std::uint64_t seed) : random_(seed) {}

  template <typename Message>
  Message make() {
    Message message;
    std::apply(
        [&](const auto&... field) { (fill<std::decay_t<decltype(field)>>(message.*field.member), ...); },
        Message::fields());
    // A oneof of several members: one of them, or none.
    if constexpr (std::is_same_v<Message, msg::Target>) {
      const std::uint64_t kept = random_() % 4;
      if (kept != 0) message.key.reset();
      if (kept != 1) message.name.reset();
      if (kept != 2) message.export_id.reset();
    }
    if constexpr (std::is_same_v<Message, msg::MakeTicket>) {
      const std::uint64_t kept = random_() % 3;
      if (kept != 0) message.export_id.reset();
      if (kept != 1) message.lease_id.reset();
    }
    if constexpr (std::is_same_v<Message, msg::QuotaSet>) {
      const std::uint64_t kept = random_() % 3;
      if (kept != 0) message.uid.reset();
      if (kept != 1) message.gid.reset();
    }
    return message;
  }

  std::mt19937_64& random() { return random_; }
  // Frees what the messages made so far point at.
  void forget() {
    texts_.clear();
    lists_.clear();
  }

 private:
  struct AnyList {
    virtual ~AnyList() = default;
  };
  template <typename Entry>
  struct ListOf : AnyList {
    std::vector<Entry> entries;
  };

  bool chance(unsigned one_in) { return random_() % one_in == 0; }

  // Zero, small, near the ends of every varint length, or anything.
  std::uint64_t number() {
    const std::uint64_t any = random_();
    switch (random_() % 4) {
      case 0:
        return 0;
      case 1:
        return any % 300;
      case 2:
        return (std::uint64_t{1} << (any % 64)) - (any >> 63);
      default:
        return any;
    }
  }

  msg::Text text(std::size_t max) {
    static constexpr const char* kLetters[] = {"a", "Z", "0", "/", " ", "\n", "\x7f", "ö", "名", "😀"};
    const std::size_t size =
        chance(4) ? 0 : random_() % (std::min<std::size_t>(max == 0 ? 40 : max, 300) + 1);
    std::string& out = texts_.emplace_back();
    while (out.size() < size) {
      const std::string_view letter = kLetters[random_() % std::size(kLetters)];
      out += out.size() + letter.size() <= size ? letter : "x";
    }
    return out;
  }

  msg::Bytes bytes(std::size_t max) {
    std::string& out = texts_.emplace_back(text(max));
    for (char& byte : out) byte = static_cast<char>(random_());
    return std::as_bytes(std::span(out));
  }

  template <typename FieldType, typename Value>
  void fill(Value& value) {
    if constexpr (IsMessage<Value>) {
      if (!chance(4)) value = make<Value>();
    } else if constexpr (IsOptional<Value>) {
      if (!chance(3)) fill<FieldType>(value.emplace());
    } else if constexpr (IsRepeated<Value>) {
      using Entry = std::remove_const_t<typename Value::value_type>;
      auto list = std::make_unique<ListOf<Entry>>();
      list->entries.resize(chance(3) ? 0 : random_() % 6);
      for (Entry& entry : list->entries) fill<FieldType>(entry);
      if constexpr (std::is_same_v<Value, std::vector<Entry>>) {
        value = list->entries;
      } else {
        value = list->entries;
        lists_.push_back(std::move(list));
      }
    } else if constexpr (std::is_same_v<Value, msg::Text>) {
      value = text(FieldType::kMax);
    } else if constexpr (std::is_same_v<Value, msg::Bytes>) {
      value = bytes(FieldType::kMax);
    } else if constexpr (std::is_same_v<Value, bool>) {
      value = chance(2);
    } else {
      value = static_cast<Value>(number());
    }
  }

  std::mt19937_64 random_;
  std::deque<std::string> texts_;
  std::deque<std::unique_ptr<AnyList>> lists_;
};

}  // namespace hb::test
