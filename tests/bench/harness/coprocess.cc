// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "bench/harness/coprocess.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <sstream>

#include "bench/harness/check.h"

namespace hb::bench {
namespace {

constexpr int kAnswerMs = 120'000;  // a round of the slowest case takes a few seconds
constexpr int kEndMs = 10'000;

}  // namespace

Coprocess::Coprocess(const Spec& spec) : Case(spec.name, spec.samples), command_(spec.command) {
  if (spec.has_samples) samples_series_ = &make_series(name(), spec.unit, spec.divisor, spec.reference);
  for (const Metric& metric : spec.metrics) {
    const std::string reference = spec.reference.empty() ? "" : spec.reference + metric.suffix;
    metrics_.emplace(metric.key,
                     &make_series(name() + metric.suffix, metric.unit, metric.divisor, reference));
  }
}

void Coprocess::set_up() {
  int to[2], from[2];
  HB_BENCH_CHECK(::pipe2(to, O_CLOEXEC) == 0 && ::pipe2(from, O_CLOEXEC) == 0);
  UniqueFd their_input(to[0]), their_output(from[1]);
  to_.reset(to[1]);
  from_.reset(from[0]);
  child_ = Child::execute(command_, [&] {
    HB_BENCH_CHECK(::dup2(their_input.get(), 0) == 0 && ::dup2(their_output.get(), 1) == 1);
  });
  // Their ends, or the end of the program would never be seen.
  their_input.reset();
  their_output.reset();
  run(0);
  for (const auto& one : series()) one->discard_round();
}

std::string Coprocess::read_line() {
  for (;;) {
    if (const std::size_t end = buffered_.find('\n', next_); end != std::string::npos) {
      std::string line = buffered_.substr(next_, end - next_);
      next_ = end + 1;
      return line;
    }
    buffered_.erase(0, next_);
    next_ = 0;
    pollfd wanted{from_.get(), POLLIN, 0};
    int ready = 0;
    while ((ready = ::poll(&wanted, 1, kAnswerMs)) < 0 && errno == EINTR) {
    }
    errno = 0;
    if (ready == 0) die("%s: no answer within %d s", name().c_str(), kAnswerMs / 1000);
    std::array<char, 65536> bytes;
    const ssize_t received = ::read(from_.get(), bytes.data(), bytes.size());
    if (received <= 0) die("%s: its program ended early", name().c_str());
    buffered_.append(bytes.data(), static_cast<std::size_t>(received));
  }
}

void Coprocess::run(int samples) {
  const std::string order = "RUN " + std::to_string(samples) + "\n";
  HB_BENCH_CHECK(::write(to_.get(), order.data(), order.size()) == static_cast<ssize_t>(order.size()));
  for (;;) {
    const std::string line = read_line();
    if (line.starts_with('#')) {
      std::fprintf(stderr, "%s: %s\n", name().c_str(), line.c_str());
      continue;
    }
    if (line.starts_with("END")) {
      std::istringstream words(line.substr(3));
      for (std::string word; words >> word;) {
        const std::size_t equals = word.find('=');
        if (equals == std::string::npos) die("%s: not key=value: %s", name().c_str(), word.c_str());
        const auto metric = metrics_.find(word.substr(0, equals));
        if (metric != metrics_.end()) metric->second->add(std::strtod(word.c_str() + equals + 1, nullptr));
      }
      return;
    }
    if (samples_series_ != nullptr) samples_series_->add(std::strtod(line.c_str(), nullptr));
  }
}

void Coprocess::tear_down() {
  // Said, not only closed: helpers forked by other cases hold copies of this pipe.
  constexpr std::string_view kQuit = "QUIT\n";
  if (::write(to_.get(), kQuit.data(), kQuit.size()) < 0) die("%s: its program has gone", name().c_str());
  to_.reset();
  const int status = child_.wait(kEndMs);
  errno = 0;
  if (status != 0) die("%s: its program ended with wait status 0x%x", name().c_str(), status);
}

}  // namespace hb::bench
