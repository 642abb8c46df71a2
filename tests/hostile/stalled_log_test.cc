// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Nobody reads what the daemon writes: a pipe that is full, a journald that is stopped. The loop goes on,
// what is lost is counted, and told when somebody reads again.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "support/fake_journal.h"
#include "support/fixture.h"
#include "support/memfd.h"
#include "wire/limits.h"

namespace hb::test {
namespace {

constexpr const char* kLost = "were lost here: ";

// Whoever reads the log.
class Ear {
 public:
  virtual ~Ear() = default;
  virtual void take(DaemonOptions& options) = 0;
  // From now on nothing more fits.
  virtual void stop() = 0;
  // Some more of what was written; empty when nothing came in time.
  virtual std::string hear() = 0;
};

class PipeEar : public Ear {
 public:
  PipeEar() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    reader_.reset(ends[0]);
    writer_.reset(ends[1]);
  }
  void take(DaemonOptions& options) override { options.stderr_to = writer_; }
  // The flag is one of the open file that the daemon has, too: only for as long as it takes.
  void stop() override {
    EXPECT_EQ(::fcntl(writer_.get(), F_SETFL, O_NONBLOCK), 0);
    for (const std::size_t bytes : {std::size_t{4096}, std::size_t{1}}) {
      const std::string filler(bytes, '\n');
      while (::write(writer_.get(), filler.data(), filler.size()) > 0) {
      }
    }
    EXPECT_EQ(::fcntl(writer_.get(), F_SETFL, 0), 0);
  }
  std::string hear() override {
    std::array<char, 65536> buffer;
    if (!wait_readable(reader_.get())) return {};
    const ssize_t n = ::read(reader_.get(), buffer.data(), buffer.size());
    return n <= 0 ? std::string() : std::string(buffer.data(), static_cast<std::size_t>(n));
  }

 private:
  UniqueFd reader_;
  UniqueFd writer_;
};

class JournalEar : public Ear {
 public:
  void take(DaemonOptions& options) override { journal_.take(options); }
  void stop() override {}  // its queue holds some hundred records at most
  std::string hear() override { return journal_.next(); }

 private:
  FakeJournal journal_;
};

class StalledLog : public DaemonTest, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) == "Pipe")
      ear_ = std::make_unique<PipeEar>();
    else
      ear_ = std::make_unique<JournalEar>();
    ear_->take(options_);
    DaemonTest::SetUp();
  }
  // Each is a line of the log and an audit record, and nobody's share of them.
  static void say_much(RawPeer& admin, std::uint64_t times) {
    for (std::uint64_t i = 0; i < times; ++i) {
      pb::QuotaSet body;
      body.set_uid(4242);
      pb::Amount* const limit = body.add_limits();
      limit->set_resource("exports");
      limit->set_limit(i);
      const auto answer = admin.call<pb::QuotaSetReply>(FrameType::kQuotaSet, body);
      ASSERT_EQ(answer.status, HB_OK) << answer.error.message();
    }
  }
  std::unique_ptr<Ear> ear_;
};

TEST_P(StalledLog, ClientsAreServedAndTheLossIsCountedAndTold) {
  RawPeer admin = admin_peer();
  RawPeer client = peer();
  ear_->stop();
  say_much(admin, limits::kAuditRecords / 5);
  const UniqueFd memory = sealed_memfd(kPage, 1);
  const auto exported = client.export_fds("x", {memory.get()});
  ASSERT_EQ(exported.status, HB_OK) << exported.error.message();
  const auto acquired = client.acquire(exported.reply.key());
  ASSERT_EQ(acquired.status, HB_OK) << acquired.error.message();

  const pb::StatusReply status = admin.status().reply;
  EXPECT_GT(status.log_dropped(), 0u);
  EXPECT_GT(status.audit_dropped(), 0u);
  EXPECT_GT(status.log_waiting(), 0u);
  EXPECT_LE(status.log_waiting(), 4097u) << "the queue, and one that is being written";
  EXPECT_GT(status.audit_told(), status.audit_dropped());

  std::string heard;
  while (heard.find(kLost) == std::string::npos) {
    const std::string more = ear_->hear();
    ASSERT_FALSE(more.empty()) << "the loss is not told";
    heard += more;
  }
  const std::size_t told = heard.find(kLost);
  const std::string line = heard.substr(0, told);
  EXPECT_NE(line.find(std::to_string(status.log_dropped()) + " lines of the log and " +
                      std::to_string(status.audit_dropped()) + " audit records "),
            std::string::npos)
      << line.substr(line.size() - std::min<std::size_t>(line.size(), 300));
  // It goes on where it was.
  client.release(acquired.reply.lease_id());
  ASSERT_EQ(client.ping(), HB_OK);
  while (heard.find("released", told) == std::string::npos) {
    const std::string more = ear_->hear();
    ASSERT_FALSE(more.empty()) << "nothing is written after the loss";
    heard += more;
  }
  EXPECT_EQ(admin.status().reply.audit_dropped(), status.audit_dropped()) << "nothing more is lost";
}

// A write that hangs must not keep the daemon from ending.
TEST_P(StalledLog, TheDaemonEndsAllTheSame) {
  {
    RawPeer admin = admin_peer();
    ear_->stop();
    say_much(admin, 2000);
    EXPECT_GT(admin.status().reply.log_waiting(), 0u);
  }
  daemon().process().signal(SIGTERM);
  const auto status = daemon().process().wait();
  ASSERT_TRUE(status) << "it hangs";
  EXPECT_TRUE(WIFEXITED(*status) && WEXITSTATUS(*status) == 0) << describe_exit(*status);
}

INSTANTIATE_TEST_SUITE_P(, StalledLog, testing::Values("Pipe", "Journal"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace hb::test
