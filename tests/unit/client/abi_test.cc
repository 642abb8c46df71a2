// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The boundary: sizes of structs, arguments, keys, and what happens when memory runs out inside.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <set>
#include <string>

#include "hipbroker/hipbroker.h"

namespace hb::test {
namespace {

TEST(Status, EveryCodeHasANameAndAText) {
  std::set<std::string> names;
  for (hb_status status = 0; status >= HB_BUSY; --status) {
    EXPECT_TRUE(names.insert(hb_status_name(status)).second) << status;
    EXPECT_STRNE(hb_status_text(status), hb_status_text(-47)) << status;
  }
  EXPECT_STREQ(hb_status_name(HB_STALE), "HB_STALE");
  EXPECT_STREQ(hb_status_name(HB_BUSY), "HB_BUSY");
  for (const hb_status strange : {1, -47, INT32_MIN, INT32_MAX}) {
    EXPECT_STREQ(hb_status_name(strange), "HB_UNKNOWN");
    EXPECT_NE(hb_status_text(strange), nullptr);
  }
}

hb_key sample_key() {
  hb_key key{};
  key.bytes[0] = 1;  // version
  for (int i = 4; i < HB_KEY_BYTES; ++i) key.bytes[i] = static_cast<std::uint8_t>(i * 7);
  return key;
}

TEST(Key, GoesThroughTextAndBack) {
  const hb_key key = sample_key();
  char text[HB_KEY_TEXT_BYTES];
  std::memset(text, 'x', sizeof text);
  hb_key_to_text(&key, text);
  EXPECT_EQ(std::strlen(text), HB_KEY_TEXT_BYTES - 1u);
  hb_key back{};
  ASSERT_EQ(hb_key_from_text(text, &back, nullptr), HB_OK);
  EXPECT_EQ(std::memcmp(&back, &key, sizeof key), 0);
}

TEST(Key, SaysWhatIsWrongWithAText) {
  hb_key key{};
  for (const char* text : {"", "hbk1_", "nonsense", "hbk1_????"}) {
    hb_error error = HB_ERROR_INIT;
    EXPECT_EQ(hb_key_from_text(text, &key, &error), HB_INVALID) << text;
    EXPECT_STRNE(error.message, "");
  }
}

TEST(Key, InspectReadsWithoutADaemon) {
  const hb_key key = sample_key();
  hb_key_info info = HB_KEY_INFO_INIT;
  ASSERT_EQ(hb_key_inspect(&key, &info, nullptr), HB_OK);
  EXPECT_EQ(info.version, 1u);
  EXPECT_EQ(std::memcmp(info.broker_id, key.bytes + 4, HB_BROKER_ID_BYTES), 0);
  EXPECT_EQ(info.export_id & 0xff, key.bytes[20]);
  hb_key newer = key;
  newer.bytes[0] = 2;
  EXPECT_EQ(hb_key_inspect(&newer, &info, nullptr), HB_VERSION);
}

TEST(ErrorStruct, OfAnOlderCallerIsFilledAsFarAsItGoes) {
  struct {
    hb_error error;
    char guard[16];
  } memory;
  std::memset(&memory, 0x5a, sizeof memory);
  memory.error.size = offsetof(hb_error, message);
  EXPECT_EQ(hb_ping(nullptr, 0, nullptr, &memory.error), HB_INVALID);
  EXPECT_EQ(memory.error.status, HB_INVALID);
  EXPECT_EQ(memory.error.chunk, -1);
  EXPECT_EQ(memory.error.message[0], 0x5a);
  EXPECT_EQ(memory.error.size, offsetof(hb_error, message));
}

TEST(ErrorStruct, OfANewerCallerEndsInZeros) {
  struct {
    hb_error error;
    char newer[16];
  } memory;
  std::memset(&memory, 0x5a, sizeof memory);
  memory.error.size = sizeof memory;
  EXPECT_EQ(hb_ping(nullptr, 0, nullptr, &memory.error), HB_INVALID);
  EXPECT_STREQ(memory.error.message, "client is NULL");
  for (const char byte : memory.newer) EXPECT_EQ(byte, 0);
}

TEST(ErrorStruct, WithoutASizeIsLeftAlone) {
  hb_error error;
  std::memset(&error, 0, sizeof error);
  EXPECT_EQ(hb_ping(nullptr, 0, nullptr, &error), HB_INVALID);
  EXPECT_EQ(error.status, 0);
}

TEST(OptionsStruct, OfAnOlderCallerGetsDefaults) {
  hb_client_options options = HB_CLIENT_OPTIONS_INIT;
  options.socket = "/nonexistent/broker.sock";
  options.size = offsetof(hb_client_options, deadline_ns);
  hb_client* client = nullptr;
  EXPECT_EQ(hb_client_open(&options, &client, nullptr), HB_NO_DAEMON);
}

TEST(OptionsStruct, OfANewerCallerMayNotAskForWhatIsUnknown) {
  struct {
    hb_client_options options;
    std::uint64_t newer;
  } memory = {HB_CLIENT_OPTIONS_INIT, 0};
  memory.options.size = sizeof memory;
  memory.options.socket = "/nonexistent/broker.sock";
  hb_client* client = nullptr;
  EXPECT_EQ(hb_client_open(&memory.options, &client, nullptr), HB_NO_DAEMON);
  memory.newer = 1;
  EXPECT_EQ(hb_client_open(&memory.options, &client, nullptr), HB_UNSUPPORTED);
  memory.options.size = 0;
  EXPECT_EQ(hb_client_open(&memory.options, &client, nullptr), HB_INVALID);
}

// No process can hold so many; the vector inside throws.
void open_with_absurd_count(std::size_t count) {
  const std::uint32_t uid = 0;
  hb_client_options options = HB_CLIENT_OPTIONS_INIT;
  options.trusted_uids = &uid;
  options.trusted_uid_count = count;
  hb_client* client = nullptr;
  hb_error error = HB_ERROR_INIT;
  EXPECT_EQ(hb_client_open(&options, &client, &error), HB_NO_MEMORY);
  EXPECT_EQ(error.status, HB_NO_MEMORY);
  EXPECT_STRNE(error.message, "");
  EXPECT_EQ(client, nullptr);
}

TEST(Boundary, AnExceptionInsideBecomesAStatus) {
  open_with_absurd_count(SIZE_MAX);  // std::length_error
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  open_with_absurd_count(std::size_t{1} << 60);  // std::bad_alloc, which sanitizers turn into an abort
#endif
}

TEST(Boundary, NullIsNamedOrHarmless) {
  hb_error error = HB_ERROR_INIT;
  EXPECT_EQ(hb_client_open(nullptr, nullptr, &error), HB_INVALID);
  EXPECT_STREQ(error.message, "ret_client is NULL");
  EXPECT_EQ(hb_export_withdraw(nullptr, 0, nullptr, nullptr), HB_INVALID);
  hb_client_close(nullptr);
  hb_memory_free(nullptr);
  hb_export_destroy(nullptr);
  hb_import_close(nullptr);
  hb_handles_release(nullptr);
  hb_list_free(nullptr);
  hb_holders_free(nullptr);
  hb_shown_free(nullptr);
  EXPECT_EQ(hb_memory_ptr(nullptr), nullptr);
  EXPECT_EQ(hb_memory_grow(nullptr, 1, &error), HB_INVALID);
  EXPECT_STREQ(error.message, "memory is NULL");
  EXPECT_EQ(hb_memory_sleep(nullptr, nullptr), HB_INVALID);
  EXPECT_EQ(hb_memory_wake(nullptr, nullptr), HB_INVALID);
  EXPECT_EQ(hb_list_count(nullptr), 0u);
  EXPECT_EQ(hb_handles_fd(nullptr, 0), -1);
}

TEST(Deadline, Saturates) {
  EXPECT_EQ(hb_deadline_in(UINT64_MAX), HB_NO_DEADLINE);
  EXPECT_EQ(hb_deadline_in(UINT64_MAX - 1), HB_NO_DEADLINE);
  EXPECT_LT(hb_deadline_in(0), hb_deadline_in(1'000'000'000));
}

}  // namespace
}  // namespace hb::test
