// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// hipbrokerctl against a real daemon with real exports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/ctl_fixture.h"
#include "hipbroker/hipbroker.h"
#include "support/fixture.h"

namespace hb::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// One session of this process, one export of 64 MiB in 3 chunks, and an import of it.
class Sharing {
 public:
  Sharing(const std::string& socket, const char* name) {
    hb_client_options where = HB_CLIENT_OPTIONS_INIT;
    where.socket = socket.c_str();
    where.deadline_ns = hb_deadline_in(kWatchdogNs);
    must(hb_client_open(&where, &client_, &error_));
    hb_memory_options size = HB_MEMORY_OPTIONS_INIT;
    size.bytes = 64u << 20;
    size.chunk_bytes = 22u << 20;
    must(hb_memory_alloc(client_, &size, &memory_, &error_));
    static const hb_acl_entry kReader{HB_ACL_UID, 1002, HB_ACCESS_READ};
    hb_export_options what = HB_EXPORT_OPTIONS_INIT;
    what.name = name;
    what.ptr = hb_memory_ptr(memory_);
    what.bytes = hb_memory_bytes(memory_);
    what.acl = &kReader;
    what.acl_count = 1;
    must(hb_export_create(client_, &what, &export_, &error_));
    hb_export_get_info(export_, &info_);
    hb_import_options want = HB_IMPORT_OPTIONS_INIT;
    want.key = &info_.key;
    must(hb_import_open(client_, &want, &import_, &error_));
  }
  ~Sharing() {
    hb_import_close(import_);
    hb_export_destroy(export_);
    hb_memory_free(memory_);
    hb_client_close(client_);
  }
  Sharing(const Sharing&) = delete;
  Sharing& operator=(const Sharing&) = delete;

  [[nodiscard]] const hb_export_info& info() const { return info_; }
  [[nodiscard]] std::string id() const { return std::to_string(info_.export_id); }
  [[nodiscard]] std::string key() const {
    char text[HB_KEY_TEXT_BYTES];
    hb_key_to_text(&info_.key, text);
    return text;
  }

 private:
  void must(hb_status status) const { ASSERT_EQ(status, HB_OK) << error_.message; }

  hb_error error_ = HB_ERROR_INIT;
  hb_client* client_ = nullptr;
  hb_memory* memory_ = nullptr;
  hb_export* export_ = nullptr;
  hb_import* import_ = nullptr;
  hb_export_info info_ = HB_EXPORT_INFO_INIT;
};

class CliProgram : public WithCtl<> {};

void expect_width(const std::string& text, std::size_t width) {
  std::istringstream in(text);
  // Bytes are columns here: the names of these tests are ASCII but for the ellipsis of three bytes.
  for (std::string line; std::getline(in, line);) EXPECT_LE(line.size(), width + 4) << line;
}

