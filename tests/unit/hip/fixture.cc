// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "unit/hip/fixture.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ostream>

#include "hipbroker/hipbroker.h"
#include "support/fd_census.h"

namespace hb::test {

hc::ContextPtr context_of(const std::string& root) {
  const auto runtime = hc::Runtime::get();
  if (!runtime) {
    ADD_FAILURE() << runtime.error().message;
    return nullptr;
  }
  auto devices = hc::DeviceTable::read(**runtime, root);
  if (!devices) {
    ADD_FAILURE() << devices.error().message;
    return nullptr;
  }
  return std::make_shared<hc::Context>(
      hc::Context{*runtime, hc::Quirks((*runtime)->version()), std::move(*devices)});
}

client::Result<std::vector<hc::ImportChunk>> export_all(const hc::Context& context, hc::MappedRange& range) {
  std::vector<hc::ImportChunk> out;
  for (std::size_t i = 0; i < range.size(); ++i) {
    auto descriptor = hc::export_chunk(context, range, i);
    if (!descriptor) return tl::unexpected(descriptor.error());
    out.push_back(
        {std::move(*descriptor), range.chunk_bytes(i), HB_KIND_DMABUF, static_cast<std::int64_t>(i)});
  }
  return out;
}

hc::ImportSpec spec_for(const std::vector<hc::ImportChunk>& chunks, hc::Access access, hc::DeviceId owner) {
  hc::ImportSpec spec;
  spec.access = std::move(access);
  spec.owner = std::move(owner);
  spec.chunks = chunks.size();
  for (const hc::ImportChunk& chunk : chunks) spec.bytes += chunk.bytes;
  return spec;
}

Counts counts_of(const Hip& hip) {
  return {hip.fake_hip_count("handles"), hip.fake_hip_count("mappings"), hip.fake_hip_count("reservations"),
          hip.fake_hip_count("violations"), count_fds()};
}

void PrintTo(const Counts& counts, std::ostream* out) {
  *out << counts.handles << " handles, " << counts.mappings << " mappings, " << counts.reservations
       << " reservations, " << counts.violations << " violations, " << counts.descriptors << " descriptors";
}

RoleResult run_role(const Env& env, const std::string& name, const std::string& argument) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
  UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  std::vector<std::string> words;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!env.contains(std::string(*entry).substr(0, std::string(*entry).find('='))))
      words.emplace_back(*entry);
  for (const auto& [key, value] : env) words.push_back(key + "=" + value);
  std::vector<char*> envp;
  for (std::string& word : words) envp.push_back(word.data());
  envp.push_back(nullptr);
  std::string program = "/proc/self/exe";
  std::string role = "--role=" + name;
  std::string word = argument;
  char* argv[] = {program.data(), role.data(), word.data(), nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, out.get(), STDOUT_FILENO);
  pid_t child = -1;
  const int error = ::posix_spawn(&child, program.c_str(), &actions, nullptr, argv, envp.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) std::abort();
  out.reset();
  RoleResult result;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(in.get(), buffer, sizeof buffer)) > 0;)
    result.output.append(buffer, static_cast<std::size_t>(n));
  int status = 0;
  ::waitpid(child, &status, 0);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace hb::test
