// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "policy/policy_toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace hb::test {
namespace {

using policy::parse_policy;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

conf::Errors errors_of(const std::string& text) {
  const auto loaded = parse_policy(text, "p.toml");
  return loaded ? conf::Errors{} : loaded.error();
}

TEST(PolicyToml, AllErrorsAtOnceEachAtItsPlace) {
  EXPECT_THAT(
      errors_of(R"(rules = 3
[[rule]]
allows = ["export"]
[[rule]]
allow = ["exports", "acquire", 7]
deny = ["list"]
uid = ["alice", -1, 4294967295, "9-3", "5-4294967295", 1.5]
gid = 44
[[rule]]
allow = []
scope = ["Job", ".x", "a*b", "", 3]
[quota]
exports = -1
bytes = "300GB"
chunk = 5
leases = "5K"
[[quota.override]]
uid = []
[[quota.override]]
exports = 8
)"),
      ElementsAre(
          "p.toml:1:1: unknown key \"rules\"; did you mean \"rule\"?",
          "p.toml:2:1: this rule says neither allow nor deny; allow = [\"acquire\"] allows that verb",
          "p.toml:3:1: unknown key \"allows\" in [[rule]]; did you mean \"allow\"?",
          "p.toml:5:10: allow holds \"exports\", expected \"export\", \"acquire\", \"list\", \"persist\", "
          "\"revoke\", or \"all\"; did you mean \"export\"?",
          "p.toml:5:32: allow holds 7, expected \"export\", \"acquire\", \"list\", \"persist\", \"revoke\", "
          "or "
          "\"all\"",
          "p.toml:6:8: this rule says allow and deny; make two rules of it, the first that fits decides",
          "p.toml:7:8: uid holds \"alice\", expected numbers from 0 to 4294967294 and ranges \"A-B\" of "
          "them; "
          "names are not looked up, `getent passwd NAME` tells the number",
          "p.toml:7:17: uid holds -1, expected numbers from 0 to 4294967294 and ranges \"A-B\" of them",
          "p.toml:7:21: uid holds 4294967295, expected numbers from 0 to 4294967294 and ranges \"A-B\" of "
          "them",
          "p.toml:7:33: uid holds \"9-3\", expected numbers from 0 to 4294967294 and ranges \"A-B\" of them",
          "p.toml:7:40: uid holds \"5-4294967295\", expected numbers from 0 to 4294967294 and ranges \"A-B\" "
          "of "
          "them",
          "p.toml:7:56: uid holds a floating-point number, expected numbers from 0 to 4294967294 and ranges "
          "\"A-B\" of them",
          "p.toml:8:7: gid is an integer, expected an array of numbers from 0 to 4294967294 and ranges "
          "\"A-B\" "
          "of them",
          "p.toml:10:9: allow is empty, expected an array of \"export\", \"acquire\", \"list\", \"persist\", "
          "\"revoke\", or \"all\"",
          StartsWith("p.toml:11:10: scope holds \"Job\", expected 1 to 64 characters"),
          StartsWith("p.toml:11:17: scope holds \".x\", "), StartsWith("p.toml:11:23: scope holds \"a*b\", "),
          StartsWith("p.toml:11:30: scope holds \"\", "), StartsWith("p.toml:11:34: scope holds 3, "),
          "p.toml:13:11: exports is -1, expected an integer from 0",
          "p.toml:14:9: bytes is \"300GB\", expected an integer from 0, or one with K, M, G or T for a power "
          "of "
          "1024, such as \"300G\"; at most 18446744073709551615 bytes",
          "p.toml:15:1: unknown key \"chunk\" in [quota]; did you mean \"chunks\"?",
          "p.toml:16:10: leases is \"5K\", expected an integer from 0",
          "p.toml:17:1: this override sets nothing; say what it limits, such as exports = 8",
          StartsWith("p.toml:18:7: uid is empty, expected an array of numbers"),
          "p.toml:19:1: this override says neither uid, gid nor scope; what is for everybody belongs under "
          "[quota]"));
}

TEST(PolicyToml, WhatIsNoTableIsSaid) {
  EXPECT_THAT(errors_of("rule = 3\nquota = []\n"),
              ElementsAre("p.toml:1:8: rule is an integer, expected tables, each under [[rule]]",
                          "p.toml:2:9: quota is an array, expected the table [quota]"));
  EXPECT_THAT(errors_of("rule = [3, {allow = \"all\"}]\n"),
              ElementsAre("p.toml:1:9: rule holds an integer, expected tables, each under [[rule]]"));
  EXPECT_THAT(
      errors_of("[quota]\noverride = 1\n"),
      ElementsAre("p.toml:2:12: override is an integer, expected tables, each under [[quota.override]]"));
}

TEST(PolicyToml, BehindASyntaxErrorNothingIsRead) {
  EXPECT_THAT(errors_of("[[rule]]\nallow = = 3\nsokcet = 1\n"), ElementsAre(StartsWith("p.toml:2:9: ")));
}

// Found by the fuzzer: the TOML parser stops the process at a NUL behind a bracket.
TEST(PolicyToml, AControlCharacterIsAnErrorAtItsPlace) {
  using namespace std::string_literals;
  EXPECT_THAT(errors_of("rules = 3\n[\0[rule]]\n"s),
              ElementsAre(StartsWith("p.toml:2:2: control character 0;")));
  EXPECT_THAT(errors_of("\t\r\n# a\x1b[31m\n"), ElementsAre(StartsWith("p.toml:2:4: control character 27;")));
  EXPECT_THAT(errors_of("[quota]\nbytes = \"\x7f\"\n"),
              ElementsAre(StartsWith("p.toml:2:10: control character 127;")));
}

// Likewise: the parser asks about such characters whether they are spaces, and cannot answer.
TEST(PolicyToml, ACharacterThatIsNoSpaceIsAnError) {
  EXPECT_THAT(errors_of("gid = [4\xcc\xa3\n"), ElementsAre(StartsWith("p.toml:1:")));
}

// Likewise: what the parser takes for granted a wrong file breaks.
TEST(PolicyToml, ABracketTooManyIsAnError) {
  EXPECT_THAT(errors_of("[[[rule]]]\nallow = \"all\"\n"), ElementsAre(StartsWith("p.toml:1:3: ")));
  EXPECT_THAT(errors_of("[=]\n"), ElementsAre(StartsWith("p.toml:1:2: ")));
}

TEST(PolicyToml, TooManyRulesAreRefusedWithBothNumbers) {
  std::string text;
  for (int i = 0; i < 4097; ++i) text += "[[rule]]\nallow = \"all\"\n";
  EXPECT_THAT(errors_of(text), ElementsAre(HasSubstr("there are 4097 of [[rule]], the limit is 4096")));
}

TEST(PolicyToml, OfAFileThatCannotBeReadTheCauseIsNamed) {
  const TempDir directory;
  const auto missing = policy::read_policy(directory / "none.toml");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error(), ElementsAre(HasSubstr("none.toml: open: ENOENT")));
  const auto folder = policy::read_policy(directory.path());
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error(), ElementsAre(HasSubstr("is a directory, expected a regular file")));
}