TEST_F(CliProgram, ListsWhatIsShared) {
  const Sharing shared(daemon().socket(), "kv/0");
  const Ran ran = ctl({"ls"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_THAT(ran.out, HasSubstr("NAME\n"));
  EXPECT_THAT(ran.out, HasSubstr(shared.id()));
  EXPECT_THAT(ran.out, HasSubstr(std::to_string(::getpid())));
  EXPECT_THAT(ran.out, HasSubstr("64.0 MiB"));
  EXPECT_THAT(ran.out, HasSubstr("kv/0\n"));
  EXPECT_THAT(ctl({"ls", "--no-header"}).out, Not(HasSubstr("NAME")));
  EXPECT_EQ(ctl({"ls", "--names"}).out, "kv/0\n");
  EXPECT_EQ(ctl({"ls", "--names", "kv/"}).out, "kv/0\n");
  EXPECT_EQ(ctl({"ls", "--names", "other/"}).out, "");
}

TEST_F(CliProgram, ListAsJson) {
  const Sharing shared(daemon().socket(), "kv/0");
  const json listed = ctl_json({"ls"});
  EXPECT_EQ(listed["view"], "admin");
  ASSERT_EQ(listed["exports"].size(), 1u);
  const json& e = listed["exports"][0];
  EXPECT_EQ(e["export_id"], shared.info().export_id);
  EXPECT_EQ(e["name"], "kv/0");
  EXPECT_EQ(e["bytes"], 64u << 20);
  EXPECT_EQ(e["chunks"], 3);
  EXPECT_EQ(e["leases"], 1);
  EXPECT_EQ(e["owner"]["pid"], ::getpid());
  EXPECT_EQ(e["owner_uid"], ::getuid());
  EXPECT_EQ(e["kind"], "memfd");
  EXPECT_TRUE(e["device"].is_null());
}

TEST_F(CliProgram, WhoNamesTheHolders) {
  const Sharing shared(daemon().socket(), "kv/0");
  const Ran ran = ctl({"who", "kv/0"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr(std::to_string(::getpid())));
  EXPECT_THAT(ran.out, HasSubstr("kv/0\n"));
  EXPECT_EQ(ctl({"who"}).out.substr(0, 20), ran.out.substr(0, 20));
  const json held = ctl_json({"who", "--id", shared.id()});
  ASSERT_EQ(held["holders"].size(), 1u);
  EXPECT_EQ(held["holders"][0]["process"]["pid"], ::getpid());
  EXPECT_EQ(held["holders"][0]["export_name"], "kv/0");
  EXPECT_EQ(held["holders"][0]["access"], "r");
  EXPECT_EQ(held["holders"][0]["bytes"], 64u << 20);
}

TEST_F(CliProgram, ShowByNameUidNameIdAndKey) {
  const Sharing shared(daemon().socket(), "kv/0");
  const std::string own = std::to_string(::getuid());
  const std::vector<std::vector<std::string>> ways{{"show", "kv/0"},
                                                   {"show", own + ":kv/0"},
                                                   {"show", "kv/0", "--owner", own},
                                                   {"show", "--id", shared.id()},
                                                   {"show", shared.key()}};
  for (const auto& way : ways) {
    const Ran ran = ctl(way);
    EXPECT_EQ(ran.exit_code, 0) << way[1] << ": " << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("67108864 bytes) in 3 chunks"));
    EXPECT_THAT(ran.out, HasSubstr("uid 1002 r"));
  }
  const json shown = ctl_json({"show", "kv/0"});
  EXPECT_EQ(shown["export"]["export_id"], shared.info().export_id);
  ASSERT_EQ(shown["chunks"].size(), 3u);
  EXPECT_EQ(shown["chunks"][2]["offset"], 44u << 20);
  EXPECT_EQ(shown["chunks"][2]["bytes"], 20u << 20);
  EXPECT_EQ(shown["acl"].dump(), R"([{"access":"r","uid":1002}])");
}

// Design rule 9: nothing that is shown helps to make a key.
TEST_F(CliProgram, NoKeyIsShown) {
  const Sharing shared(daemon().socket(), "kv/0");
  for (const std::vector<std::string>& verb :
       std::vector<std::vector<std::string>>{{"ls"}, {"who"}, {"show", "kv/0"}}) {
    for (const bool as_json : {false, true}) {
      std::vector<std::string> arguments = verb;
      if (as_json) arguments.push_back("--json");
      EXPECT_THAT(ctl(arguments).out, Not(HasSubstr(shared.key().substr(70))));
    }
  }
}

TEST_F(CliProgram, PingSaysWhoAnswers) {
  const Ran ran = ctl({"ping"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("hipbrokerd "));
  EXPECT_THAT(ran.out, HasSubstr("admin view"));
  EXPECT_THAT(ran.out, HasSubstr("descriptors"));
  EXPECT_THAT(ran.out, HasSubstr("sandbox: no new privileges, no capabilities, system calls by list"));
  EXPECT_EQ(ctl_json({"ping"})["socket"], daemon().admin_socket());
  const json own = ctl_json({"ping", "--no-admin"});
  EXPECT_EQ(own["view"], "own");
  EXPECT_EQ(own["socket"], daemon().socket());
  EXPECT_TRUE(own["counters"].is_null());
  EXPECT_TRUE(own["sandbox"].is_null());
  EXPECT_EQ(ctl_json({"ping"})["sandbox"]["no_capabilities"], true);
  EXPECT_EQ(own["broker_id"].get<std::string>().size(), 32u);
}

TEST_F(CliProgram, VersionNamesAllThree) {
  const json version = ctl_json({"version"});
  EXPECT_EQ(version["hipbrokerctl"], hb_library_version());
  EXPECT_EQ(version["libhipbroker"], hb_library_version());
  EXPECT_THAT(version["daemon"]["version"].get<std::string>(), HasSubstr("hipbrokerd"));
  EXPECT_THAT(ctl({"version"}).out, HasSubstr("daemon: hipbrokerd"));
}

TEST_F(CliProgram, TheAdminSeesAllAndUidZeroOfTheMainSocketDoesNot) {
  if (!may_change_uid()) return;
  ProcessOptions other;
  other.uid = 1001;
  const Ran refused = ctl({"ping", "--admin"}, other);
  EXPECT_NE(refused.exit_code, 0) << "the admin socket let uid 1001 in";
  EXPECT_EQ(refused.out, "");

  const Sharing shared(daemon().socket(), "mine");
  EXPECT_EQ(ctl({"ls", "--names"}, other).out, "");
  ProcessOptions reader;
  reader.uid = 1002;
  EXPECT_EQ(ctl({"ls", "--names"}, reader).out, "mine\n");
  EXPECT_EQ(ctl({"show", std::to_string(::getuid()) + ":mine"}, reader).exit_code, 0);
  EXPECT_EQ(ctl({"show", "mine"}, reader).exit_code, 1) << "uid 1002 has no such name of its own";
}

TEST_F(CliProgram, ExitCodes) {
  EXPECT_EQ(ctl({"show", "nothing/here"}).exit_code, 1);
  EXPECT_EQ(ctl({"who", "--id", "77"}).exit_code, 1);
  EXPECT_EQ(ctl({"show"}).exit_code, 64);
  EXPECT_EQ(ctl({"show", "bad//name"}).exit_code, 64);
  EXPECT_EQ(ctl({"frobnicate"}).exit_code, 64);
  EXPECT_EQ(ctl({"ls", "--frobnicate"}).exit_code, 64);
  EXPECT_EQ(ctl({"--admin", "--no-admin", "ls"}).exit_code, 64);
  EXPECT_EQ(run_ctl({"ls", "--socket", daemon().dir() / "no.sock"}).exit_code, 69);
  EXPECT_EQ(run_ctl({"version", "--socket", daemon().dir() / "no.sock"}).exit_code, 0);
  EXPECT_EQ(run_program({"/bin/sh", "-c", std::string(HB_TEST_CTL) + " version >/dev/full"}).exit_code, 71);
}

TEST_F(CliProgram, AnErrorIsOneLineWithTheWayOut) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"show", "nothing/here"}, {"show"}, {"frobnicate"}, {"show", "bad//name"}}) {
    const Ran ran = ctl(arguments);
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_EQ(ran.err.rfind("hipbrokerctl: ", 0), 0u) << ran.err;
  }
  EXPECT_THAT(ctl({"show", "nothing/here"}).err, HasSubstr("hipbrokerctl ls"));
  EXPECT_THAT(ctl({"doktor"}).err, HasSubstr("'doktor' is no verb"));
  const std::string none = daemon().dir() / "no.sock";
  const Ran ran = run_ctl({"ls", "--socket", none});
  EXPECT_THAT(ran.err, HasSubstr(none));
  EXPECT_THAT(ran.err, HasSubstr("`hipbrokerd` (as root, for the node)"));
}

