// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The bodies of encode() and decode_into(): only for messages.cc, which instantiates what the client needs,
// and for the conformance test, which also needs the other directions.
#pragma once

#include <new>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <type_traits>

#include "wire/message.h"

namespace hb::msg {
namespace detail {

using protozero::pbf_wire_type;

template <typename Value>
concept IsMessage = requires {
  Value::fields();
};
template <typename Value>
inline constexpr bool kIsOptional = false;
template <typename Value>
inline constexpr bool kIsOptional<std::optional<Value>> = true;
template <typename Value>
inline constexpr bool kIsText = std::is_same_v<Value, Text> || std::is_same_v<Value, Bytes>;
template <typename Value>
inline constexpr bool kIsRepeated = false;
template <typename Value>
inline constexpr bool kIsRepeated<std::vector<Value>> = true;
template <typename Value>
inline constexpr bool kIsRepeated<std::span<const Value>> = !std::is_same_v<std::span<const Value>, Bytes>;
// proto3 writes repeated numbers as one field, and has to read them one by one, too.
template <typename Value>
inline constexpr bool kIsPacked =
    std::is_same_v<Value, std::vector<std::uint64_t>> || std::is_same_v<Value, std::vector<std::uint32_t>>;

// ---- writing -----------------------------------------------------------------------------------

template <typename Message>
void write_message(protozero::pbf_writer& writer, std::string& out, const Message& message);

enum class Write : std::uint8_t { kUnlessDefault, kAlways };

template <Coding kCoding, typename Value>
void write_value(protozero::pbf_writer& writer, std::string& out, std::uint32_t number, const Value& value,
                 Write write) {
  if constexpr (kIsText<Value>) {
    if (write == Write::kUnlessDefault && value.empty()) return;
    writer.add_bytes(number, reinterpret_cast<const char*>(value.data()), value.size());
  } else if constexpr (IsMessage<Value>) {
    const std::size_t before = out.size();
    {
      protozero::pbf_writer inner(writer, number);
      write_message(inner, out, value);
    }
    // protozero takes an empty sub-message back; as an entry of a list or a oneof it has a meaning.
    if (write == Write::kAlways && out.size() == before) writer.add_bytes(number, "", 0);
  } else {
    if (write == Write::kUnlessDefault && value == Value{}) return;
    if constexpr (kCoding == Coding::kZigzag) {
      static_assert(std::is_same_v<Value, std::int32_t>);
      writer.add_sint32(number, value);
    } else if constexpr (std::is_same_v<Value, std::int32_t>) {
      writer.add_int32(number, value);
    } else if constexpr (std::is_enum_v<Value>) {
      writer.add_int32(number, static_cast<std::int32_t>(value));
    } else {
      writer.add_uint64(number, value);
    }
  }
}

template <typename FieldType, typename Message>
void write_field(protozero::pbf_writer& writer, std::string& out, const FieldType& field,
                 const Message& message) {
  const auto& value = message.*field.member;
  using Value = std::remove_cvref_t<decltype(value)>;
  if constexpr (kIsPacked<Value>) {
    writer.add_packed_uint64(FieldType::kNumber, value.begin(), value.end());
  } else if constexpr (kIsRepeated<Value>) {
    for (const auto& entry : value) {
      write_value<FieldType::kCoding>(writer, out, FieldType::kNumber, entry, Write::kAlways);
    }
  } else if constexpr (kIsOptional<Value>) {
    if (value) write_value<FieldType::kCoding>(writer, out, FieldType::kNumber, *value, Write::kAlways);
  } else {
    write_value<FieldType::kCoding>(writer, out, FieldType::kNumber, value, Write::kUnlessDefault);
  }
}

template <typename Message>
void write_message(protozero::pbf_writer& writer, std::string& out, const Message& message) {
  std::apply([&](const auto&... field) { (write_field(writer, out, field, message), ...); },
             Message::fields());
}

// ---- reading -----------------------------------------------------------------------------------

struct Refusal {
  const char* field = nullptr;
  std::size_t limit = 0;

