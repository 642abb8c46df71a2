// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "app/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/temp_dir.h"

namespace hb::test {
namespace {

using app::ConfigErrors;
using app::parse_config;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Config, EmptyIsAllDefaults) {
  const auto config = parse_config("", "f.toml");
  ASSERT_TRUE(config);
  EXPECT_FALSE(config->socket);
  EXPECT_FALSE(config->log_level);
  EXPECT_TRUE(config->allow_driver.empty());
}

TEST(Config, GraceIsATimeOfAnHourAtMost) {
  for (const char* wrong : {"", "30", "s", "-1s", "2h", "61min", "1.5s", "10 s", "5d"})
    EXPECT_THAT(parse_config("grace = \"" + std::string(wrong) + "\"\n", "f").error(),
                ElementsAre(HasSubstr("expected a time of at most 1h")))
        << wrong;
  EXPECT_EQ(app::parse_grace("500ms"), 500'000'000u);
  EXPECT_EQ(app::parse_grace("30s"), 30'000'000'000u);
  EXPECT_EQ(app::parse_grace("1h"), 3'600'000'000'000u);
  EXPECT_EQ(app::parse_grace("0s"), 0u);
}

TEST(Config, EveryKey) {
  const auto config = parse_config(R"(socket = "/run/x/broker.sock"
admin_socket = "/run/x/a/admin.sock"
policy = "/etc/x/policy.toml"
log_level = "debug"
user = "hipbroker"
sandbox = "off"
grace = "2min"
[limits]
ended_exports = 10
ended_export_seconds = 20
[handles]
allow_driver = ["char 226:128", "anon [amdgpu]"]
)",
                                   "f.toml");
  ASSERT_TRUE(config) << config.error().front();
  EXPECT_EQ(config->socket, "/run/x/broker.sock");
  EXPECT_EQ(config->admin_socket, "/run/x/a/admin.sock");
  EXPECT_EQ(config->log_level, observe::Level::kDebug);
  EXPECT_EQ(config->user, "hipbroker");
  EXPECT_EQ(config->sandbox, false);
  EXPECT_EQ(config->ended_exports, 10u);
  EXPECT_EQ(config->ended_export_seconds, 20u);
  ASSERT_EQ(config->allow_driver.size(), 2u);
  EXPECT_EQ(config->allow_driver[0].major, 226u);
  EXPECT_EQ(config->allow_driver[0].minor, 128u);
  EXPECT_EQ(config->allow_driver[1].name, "[amdgpu]");
  EXPECT_EQ(config->policy, "/etc/x/policy.toml");
  EXPECT_EQ(config->grace_ns, 120'000'000'000u);
}

TEST(Config, ThePolicyIsAFileThatCanBeReadAgain) {
  EXPECT_THAT(parse_config("policy = \"policy.toml\"\n", "f").error(),
              ElementsAre("f:1:10: policy is \"policy.toml\", expected the absolute path of a file"));
  EXPECT_THAT(parse_config("policy = \"/a\\u0000b\"\n", "f").error(),
              ElementsAre(HasSubstr("f:1:10: policy is \"/a")));
  EXPECT_THAT(parse_config("[policy]\npersist_uids = [1]\n", "f").error(),
              ElementsAre("f:1:1: policy is a table, expected a string"));
}

TEST(Config, UserAndSandbox) {
  EXPECT_TRUE(*parse_config("sandbox = \"on\"\n", "f")->sandbox);
  EXPECT_THAT(parse_config("user = \"\"\nsandbox = \"yes\"\n", "f").error(),
              ElementsAre("f:1:8: user is \"\", expected the name or the number of a user",
                          "f:2:11: sandbox is \"yes\", expected \"on\" or \"off\""));
  EXPECT_THAT(parse_config("sandbox = true\n", "f").error(),
              ElementsAre("f:1:11: sandbox is a boolean, expected a string"));
}

TEST(Config, AllErrorsAtOnceWithLineAndColumn) {
  const auto config = parse_config(R"(sokcet = "/run/x"
socket = 5
log_level = "loud"
colour = true
[limits]
ended_exports = 0
ended_export_second = 3
[handles]
allow_driver = ["char 226", "char 1:2", 7]
)",
                                   "f.toml");
  ASSERT_FALSE(config);
  EXPECT_THAT(
      config.error(),
      ElementsAre(
          "f.toml:1:1: unknown key \"sokcet\"; did you mean \"socket\"?",
          "f.toml:2:10: socket is an integer, expected a string",
          "f.toml:3:13: log_level is \"loud\", expected one of debug, info, warning, error",
          "f.toml:4:1: unknown key \"colour\"", "f.toml:6:17: ended_exports is 0, expected 1 to 1048576",
          "f.toml:7:1: unknown key \"ended_export_second\" in [limits]; did you mean "
          "\"ended_export_seconds\"?",
          "f.toml:9:17: allow_driver holds \"char 226\", expected \"char MAJOR:MINOR\" or \"anon NAME\"",
          "f.toml:9:41: allow_driver holds an integer, expected \"char MAJOR:MINOR\" or \"anon NAME\""));
}

TEST(Config, SyntaxErrorsNameTheirPlace) {
  const auto config = parse_config("socket = \"/a\"\nlog_level = = 3\n", "f.toml");
  ASSERT_FALSE(config);
  ASSERT_EQ(config.error().size(), 1u);
  EXPECT_THAT(config.error()[0], HasSubstr("f.toml:2:13: "));
}

TEST(Config, TypesAndPaths) {
  EXPECT_THAT(parse_config("socket = \"run/x\"\n", "f").error(),
              ElementsAre("f:1:10: socket is \"run/x\", expected an absolute path"));
  EXPECT_THAT(parse_config("limits = 3\n", "f").error(),
              ElementsAre("f:1:10: limits is an integer, expected the table [limits]"));
  EXPECT_THAT(parse_config("[handles]\nallow_driver = \"char 1:2\"\n", "f").error(),
              ElementsAre("f:2:16: allow_driver is a string, expected an array of strings"));
}

TEST(Config, Files) {
  const TempDir directory;
  write_file(directory / "c.toml", "log_level = \"error\"\n");
  const auto config = app::read_config(directory / "c.toml");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->log_level, observe::Level::kError);
  const auto missing = app::read_config(directory / "none.toml");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error(), ElementsAre(HasSubstr("none.toml: open: ENOENT")));
  const auto folder = app::read_config(directory.path());
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error(), ElementsAre(HasSubstr("is a directory, expected a regular file")));
}

