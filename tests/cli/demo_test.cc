// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The two programs of ./dev demo, as ./dev runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_ctl.h"
#include "support/fixture.h"

namespace hb::test {
namespace {

using testing::HasSubstr;

class Demo : public DaemonTest {
 protected:
  ProcessOptions options() {
    ProcessOptions o;
    o.env = {{"HIPBROKER_SOCKET", daemon().socket()}};
    return o;
  }
};

TEST_F(Demo, BytesGoBothWays) {
  // The shell plays ./dev: each role goes on when the other has said that it is ready.
  const std::string script = std::string("set -e; cd '") + daemon().dir().path() +
                             "'; mkfifo p.in p.out c.in c.out; "
                             "'" HB_TEST_PRODUCER
                             "' t <p.in >p.out & p=$!; exec 3>p.in 4<p.out; "
                             "until [ \"$l\" = ready ]; do read -r l <&4; done; l=; "
                             "'" HB_TEST_CONSUMER
                             "' t <c.in >c.out & c=$!; exec 5>c.in 6<c.out; "
                             "until [ \"$l\" = ready ]; do read -r l <&6; done; "
                             "echo go >&5; wait $c; echo go >&3; wait $p; cat <&4";
  const Ran ran = run_program({"/bin/sh", "-c", script}, options());
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("found all 67108864 bytes as the consumer wrote them"));
}

TEST_F(Demo, AProducerAloneFindsThatNobodyWroteBack) {
  const Ran ran = run_program({"/bin/sh", "-c", "echo go | '" HB_TEST_PRODUCER "' t"}, options());
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.err, HasSubstr("byte 0 is not what the consumer wrote"));
}

TEST(DemoRoles, WithoutADaemonTheCauseIsNamed) {
  ProcessOptions o;
  o.env = {{"HIPBROKER_SOCKET", "/nonexistent/broker.sock"}};
  const Ran ran = run_program({HB_TEST_PRODUCER, "t"}, o);
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.err, HasSubstr("/nonexistent"));
}

}  // namespace
}  // namespace hb::test