  [[nodiscard]] bool happened() const { return field != nullptr; }
};

template <typename Message>
void read_message(protozero::pbf_reader reader, Message& out, Refusal& refusal);

template <typename Value>
constexpr pbf_wire_type wire_type_of() {
  if constexpr (kIsOptional<Value> || kIsRepeated<Value>) {
    return wire_type_of<std::remove_const_t<typename Value::value_type>>();
  } else {
    return kIsText<Value> || IsMessage<Value> ? pbf_wire_type::length_delimited : pbf_wire_type::varint;
  }
}

template <typename FieldType, typename Value>
void read_value(protozero::pbf_reader& reader, const FieldType& field, Value& value, Refusal& refusal) {
  if constexpr (kIsText<Value>) {
    const auto view = reader.get_view();
    if (FieldType::kMax != 0 && view.size() > FieldType::kMax) {
      refusal = {field.name, FieldType::kMax};
    } else {
      value = Value(reinterpret_cast<typename Value::const_pointer>(view.data()), view.size());
    }
  } else if constexpr (IsMessage<Value>) {
    read_message(reader.get_message(), value, refusal);
  } else if constexpr (FieldType::kCoding == Coding::kZigzag) {
    value = reader.get_sint32();
  } else if constexpr (std::is_same_v<Value, bool>) {
    value = reader.get_uint64() != 0;
  } else {
    value = static_cast<Value>(reader.get_uint64());
  }
}

// True: the field at the reader was this one.
template <typename FieldType, typename Message>
bool read_field(protozero::pbf_reader& reader, const FieldType& field, Message& out, Refusal& refusal) {
  auto& value = out.*field.member;
  using Value = std::remove_cvref_t<decltype(value)>;
  if constexpr (kIsPacked<Value>) {
    constexpr std::uint32_t kPacked =
        protozero::tag_and_type(FieldType::kNumber, pbf_wire_type::length_delimited);
    if (reader.tag_and_type() == kPacked) {
      for (const std::uint64_t entry : reader.get_packed_uint64()) {
        if (value.size() == FieldType::kMax) {
          refusal = {field.name, FieldType::kMax};
          return true;
        }
        value.push_back(static_cast<typename Value::value_type>(entry));
      }
      return true;
    }
  }
  // A known number of another wire type is an unknown field, as it is to libprotobuf.
  constexpr std::uint32_t kTag = protozero::tag_and_type(FieldType::kNumber, wire_type_of<Value>());
  if (reader.tag_and_type() != kTag) return false;
  if constexpr (kIsRepeated<Value>) {
    static_assert(FieldType::kMax != 0, "a peer must not choose how much memory a list takes");
    if (value.size() == FieldType::kMax) {
      refusal = {field.name, FieldType::kMax};
    } else {
      read_value(reader, field, value.emplace_back(), refusal);
    }
  } else if constexpr (kIsOptional<Value>) {
    // Twice the same message: the second adds to the first, as everywhere.
    if (!value || !IsMessage<typename Value::value_type>) value.emplace();
    read_value(reader, field, *value, refusal);
  } else {
    read_value(reader, field, value, refusal);
  }
  return true;
}

template <typename Message>
void read_message(protozero::pbf_reader reader, Message& out, Refusal& refusal) {
  while (!refusal.happened() && reader.next()) {
    const bool known =
        std::apply([&](const auto&... field) { return (read_field(reader, field, out, refusal) || ...); },
                   Message::fields());
    if (!known) reader.skip();
  }
}

template <typename Value>
void make_default(Value& value) {
  if constexpr (kIsRepeated<Value>) {
    value.clear();
  } else {
    value = Value{};
  }
}

}  // namespace detail

template <typename Message>
void encode(const Message& message, std::string& out) {
  out.clear();
  protozero::pbf_writer writer(out);
  detail::write_message(writer, out, message);
}

template <typename Message>
tl::expected<void, DecodeError> decode_into(Bytes body, Message& out) noexcept {
  using Kind = DecodeError::Kind;
  std::apply([&](const auto&... field) { (detail::make_default(out.*field.member), ...); },
             Message::fields());
  detail::Refusal refusal;
  try {
    detail::read_message(protozero::pbf_reader(reinterpret_cast<const char*>(body.data()), body.size()), out,
                         refusal);
  } catch (const protozero::exception&) {
    return tl::unexpected(DecodeError{Kind::kMalformed, Message::kName});
  } catch (const std::bad_alloc&) {
    return tl::unexpected(DecodeError{Kind::kNoMemory, Message::kName});
  }
  if (refusal.happened()) {
    return tl::unexpected(DecodeError{Kind::kLimit, Message::kName, refusal.field, refusal.limit});
  }
  return {};
}

}  // namespace hb::msg