TEST(Config, OnlyARegularFileIsReadAndNeverWaitedFor) {
  const TempDir directory;
  ASSERT_EQ(::mkfifo((directory / "fifo").c_str(), 0600), 0);
  const auto fifo = app::read_config(directory / "fifo");
  ASSERT_FALSE(fifo);
  EXPECT_THAT(fifo.error(), ElementsAre(HasSubstr("fifo: is a FIFO, expected a regular file")));
  const auto device = app::read_config("/dev/zero");
  ASSERT_FALSE(device);
  EXPECT_THAT(device.error(), ElementsAre(HasSubstr("/dev/zero: is a device, expected a regular file")));
}

TEST(Config, AFileOfOneMebibyteAtMost) {
  const TempDir directory;
  write_file(directory / "most.toml", std::string((1u << 20) - 1, '#') + "\n");
  EXPECT_TRUE(app::read_config(directory / "most.toml"));
  write_file(directory / "more.toml", std::string(1u << 20, '#') + "\n");
  const auto more = app::read_config(directory / "more.toml");
  ASSERT_FALSE(more);
  EXPECT_THAT(more.error(), ElementsAre(HasSubstr("has 1048577 bytes, the limit is 1048576")));
}

TEST(Config, SocketPathsTheKernelCannotBind) {
  const auto refusal = [](const std::string& text) {
    const auto config = parse_config(text, "f");
    return config ? ConfigErrors{"accepted"} : config.error();
  };
  const std::string most = "/" + std::string(106, 'x');
  EXPECT_TRUE(parse_config("socket = \"" + most + "\"\nadmin_socket = \"/run/a.sock\"\n", "f"));
  EXPECT_THAT(refusal("socket = \"" + most + "y\"\nadmin_socket = \"/run/a.sock\"\n"),
              ElementsAre("f:1:10: socket is \"" + most +
                          "y\", a path of 108 bytes; the kernel's limit for a socket's path is 107"));
  EXPECT_THAT(refusal("admin_socket = \"" + most + "y\"\n"),
              ElementsAre(testing::AllOf(HasSubstr("f:1:16: admin_socket is "), HasSubstr("108 bytes"),
                                         HasSubstr("107"))));
  EXPECT_THAT(refusal("admin_socket = \"/run/x/\"\n"),
              ElementsAre("f:1:16: admin_socket is \"/run/x/\", which ends in '/': expected the path of a "
                          "socket, such as \"/run/x/broker.sock\""));
  EXPECT_THAT(refusal("socket = \"/\"\n"),
              ElementsAre(HasSubstr("f:1:10: socket is \"/\", which ends in '/'")));
  EXPECT_THAT(refusal("socket = \"\"\n"), ElementsAre("f:1:10: socket is \"\", expected an absolute path"));
  EXPECT_THAT(refusal("socket = \"/run/a\\u0000b\"\n"), ElementsAre(HasSubstr("f:1:10: socket is ")));
}

// Nobody wrote the path of the admin socket beside the socket, so the error says where it comes from.
TEST(Config, TheAdminSocketBesideMustFitToo) {
  const std::string socket = "/" + std::string(95, 'd') + "/b.sock";
  const auto config = parse_config("socket = \"" + socket + "\"\n", "f");
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error(), ElementsAre(testing::AllOf(
                                  HasSubstr("f:1:10: socket is "), HasSubstr("/admin/admin.sock"),
                                  HasSubstr("113 bytes"), HasSubstr("107"), HasSubstr("admin_socket"))));
  EXPECT_TRUE(parse_config("socket = \"" + socket + "\"\nadmin_socket = \"/run/a.sock\"\n", "f"));
}

TEST(Config, OneSocketCannotBeBoth) {
  for (const char* text : {"socket = \"/run/b.sock\"\nadmin_socket = \"/run/b.sock\"\n",
                           "socket = \"/run/b.sock\"\nadmin_socket = \"/run//./b.sock\"\n",
                           "\nadmin_socket = \"/run/hipbroker/broker.sock\"\n"}) {
    const auto config = parse_config(text, "f");
    ASSERT_FALSE(config) << text;
    EXPECT_THAT(config.error(), ElementsAre(testing::AllOf(HasSubstr("f:2:16: admin_socket is "),
                                                           HasSubstr("the same socket as "))))
        << text;
  }
}

TEST(Config, DriverRules) {
  for (const char* bad :
       {"", "char", "char 1", "char 1:", "char :1", "char 1:2x", "char -1:2", "anon ", "block 1:2"}) {
    EXPECT_FALSE(app::parse_driver_rule(bad)) << bad;
  }
}

}  // namespace
}  // namespace hb::test