// What people copy: each example of the document, and the file that is installed.
TEST(PolicyToml, TheShippedFileAndEveryExampleAreInOrder) {
  const auto shipped = policy::read_policy(std::string(HB_TEST_SHIPPED) + "/policy.toml");
  ASSERT_TRUE(shipped) << shipped.error().front();
  EXPECT_THAT(shipped->warnings, ElementsAre());
  const std::string document = read_file(std::string(HB_TEST_DOCS) + "/policy.md");
  constexpr std::string_view kFence = "```toml\n";
  int examples = 0;
  for (std::size_t at = document.find(kFence); at != std::string::npos; at = document.find(kFence, at)) {
    at += kFence.size();
    const std::string example = document.substr(at, document.find("```", at) - at);
    const auto loaded = parse_policy(example, "docs/policy.md");
    ASSERT_TRUE(loaded) << loaded.error().front() << "\n" << example;
    EXPECT_THAT(loaded->warnings, ElementsAre()) << example;
    ++examples;
  }
  EXPECT_GE(examples, 3);
}

// Shipped = built in: who installs the file changes nothing.
TEST(PolicyToml, TheShippedFileSaysWhatIsBuiltIn) {
  const auto shipped = policy::read_policy(std::string(HB_TEST_SHIPPED) + "/policy.toml");
  ASSERT_TRUE(shipped);
  const policy::Policy built_in = policy::Policy::built_in();
  for (const std::uint32_t uid : {0u, 1u, 1000u}) {
    const policy::Who who{"job-1", uid, {}};
    EXPECT_EQ(shipped->policy.rights_of(who), built_in.rights_of(who));
    EXPECT_EQ(*shipped->policy.limits_of(who), *built_in.limits_of(who));
  }
}

}  // namespace
}  // namespace hb::test
