// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "support/actor.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>

#include <filesystem>
#include <ostream>

#include "support/actor_verbs.h"
#include "support/daemon_process.h"

namespace hb::test {
namespace {

const RegisterRole kActorRole("actor", actor_main);

// The library lies in the build directory, which other uids may not be able to reach: they get a copy.
std::string library_directory_for_everyone() {
  static const TempDir* const dir = [] {
    auto* made = new TempDir;
    const std::filesystem::path library = HB_TEST_LIBRARY;
    std::filesystem::copy_file(library, *made / library.filename().string());
    ::atexit([] { std::filesystem::remove_all(library_directory_for_everyone()); });
    return made;
  }();
  return dir->path();
}

}  // namespace

Actor::Actor(const ProcessOptions& options, const std::string& role) {
  auto [mine, theirs] = channel_pair();
  channel_ = std::move(mine);
  ProcessOptions with_library = options;
  if (options.uid || role == "container")
    with_library.env.emplace_back("LD_LIBRARY_PATH", library_directory_for_everyone());
  process_ = Process({own_program(), "--role=" + role}, with_library, {{theirs.get(), kChannelFd}});
}

Actor::Actor(const DaemonProcess& daemon, const ProcessOptions& options) : Actor(options) {
  ok("open", {{"socket", daemon.socket()}});
}

void Actor::start(const std::string& verb, Message arguments) {
  last_verb_ = verb;
  arguments.insert_or_assign("verb", verb);
  send_message(channel_.get(), arguments);
}

bool Actor::answered() const { return wait_readable(channel_.get(), 0); }

Answer Actor::finish(std::uint64_t limit_ns) {
  Answer answer;
  auto message = receive_message(channel_.get(), limit_ns);
  if (!message) {
    answer.died = !process_.running() || wait_readable(channel_.get(), 0);  // the end, that is
    answer.fields.emplace("message", answer.died ? "the process has ended" : "no answer");
    return answer;
  }
  answer.fields = std::move(*message);
  answer.status = static_cast<hb_status>(std::strtol(answer.text("status").c_str(), nullptr, 10));
  return answer;
}

Answer Actor::call(const std::string& verb, Message arguments) {
  start(verb, std::move(arguments));
  return finish();
}

Answer Actor::ok(const std::string& verb, Message arguments) {
  Answer answer = call(verb, std::move(arguments));
  EXPECT_EQ(answer.status, HB_OK) << verb << ": " << answer;
  return answer;
}

void Actor::leave() {
  channel_.reset();
  const auto status = process_.wait();
  if (!status)
    ADD_FAILURE() << "the actor does not end";
  else if (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0)
    ADD_FAILURE() << "the actor " << describe_exit(*status) << " after " << last_verb_;
}

std::ostream& operator<<(std::ostream& out, const Answer& answer) {
  if (answer.died) out << "(died) ";
  for (const auto& [name, value] : answer.fields) out << name << "=" << value.text << " ";
  return out;
}

}  // namespace hb::test
