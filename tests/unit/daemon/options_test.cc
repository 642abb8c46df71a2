// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "app/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "support/temp_dir.h"

namespace hb::test {
namespace {

tl::expected<app::Settings, app::Exit> read(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "hipbrokerd");
  return app::read_settings(static_cast<int>(arguments.size()), arguments.data());
}

TEST(Options, SocketBringsItsAdminSocket) {
  const auto settings = read({"--socket", "/tmp/x/broker.sock"});
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->socket, "/tmp/x/broker.sock");
  EXPECT_EQ(settings->admin_socket, "/tmp/x/admin/admin.sock");
}

TEST(Options, UserMeansTheRuntimeDirectory) {
  ::setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
  const auto settings = read({"--user"});
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->socket, "/run/user/7/hipbroker/broker.sock");
  EXPECT_EQ(settings->admin_socket, "/run/user/7/hipbroker/admin/admin.sock");
  ::unsetenv("XDG_RUNTIME_DIR");
  const auto refused = read({"--user"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, app::kExitUsage);
}

TEST(Options, UserWithANameIsWhomToBecome) {
  const auto named = read({"--user", "nobody", "--socket", "/x/y.sock"});
  ASSERT_TRUE(named);
  EXPECT_EQ(named->user, "nobody");
  EXPECT_EQ(named->socket, "/x/y.sock");
  const TempDir directory;
  const std::string file = directory / "c.toml";
  write_file(file, "user = \"hipbroker\"\nsandbox = \"off\"\n");
  const auto from_file = read({"--config", file.c_str()});
  ASSERT_TRUE(from_file);
  EXPECT_EQ(from_file->user, "hipbroker");
  EXPECT_FALSE(from_file->sandbox);
  const auto over = read({"--config", file.c_str(), "--user", "nobody", "--sandbox", "on"});
  ASSERT_TRUE(over);
  EXPECT_EQ(over->user, "nobody");
  EXPECT_TRUE(over->sandbox);
  // A daemon of one's own is one's own, whatever the node's configuration says.
  ::setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
  const auto personal = read({"--config", file.c_str(), "--user"});
  ::unsetenv("XDG_RUNTIME_DIR");
  ASSERT_TRUE(personal);
  EXPECT_EQ(personal->user, "");
}

