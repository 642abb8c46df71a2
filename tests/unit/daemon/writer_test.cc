// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "observe/writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "observe/log_line.h"
#include "observe/sinks.h"
#include "support/wait.h"

namespace hb::test {
namespace {

using observe::Stream;
using observe::Writer;

constexpr std::uint64_t kLong = 20'000'000'000;

class Text : public observe::Writable {
 public:
  Text(Stream stream, std::string text) : stream_(stream), text_(std::move(text)) {}
  [[nodiscard]] Stream stream() const override { return stream_; }
  [[nodiscard]] std::size_t bytes() const override { return text_.size(); }
  [[nodiscard]] std::string line() const override { return text_; }
  [[nodiscard]] std::vector<std::string> fields() const override { return {"MESSAGE=" + text_}; }

 private:
  Stream stream_;
  std::string text_;
};

// What a sink that can be stopped has taken. Outlives the writer: its thread may be left behind in a write.
struct Taken {
  std::mutex mutex;
  std::condition_variable changed;
  bool stopped = false;
  bool inside = false;
  std::vector<std::string> lines;
  std::thread::id by;

  void stop(bool value) {
    const std::lock_guard lock(mutex);
    stopped = value;
    changed.notify_all();
  }
  void wait_inside() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return inside; });
  }
  [[nodiscard]] std::vector<std::string> all() {
    const std::lock_guard lock(mutex);
    return lines;
  }
};

class FakeSink : public observe::Sink {
 public:
  explicit FakeSink(std::shared_ptr<Taken> taken) : taken_(std::move(taken)) {}
  [[nodiscard]] bool write(const observe::Writable& what) override {
    std::unique_lock lock(taken_->mutex);
    taken_->inside = true;
    taken_->by = std::this_thread::get_id();
    taken_->changed.notify_all();
    taken_->changed.wait(lock, [&] { return !taken_->stopped; });
    taken_->inside = false;
    taken_->lines.push_back(what.line());
    return what.line() != "refuse this";
  }
  [[nodiscard]] std::string name() const override { return "the fake"; }

 private:
  std::shared_ptr<Taken> taken_;
};

class WriterTest : public testing::Test {
 protected:
  explicit WriterTest(Writer::Bounds bounds = {4, 1000})
      : writer_(std::make_unique<FakeSink>(taken_), bounds) {}
  void log(const std::string& text) { writer_.put(std::make_shared<Text>(Stream::kLog, text)); }
  void audit(const std::string& text) { writer_.put(std::make_shared<Text>(Stream::kAudit, text)); }

  std::shared_ptr<Taken> taken_ = std::make_shared<Taken>();
  Writer writer_;
};

TEST_F(WriterTest, WritesItselfBeforeItStartsAndAfterItEnded) {
  log("early");
  EXPECT_EQ(taken_->all(), std::vector<std::string>{"early"});
  EXPECT_EQ(taken_->by, std::this_thread::get_id());
  writer_.start();
  log("middle");
  ASSERT_TRUE(writer_.finish(kLong));
  EXPECT_EQ(taken_->all().back(), "middle");
  EXPECT_NE(taken_->by, std::this_thread::get_id());
  log("late");
  EXPECT_EQ(taken_->all(), (std::vector<std::string>{"early", "middle", "late"}));
  EXPECT_EQ(taken_->by, std::this_thread::get_id());
}

TEST_F(WriterTest, AStoppedSinkStopsNobodyAndTheGapIsToldInItsPlace) {
  writer_.start();
  taken_->stop(true);
  log("held");
  taken_->wait_inside();
  for (int i = 0; i < 4; ++i) log("fits " + std::to_string(i));
  for (int i = 0; i < 3; ++i) log("lost");
  audit("lost");
  const Writer::Totals full = writer_.totals();
  EXPECT_EQ(full.waiting, 5u);
  EXPECT_EQ(full.log_dropped, 3u);
  EXPECT_EQ(full.audit_dropped, 1u);
  taken_->stop(false);
  ASSERT_TRUE(poll_until([&] { return writer_.totals().waiting == 0 && taken_->all().size() == 6; }));
  log("after");
  ASSERT_TRUE(writer_.finish(kLong));
  const auto lines = taken_->all();
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_EQ(lines[4], "fits 3");
  EXPECT_NE(lines[5].find("3 lines of the log and 1 audit records were lost here: the fake"),
            std::string::npos)
      << lines[5];
  EXPECT_EQ(lines[6], "after");
  EXPECT_EQ(writer_.totals().log_dropped, 3u) << "the totals stay";
}

