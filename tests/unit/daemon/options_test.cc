// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "app/options.h"

#include <gtest/gtest.h>

#include <cstdlib>

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

}  // namespace
}  // namespace hb::test