TEST(Options, CommandLineOverFile) {
  const TempDir directory;
  const std::string file = directory / "c.toml";
  write_file(file,
             "socket = \"/from/file.sock\"\nlog_level = \"error\"\n[limits]\nended_export_seconds = 2\n");
  const auto from_file = read({"--config", file.c_str()});
  ASSERT_TRUE(from_file);
  EXPECT_EQ(from_file->socket, "/from/file.sock");
  EXPECT_EQ(from_file->admin_socket, "/from/admin/admin.sock");
  EXPECT_EQ(from_file->log_level, observe::Level::kError);
  EXPECT_EQ(from_file->ended_export_ns, 2'000'000'000u);
  const auto over = read({"--config", file.c_str(), "--socket", "/cli/b.sock", "--log-level", "debug"});
  ASSERT_TRUE(over);
  EXPECT_EQ(over->socket, "/cli/b.sock");
  EXPECT_EQ(over->admin_socket, "/cli/admin/admin.sock");
  EXPECT_EQ(over->log_level, observe::Level::kDebug);
}

TEST(Options, ExitCodes) {
  EXPECT_EQ(read({"--help"}).error().code, app::kExitOk);
  const auto version = read({"--version"});
  EXPECT_EQ(version.error().code, app::kExitOk);
  EXPECT_EQ(version.error().lines.front().substr(0, 11), "hipbrokerd ");
  for (const std::vector<const char*>& bad :
       std::vector<std::vector<const char*>>{{"--sokcet", "/x"},
                                             {"--socket", "relative"},
                                             {"--log-level", "loud"},
                                             {"--config", "/nowhere/c.toml"},
                                             {"--user", "--socket", "/x/y"},
                                             {"stray"}}) {
    const auto refused = read(bad);
    ASSERT_FALSE(refused) << bad[0];
    EXPECT_EQ(refused.error().code, app::kExitUsage) << bad[0];
    EXPECT_FALSE(refused.error().lines.empty());
  }
}

// An empty argument is a variable that a script forgot to set, not a wish for the default.
TEST(Options, WhatIsWrongWithAnArgumentIsSaidAndEscaped) {
  using testing::HasSubstr;
  const std::string longest = "/" + std::string(107, 'x');
  const std::vector<std::pair<std::vector<const char*>, std::vector<const char*>>> cases{
      {{"--socket", ""}, {"--socket is \"\", expected an absolute path"}},
      {{"--grace", "5"}, {"--grace is \"5\", expected a time"}},
      {{"--sandbox", "yes"}, {"--sandbox is \"yes\", expected on or off"}},
      {{"--user", "--socket", "/x/y"}, {"not together with --socket"}},
      {{"--config", ""}, {"--config is \"\", expected the path of a file"}},
      {{"--log-level", ""}, {"--log-level is \"\", expected one of"}},
      {{"--log-level", "a\x1b[31m\xe2\x80\xae"}, {"--log-level is \"a\\x1B[31m\\u{202E}\""}},
      {{"--socket", "/"}, {"--socket is \"/\", which ends in '/': expected the path of a socket"}},
      {{"--socket", "/run/x/"}, {"--socket is \"/run/x/\", which ends in '/'"}},
      {{"--socket", longest.c_str()}, {"108 bytes", "107"}},
      {{"--socket", "re\x1blative"}, {"--socket is \"re\\x1Blative\", expected an absolute path"}},
      {{"--config", "/no\x1bwhere"}, {"/no\\x1Bwhere: open: ENOENT"}},
      {{"str\x1b\nay"}, {"str\\x1B\\x0Aay"}}};
  for (const auto& [arguments, parts] : cases) {
    const auto refused = read(arguments);
    ASSERT_FALSE(refused) << arguments[0];
    EXPECT_EQ(refused.error().code, app::kExitUsage);
    for (const char* part : parts) EXPECT_THAT(refused.error().lines.front(), HasSubstr(part));
  }
}

// --user and --socket bring an admin socket whose path is longer than theirs.
TEST(Options, AnAdminSocketThatDoesNotFitIsAUsageError) {
  const std::string runtime = "/run/" + std::string(80, 'x');
  ::setenv("XDG_RUNTIME_DIR", runtime.c_str(), 1);
  for (const auto& refused :
       {read({"--user"}), read({"--socket", (runtime + "/hipbroker/b.sock").c_str()})}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, app::kExitUsage);
    EXPECT_THAT(refused.error().lines.front(), testing::HasSubstr("/admin/admin.sock"));
    EXPECT_THAT(refused.error().lines.front(), testing::HasSubstr("112 bytes"));
    EXPECT_THAT(refused.error().lines.front(), testing::HasSubstr("107"));
  }
  ::unsetenv("XDG_RUNTIME_DIR");
}

TEST(Options, ThePolicyOfTheCommandLineComesBeforeThatOfTheConfiguration) {
  const TempDir directory;
  const std::string config = directory / "c.toml";
  const std::string one = directory / "one.toml";
  const std::string two = directory / "two.toml";
  write_file(config, "policy = \"" + one + "\"\n");
  write_file(one, "[[rule]]\nallow = \"all\"\n");
  write_file(two, "[[rule]]\nallow = [\"list\"]\n[[rule]]\ndeny = \"all\"\n");
  const auto from_config = read({"--config", config.c_str()});
  ASSERT_TRUE(from_config) << from_config.error().lines.front();
  ASSERT_TRUE(from_config->policy);
  EXPECT_EQ(from_config->policy->policy.rules().size(), 1u);
  EXPECT_EQ(from_config->policy_source.file, one);
  const auto over = read({"--config", config.c_str(), "--policy", two.c_str()});
  ASSERT_TRUE(over);
  EXPECT_EQ(over->policy->policy.rules().size(), 2u);
  EXPECT_EQ(over->policy_source.file, two);
  EXPECT_TRUE(over->policy_source.named);
  const auto empty = read({"--policy", ""});
  ASSERT_FALSE(empty);
  EXPECT_THAT(empty.error().lines.front(), testing::HasSubstr("--policy is \"\""));
}

// It is read again later, when the working directory may be another.
TEST(Options, APolicyNamedRelativeIsFoundAgain) {
  const TempDir directory;
  write_file(directory / "c.toml", "");
  write_file(directory / "p.toml", "[[rule]]\nallow = \"all\"\n");
  const std::string before = std::filesystem::current_path();
  std::filesystem::current_path(directory.path());
  const auto settings = read({"--policy", "p.toml", "--config", "c.toml"});
  std::filesystem::current_path(before);
  ASSERT_TRUE(settings);
  EXPECT_TRUE(settings->policy_source.read());
}

}  // namespace
}  // namespace hb::test
