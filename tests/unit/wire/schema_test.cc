// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The client's tables against broker.proto itself, as protoc describes it: every message, every field, by
// number, name, type and label. A field added there and forgotten here fails.
#include <gtest/gtest.h>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <fstream>
#include <set>
#include <utility>

#include "message_values.h"

namespace hb::test {
namespace {

namespace pb = google::protobuf;
using Type = pb::FieldDescriptor::Type;

template <typename Value>
constexpr Type type_of(msg::Coding coding) {
  if constexpr (IsOptional<Value> || IsRepeated<Value>) {
    return type_of<std::remove_const_t<typename Value::value_type>>(coding);
  } else if constexpr (IsMessage<Value>) {
    return Type::TYPE_MESSAGE;
  } else if constexpr (std::is_enum_v<Value>) {
    return Type::TYPE_ENUM;
  } else if constexpr (std::is_same_v<Value, msg::Text>) {
    return Type::TYPE_STRING;
  } else if constexpr (std::is_same_v<Value, msg::Bytes>) {
    return Type::TYPE_BYTES;
  } else if constexpr (std::is_same_v<Value, bool>) {
    return Type::TYPE_BOOL;
  } else if constexpr (std::is_same_v<Value, std::uint32_t>) {
    return Type::TYPE_UINT32;
  } else if constexpr (std::is_same_v<Value, std::uint64_t>) {
    return Type::TYPE_UINT64;
  } else {
    static_assert(std::is_same_v<Value, std::int32_t>);
    return coding == msg::Coding::kZigzag ? Type::TYPE_SINT32 : Type::TYPE_INT32;
  }
}

class Schema : public testing::Test {
 protected:
  Schema() {
    std::ifstream in(HB_DESCRIPTORS, std::ios::binary);
    pb::FileDescriptorSet described;
    EXPECT_TRUE(described.ParseFromIstream(&in)) << HB_DESCRIPTORS;
    for (const pb::FileDescriptorProto& file : described.file()) file_ = pool_.BuildFile(file);
  }

  template <typename Message>
  void check_message() {
    if (!seen_.insert(Message::kName).second) return;
    const pb::Descriptor* schema = file_->FindMessageTypeByName(Message::kName);
    ASSERT_NE(schema, nullptr) << Message::kName << " is not in broker.proto";
    int last_number = 0;
    std::set<int> numbers;
    std::apply(
        [&](const auto&... field) {
          (check_field<Message>(*schema, field, last_number), ...);
          (numbers.insert(static_cast<int>(std::decay_t<decltype(field)>::kNumber)), ...);
        },
        Message::fields());
    for (int i = 0; i < schema->field_count(); ++i) {
      EXPECT_TRUE(numbers.contains(schema->field(i)->number()))
          << schema->field(i)->full_name() << " = " << schema->field(i)->number()
          << " is missing in the client's " << Message::kName;
    }
  }

  template <typename Message, typename FieldType>
  void check_field(const pb::Descriptor& schema, const FieldType& field, int& last_number) {
    using Value = std::remove_cvref_t<decltype(std::declval<Message>().*field.member)>;
    const int number = static_cast<int>(FieldType::kNumber);
    const std::string here = std::string(Message::kName) + "." + field.name + " = " + std::to_string(number);
    EXPECT_GT(number, last_number) << here << ": tables are in rising order, as protobuf writes";
    last_number = number;
    const pb::FieldDescriptor* expected = schema.FindFieldByNumber(number);
    ASSERT_NE(expected, nullptr) << here << " is not in broker.proto";
    EXPECT_EQ(expected->name(), field.name) << here;
    EXPECT_EQ(expected->type(), type_of<Value>(FieldType::kCoding)) << here;
    EXPECT_EQ(expected->is_repeated(), IsRepeated<Value>) << here;
    if (expected->real_containing_oneof() != nullptr) {
      EXPECT_TRUE(IsOptional<Value>) << here << ": the members of a oneof are std::optional";
    } else if (IsOptional<Value>) {
      EXPECT_TRUE(expected->has_presence()) << here << ": an absent one is not told from the default";
    }
    check_nested<Value>(*expected, here);
  }

  template <typename Value>
  void check_nested(const pb::FieldDescriptor& expected, const std::string& here) {
    if constexpr (IsMessage<Value>) {
      ASSERT_NE(expected.message_type(), nullptr) << here;
      EXPECT_EQ(expected.message_type()->name(), Value::kName) << here;
      check_message<Value>();
    } else if constexpr (IsOptional<Value> || IsRepeated<Value>) {
      check_nested<std::remove_const_t<typename Value::value_type>>(expected, here);
    }
  }

  pb::DescriptorPool pool_;
  const pb::FileDescriptor* file_ = nullptr;
  std::set<std::string> seen_;
};

TEST_F(Schema, ClientKnowsEveryMessageAndField) {
  ASSERT_NE(file_, nullptr);
#define HB_CHECK(Name) check_message<msg::Name>();
  HB_EVERY_SENT_MESSAGE(HB_CHECK)
  HB_EVERY_RECEIVED_MESSAGE(HB_CHECK)
#undef HB_CHECK
  for (int i = 0; i < file_->message_type_count(); ++i) {
    EXPECT_TRUE(seen_.contains(file_->message_type(i)->name()))
        << file_->message_type(i)->full_name() << " is unknown to the client's codec";
  }
}

TEST_F(Schema, EnumNumbers) {
  ASSERT_NE(file_, nullptr);
  const pb::EnumDescriptor* kind = file_->FindMessageTypeByName("AclEntry")->FindEnumTypeByName("Kind");
  ASSERT_NE(kind, nullptr);
  EXPECT_EQ(kind->value_count(), 2);
  EXPECT_EQ(kind->FindValueByName("UID")->number(), static_cast<int>(msg::AclEntry::Kind::kUid));
  EXPECT_EQ(kind->FindValueByName("GID")->number(), static_cast<int>(msg::AclEntry::Kind::kGid));

  using Change = msg::Change::Kind;
  kind = file_->FindMessageTypeByName("Change")->FindEnumTypeByName("Kind");
  ASSERT_NE(kind, nullptr);
  EXPECT_EQ(kind->value_count(), 4);
  EXPECT_EQ(kind->FindValueByName("APPEND")->number(), static_cast<int>(Change::kAppend));
  EXPECT_EQ(kind->FindValueByName("REPLACE")->number(), static_cast<int>(Change::kReplace));
  EXPECT_EQ(kind->FindValueByName("RESUME")->number(), static_cast<int>(Change::kResume));

  using Event = msg::Event::Kind;
  kind = file_->FindMessageTypeByName("Event")->FindEnumTypeByName("Kind");
  ASSERT_NE(kind, nullptr);
  const std::pair<const char*, Event> events[] = {
      {"NONE", Event::kNone},         {"GROWN", Event::kGrown},
      {"REPLACED", Event::kReplaced}, {"SUSPENDED", Event::kSuspended},
      {"RESUMED", Event::kResumed},   {"WITHDRAWN", Event::kWithdrawn},
      {"REVOKED", Event::kRevoked},   {"OWNER_DIED", Event::kOwnerDied},
      {"GONE", Event::kGone},         {"CLAIMED", Event::kClaimed},
      {"LOST", Event::kLost}};
  EXPECT_EQ(kind->value_count(), static_cast<int>(std::size(events)));
  for (const auto& [name, number] : events) {
    ASSERT_NE(kind->FindValueByName(name), nullptr) << name;
    EXPECT_EQ(kind->FindValueByName(name)->number(), static_cast<int>(number)) << name;
  }
}

}  // namespace
}  // namespace hb::test
