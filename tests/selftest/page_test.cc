// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "page.h"

#include <gtest/gtest.h>

namespace hb::test {
namespace {

using selftest::public_line;

TEST(SelfTestPage, HomeAndHostAreLeftOutAndALineStaysOne) {
  EXPECT_EQ(public_line("/home/alice/venv/lib.so on node17", "/home/alice", "node17"),
            "~/venv/lib.so on (host)\n");
  EXPECT_EQ(public_line("a\nb\x1b[31m", "", ""), "a b [31m\n");
  EXPECT_EQ(public_line("GPU-f00d00000000000a at 0000:03:00.0, GPU-XX", "", ""),
            "GPU-(serial) at 0000:03:00.0, GPU-XX\n");
  // Short names would tear other words apart.
  EXPECT_EQ(public_line("/lib/gpu of a gpu", "/", "gpu"), "/lib/gpu of a gpu\n");
}

TEST(SelfTestPage, MessagesKeepTheirFields) {
  selftest::Message m{{"a", "1"}, {"text", "with = and blanks"}};
  m.set("n", std::uint64_t{18446744073709551615u});
  const selftest::Message back = selftest::Message::unpacked(m.packed());
  EXPECT_EQ(back.text("text"), "with = and blanks");
  EXPECT_EQ(back.number("n"), 18446744073709551615u);
  EXPECT_EQ(back.number("a"), 1u);
  EXPECT_FALSE(back.has("b"));
  EXPECT_EQ(back.number("b", 7), 7u);
}

}  // namespace
}  // namespace hb::test