TEST_F(CliProgram, PingWaitsForADaemonThatIsStarting) {
  daemon().kill9();
  Process waiting({HB_TEST_CTL, "--socket", daemon().socket(), "ping", "--wait", "20"}, {});
  daemon().start();
  const std::optional<int> status = waiting.wait();
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(*status, 0) << describe_exit(*status);
}

TEST_F(CliProgram, TablesFitATerminal) {
  const std::string name = "rl/weights/" + std::string(200, 'w');
  const Sharing shared(daemon().socket(), name.c_str());
  for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{{"ls"}, {"who"}}) {
    std::vector<std::string> arguments{"--socket", daemon().socket()};
    arguments.insert(arguments.end(), verb.begin(), verb.end());
    const Ran narrow = run_ctl_at_terminal(80, arguments);
    EXPECT_EQ(narrow.exit_code, 0) << narrow.err;
    EXPECT_THAT(narrow.out, HasSubstr("rl/w"));
    expect_width(narrow.out, 80);
    EXPECT_THAT(ctl(verb).out, HasSubstr(name)) << "cut in a pipe";
  }
  const Ran own = run_ctl_at_terminal(80, {"--socket", daemon().socket(), "--no-admin", "ls"});
  EXPECT_THAT(own.out, HasSubstr("the admin socket shows all"));
  EXPECT_THAT(ctl({"--no-admin", "ls"}).out, Not(HasSubstr("admin socket")));
}

TEST_F(CliProgram, HostileNamesAndCommandsDoNotReachTheTerminal) {
  const std::string name =
      "a\xe2\x80\xae"
      "b/重み";  // right-to-left override, wide characters
  char before[16];
  ASSERT_EQ(::prctl(PR_GET_NAME, before), 0);
  ASSERT_EQ(::prctl(PR_SET_NAME, "\x1b[31mred\x07"), 0);
  {
    const Sharing shared(daemon().socket(), name.c_str());
    ASSERT_EQ(::prctl(PR_SET_NAME, before), 0);
    for (const std::vector<std::string>& verb :
         std::vector<std::vector<std::string>>{{"ls"}, {"ls", "--names"}, {"who"}, {"show", name}}) {
      const Ran ran = ctl(verb);
      EXPECT_EQ(ran.exit_code, 0) << ran.err;
      EXPECT_THAT(ran.out, Not(HasSubstr("\x1b")));
      EXPECT_THAT(ran.out, Not(HasSubstr("\x07")));
      EXPECT_THAT(ran.out, Not(HasSubstr("\xe2\x80\xae")));
      EXPECT_THAT(ran.out, HasSubstr("重み"));
    }
    EXPECT_EQ(ctl({"ls", "--names"}).out, "a\\u{202E}b/重み\n");
    EXPECT_EQ(ctl_json({"ls"})["exports"][0]["name"], name);
    EXPECT_EQ(ctl_json({"ls", "--names"})["exports"][0]["name"], name);
  }
}

}  // namespace
}  // namespace hb::test
