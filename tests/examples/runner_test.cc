// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// One example of docs/examples, named by the environment (CMakeLists.txt).
#include <fcntl.h>
#include <sys/wait.h>

#include <cstdlib>
#include <sstream>
#include <vector>

#include "support/fixture.h"
#include "wire/unique_fd.h"

namespace hb::test {
namespace {

class Example : public DaemonTest {};

TEST_F(Example, Runs) {
  const char* const program = std::getenv("HB_EXAMPLE");
  ASSERT_NE(program, nullptr) << "HB_EXAMPLE names no program: ctest -R example runs them";
  const char* const list = std::getenv("HB_EXAMPLE_ROLES");
  std::istringstream words(list != nullptr ? list : "");
  std::vector<std::vector<std::string>> lines;
  for (std::string role; words >> role;) lines.push_back({program, role});
  if (lines.empty()) lines.push_back({program});

  ProcessOptions options;
  options.env = {{"HIPBROKER_SOCKET", daemon().socket()}};
  std::vector<Process> processes;
  std::vector<std::string> outputs;
  for (const auto& line : lines) {
    outputs.push_back(daemon().dir() / ("out" + std::to_string(outputs.size())));
    const UniqueFd out(::open(outputs.back().c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    ASSERT_TRUE(out);
    processes.emplace_back(line, options, std::vector<std::pair<int, int>>{{out.get(), 1}, {out.get(), 2}});
  }
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const auto status = processes[i].wait();
    ASSERT_TRUE(status) << lines[i].back() << " does not end:\n" << read_file(outputs[i]);
    EXPECT_TRUE(WIFEXITED(*status) && WEXITSTATUS(*status) == 0)
        << lines[i].back() << " " << describe_exit(*status) << ":\n"
        << read_file(outputs[i]);
  }
}

}  // namespace
}  // namespace hb::test
