// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace {

int shell(const std::string& command) { return std::system(command.c_str()); }

const std::string kCtl = HB_TEST_CTL;

TEST(CliCompletion, BashScriptParsesAndCompletes) {
  EXPECT_EQ(shell(kCtl + " completion bash | bash -n"), 0);
  EXPECT_EQ(shell("bash -c 'source <(" + kCtl +
                  " completion bash); COMP_WORDS=(hipbrokerctl ver); COMP_CWORD=1; "
                  "_hipbrokerctl; [[ ${COMPREPLY[0]} == version ]]'"),
            0);
}

// A name is text of another user; a shell must never run it.
TEST(CliCompletion, ANameIsNeverExpanded) {
  EXPECT_EQ(shell("bash -c 'source <(" + kCtl +
                  " completion bash); hipbrokerctl() { echo \"\\$(exit 7; echo ran)\"; }; "
                  "COMP_WORDS=(hipbrokerctl show \"\"); COMP_CWORD=2; _hipbrokerctl; "
                  "[[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *exit* ]]'"),
            0);
}

// `ls --names` prints them escaped; what is escaped names nothing, and a candidate is shown on the terminal.
TEST(CliCompletion, ANameThatHadToBeEscapedIsNotOffered) {
  EXPECT_EQ(shell("bash -c 'source <(" + kCtl +
                  " completion bash); hipbrokerctl() { printf \"%s\\n\" \"a\\\\u{202E}b\" plain; }; "
                  "COMP_WORDS=(hipbrokerctl show \"\"); COMP_CWORD=2; _hipbrokerctl; "
                  "[[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == plain ]]'"),
            0);
}

TEST(CliCompletion, EveryVerbIsInEveryScript) {
  for (const char* verb : {"ls", "show", "who", "why", "revoke", "check-policy", "reload", "quota", "scope",
                           "audit", "metrics", "ping", "doctor", "version", "completion"})
    for (const char* name : {"bash", "zsh", "fish"})
      EXPECT_EQ(shell(kCtl + " completion " + name + " | grep -qw -- " + verb), 0) << name << ' ' << verb;
}

// The man page, the completions and --help speak of the same verbs and options.
TEST(CliCompletion, EveryVerbAndOptionIsInTheManPage) {
  const std::string page = "sed 's/\\\\-/-/g' " HB_TEST_MAN_PAGE;
  for (const char* verb : {"ls", "show", "who", "why", "revoke", "check-policy", "reload", "quota", "scope",
                           "audit", "metrics", "ping", "doctor", "version", "completion"}) {
    EXPECT_EQ(shell(page + " | grep -qE '^\\.BR? " + verb + "'"), 0) << verb;
    EXPECT_EQ(
        shell("for option in $(" + kCtl + " " + verb + " --help | grep -oE -- '--[a-z-]+' | sort -u); do " +
              page + " | grep -q -- \"$option\" || { echo \"$option\"; exit 1; }; done"),
        0)
        << verb;
  }
}

TEST(CliCompletion, AnUnknownShellIsAUsageError) {
  EXPECT_EQ(WEXITSTATUS(shell(kCtl + " completion tcsh 2>/dev/null")), 64);
}

}  // namespace