TEST_F(WriterTest, BytesAreBoundedToo) {
  writer_.start();
  taken_->stop(true);
  log("held");
  taken_->wait_inside();
  log(std::string(900, 'a'));
  log(std::string(101, 'b'));
  log(std::string(100, 'c'));
  EXPECT_EQ(writer_.totals().log_dropped, 1u);
  EXPECT_EQ(writer_.totals().waiting, 3u);
  taken_->stop(false);
  EXPECT_TRUE(writer_.finish(kLong));
}

TEST_F(WriterTest, AWriteThatHangsDoesNotKeepAnybodyFromEnding) {
  writer_.start();
  taken_->stop(true);
  log("held");
  taken_->wait_inside();
  EXPECT_FALSE(writer_.finish(1'000'000));
  log("nobody writes this");
  EXPECT_EQ(writer_.totals().log_dropped, 1u);
  taken_->stop(false);  // the thread ends by itself
  EXPECT_TRUE(poll_until([&] { return taken_->all().size() >= 1; }));
}

TEST_F(WriterTest, WhatTheSinkRefusesIsCounted) {
  log("refuse this");
  EXPECT_EQ(writer_.totals().log_dropped, 1u);
  writer_.start();
  audit("refuse this");
  ASSERT_TRUE(writer_.finish(kLong));
  EXPECT_EQ(writer_.totals().audit_dropped, 1u);
  EXPECT_EQ(taken_->all().size(), 2u) << "and not told: there is nobody to tell";
}

TEST_F(WriterTest, ManyThreadsPutAtOnceAndNothingIsUncounted) {
  writer_.start();
  constexpr int kThreads = 4;
  constexpr int kEach = 500;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([this] {
      for (int i = 0; i < kEach; ++i) log("x");
    });
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(writer_.finish(kLong));
  const auto lines = taken_->all();
  const auto written = static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), "x"));
  EXPECT_EQ(written + writer_.totals().log_dropped, std::uint64_t{kThreads} * kEach);
}

// A parent may have made the pipe non-blocking: that is no reason to lose a line, or to spin.
TEST(LineSink, WaitsForANonBlockingPipe) {
  std::array<int, 2> ends{-1, -1};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  const std::string page(4096, 'x');
  while (::write(writer.get(), page.data(), page.size()) > 0) {
  }
  std::atomic<bool> taken{false};
  std::thread writes([&] {
    observe::LineSink sink(writer, "a pipe");
    taken = sink.write(Text(Stream::kLog, "the line"));
  });
  std::string got;
  std::array<char, 4096> buffer;
  while (got.find("the line\n") == std::string::npos && wait_readable(reader.get())) {
    const ssize_t n = ::read(reader.get(), buffer.data(), buffer.size());
    if (n > 0) got.append(buffer.data(), static_cast<std::size_t>(n));
  }
  writes.join();
  EXPECT_TRUE(taken);
}

TEST(LogLine, WhatAsksForSomethingHasAnId) {
  const observe::LogLine line(observe::Level::kWarning, observe::Message::kLinesLost, "lost");
  const std::string id(observe::message_id(observe::Message::kLinesLost));
  EXPECT_EQ(id.size(), 32u);
  EXPECT_THAT(line.fields(), testing::Contains("MESSAGE_ID=" + id));
  const observe::LogLine detail(observe::Level::kInfo, observe::Message::kNone, "said");
  EXPECT_THAT(detail.fields(), testing::Not(testing::Contains(testing::StartsWith("MESSAGE_ID="))));
}

TEST(LogLine, LineAndFields) {
  const observe::LogLine line(observe::Level::kWarning, observe::Message::kNone, observe::Who{7, 0, "sh"},
                              "refused");
  EXPECT_NE(line.line().find(" warning uid 7, pid unknown (sh): refused"), std::string::npos) << line.line();
  EXPECT_EQ(line.fields(), (std::vector<std::string>{"MESSAGE=uid 7, pid unknown (sh): refused", "PRIORITY=4",
                                                     "HIPBROKER_UID=7", "HIPBROKER_COMMAND=sh"}));
}

}  // namespace
}  // namespace hb::test
