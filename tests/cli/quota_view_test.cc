// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What `quota` and `metrics` make of accounts.
#include "quota_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>

#include "metrics_text.h"
#include "number.h"

namespace hb::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Sample {
  std::vector<hb_use> uses{{"sessions", 2, 4096},
                           {"exports", 4, 4},
                           {"bytes", (240ull << 30) + 5, 300ull << 30},
                           {"descriptors", 0, HB_UNLIMITED},
                           {"leases", 7, HB_UNLIMITED},
                           {"groups", 1, 0}};
  hb_account one{"main", 0, 2001, uses.data(), uses.size()};
  hb_account scope{"job-7", 1, 0, uses.data(), uses.size()};
  std::vector<const hb_account*> all{&one, &scope};
};

TEST(CliQuota, TheTableHasWhatIsUsedOrLimited) {
  const Sample sample;
  EXPECT_EQ(accounts_table({sample.all.data(), 1}).render({}),
            "SCOPE   UID  RESOURCE    USED      LIMIT  OF IT\n"
            "main   2001  sessions       2       4096     0%\n"
            "main   2001  exports        4          4   100%\n"
            "main   2001  bytes     240.0G       300G    80%\n"
            "main   2001  leases         7  unlimited      -\n"
            "main   2001  groups         1          0   over\n");
  EXPECT_THAT(accounts_table(sample.all).render({80, true}), HasSubstr("job-7   all  exports"));
}

TEST(CliQuota, JsonHasEveryResource) {
  const Sample sample;
  const Json said = accounts_json(sample.all, true);
  EXPECT_EQ(said["view"], "admin");
  EXPECT_EQ(said["accounts"][0]["uid"], 2001);
  EXPECT_EQ(said["accounts"][0]["resources"]["exports"]["used"], 4);
  EXPECT_EQ(said["accounts"][0]["resources"]["exports"]["limit"], 4);
  EXPECT_TRUE(said["accounts"][0]["resources"]["descriptors"]["limit"].is_null());
  EXPECT_TRUE(said["accounts"][1]["uid"].is_null());
}

TEST(CliQuota, WhatWasSetSaysHowLongAndHowToKeepIt) {
  const std::vector<hb_limit> limits{{"exports", 1000}, {"bytes", 300ull << 30}, {"leases", HB_UNLIMITED}};
  EXPECT_EQ(quota_set_text({1001, {}, ""}, limits, false, 1),
            "set for uid 1001: exports 1000, bytes 300G, leases unlimited\n"
            "1 live session has it from now on; what exists stays\n"
            "it lasts until the node reboots; to keep it, add to /etc/hipbroker/policy.toml:\n\n"
            "[[quota.override]]\nuid = [1001]\nscope = [\"main\"]\nexports = 1000\nbytes = \"300G\"\n"
            "leases = 9223372036854775807\n");
  EXPECT_EQ(quota_set_text({{}, {}, "job7"}, limits, true, 3),
            "cleared what was set for scope job7\n"
            "set for scope job7: exports 1000, bytes 300G, leases unlimited\n"
            "3 live sessions have it from now on; what exists stays\nit lasts as long as the scope\n");
  EXPECT_THAT(quota_set_text({{}, 44, "job7"}, {}, true, 0),
              testing::StartsWith("cleared what was set for gid 44 in scope job7\n0 live sessions"));
}

TEST(CliQuota, LimitsAreReadExactly) {
  EXPECT_EQ(limit_value("300G", true), 300ull << 30);
  EXPECT_EQ(limit_value("200k", false), 200'000u);
  EXPECT_EQ(limit_value("unlimited", false), HB_UNLIMITED);
  std::string bad = "1K";
  EXPECT_THAT(limit(false)(bad), HasSubstr("\"1K\" is no limit, expected a number"));
  bad = "300GB";
  EXPECT_THAT(limit(true)(bad), HasSubstr("like 300G"));
}

std::set<std::string> families(const std::string& text) {
  std::set<std::string> out;
  const std::regex type("# TYPE ([a-z_]+) gauge\n");
  for (std::sregex_iterator at(text.begin(), text.end(), type), end; at != end; ++at) out.insert((*at)[1]);
  return out;
}

std::set<std::string> documented() {
  std::ifstream in(HB_TEST_METRICS_PAGE);
  std::set<std::string> out;
  const std::regex row("^\\| `(hipbroker_[a-z_]+)` \\|.*");
  std::smatch found;
  for (std::string line; std::getline(in, line);)
    if (std::regex_match(line, found, row)) out.insert(found[1]);
  return out;
}

TEST(CliMetrics, EveryMetricIsDocumentedAndNoOther) {
  const Sample sample;
  const std::string text = metrics_text(HB_CLIENT_INFO_INIT, HB_DAEMON_STATUS_INIT, sample.all);
  EXPECT_EQ(families(text), documented());
  EXPECT_GT(documented().size(), 20u);
}

TEST(CliMetrics, TheTextIsWhatPrometheusReads) {
  const Sample sample;
  hb_client_info info = HB_CLIENT_INFO_INIT;
  std::snprintf(info.daemon, sizeof info.daemon, "hipbrokerd \"0\"");
  info.protocol = 1;
  hb_daemon_status status = HB_DAEMON_STATUS_INIT;
  status.uptime_ns = 1'500'000'000;
  status.bytes = 12345;
  const std::string text = metrics_text(info, status, sample.all);
  EXPECT_THAT(text, HasSubstr("# HELP hipbroker_up 1: the daemon answered.\n# TYPE hipbroker_up gauge\n"
                              "hipbroker_up 1\n"));
  EXPECT_THAT(text, HasSubstr("hipbroker_info{daemon=\"hipbrokerd \\\"0\\\"\",protocol=\"1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\nhipbroker_uptime_seconds 1.500\n"));
  EXPECT_THAT(text, HasSubstr("\nhipbroker_exported_bytes 12345\n"));
  EXPECT_THAT(text,
              HasSubstr("\nhipbroker_account_used{scope=\"main\",uid=\"2001\",resource=\"exports\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("\nhipbroker_account_limit{scope=\"main\",uid=\"2001\",resource=\"leases\"} "
                              "+Inf\n"));
  EXPECT_THAT(text, HasSubstr("\nhipbroker_account_limit_bytes{scope=\"main\",uid=\"2001\"} 322122547200\n"));
  EXPECT_THAT(text, HasSubstr("\nhipbroker_scope_used{scope=\"job-7\",resource=\"groups\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("resource=\"bytes\"")));
  // Each line is a comment or `name{labels} value`.
  const std::regex line(
      "(# (HELP|TYPE) hipbroker_[a-z_]+ .+|hipbroker_[a-z_]+(\\{[^{}]*\\})? "
      "([0-9.]+|\\+Inf))");
  std::istringstream in(text);
  for (std::string one; std::getline(in, one);) EXPECT_TRUE(std::regex_match(one, line)) << one;
  EXPECT_EQ(metrics_text_of_no_daemon(),
            "# HELP hipbroker_up 1: the daemon answered.\n# TYPE hipbroker_up gauge\nhipbroker_up 0\n");
}

}  // namespace
}  // namespace hb::cli
