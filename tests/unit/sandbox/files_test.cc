// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Which files are left to a confined process: what the daemon does after its start works, the rest is gone.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <filesystem>

#include "support/channel.h"
#include "support/temp_dir.h"
#include "unit/sandbox/confined.h"
#include "wire/unique_fd.h"

namespace hb::test {
namespace {

int open_outcome(const std::string& path, int flags) {
  const UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC, 0600));
  return outcome_of(fd.get());
}

int write_anew(const std::string& path, const char* text) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd) return errno;
  const auto bytes = static_cast<ssize_t>(std::strlen(text));
  return ::write(fd.get(), text, std::strlen(text)) == bytes ? 0 : errno;
}

class SandboxFiles : public testing::Test {
 protected:
  SandboxFiles() {
    for (const char* name : {"run", "run/admin", "etc", "other"})
      std::filesystem::create_directory(dir_ / name);
    write_file(dir_ / "etc/policy.toml", "old");
    write_file(dir_ / "other/secret", "x");
  }
  [[nodiscard]] os::FileView view() const {
    return {{"/proc", dir_ / "etc", dir_ / "not there"}, {dir_ / "run", dir_ / "run/admin", "/dev/null"}};
  }
  TempDir dir_;
};

// By somebody outside, after the rules were made.
TEST_F(SandboxFiles, APolicyThatTookTheOldOnesPlaceIsRead) {
  auto [here, there] = channel_pair();
  const Ending ending = confined(
      view(),
      [&] {
        if (!send_message(here.get(), {{"now", 1}}) || !receive_message(here.get(), kWatchdogNs)) return -1;
        const UniqueFd fd(::open((dir_ / "etc/policy.toml").c_str(), O_RDONLY | O_CLOEXEC));
        if (!fd) return errno;
        char text[8] = {};
        return ::read(fd.get(), text, sizeof text) == 3 && std::strcmp(text, "new") == 0 ? 0 : -1;
      },
      [&] {
        if (::fork() != 0) return;
        const bool asked = receive_message(there.get(), kWatchdogNs).has_value();
        write_file(dir_ / "etc/next", "new");
        std::filesystem::rename(dir_ / "etc/next", dir_ / "etc/policy.toml");
        ::_exit(asked && send_message(there.get(), {{"done", 1}}) ? 0 : 1);
      });
  EXPECT_EQ(ending.exit_code, 0) << "signal " << ending.signal;
}

TEST_F(SandboxFiles, ScopesAreMadeAndRemoved) {
  const Ending ending = confined(view(), [&] {
    const std::string scopes = dir_ / "run/scopes";
    if (::mkdir(scopes.c_str(), 0755) != 0 || ::mkdir((scopes + "/job7").c_str(), 0755) != 0) return errno;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = scopes + "/job7/broker.sock";
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    const UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return errno;
    if (::chmod(path.c_str(), 0666) != 0 || ::listen(socket.get(), 4) != 0) return errno;
    const UniqueFd client(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return errno;
    const UniqueFd accepted(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!accepted || ::unlink(path.c_str()) != 0) return errno;
    return outcome_of(::rmdir((scopes + "/job7").c_str()));
  });
  EXPECT_EQ(ending.exit_code, 0) << "signal " << ending.signal;
}

TEST_F(SandboxFiles, TheRuntimeStateIsWrittenByRename) {
  const Ending ending = confined(view(), [&] {
    for (const char* text : {"one", "two"}) {
      const std::string state = dir_ / "run/admin/state.toml";
      if (const int code = write_anew(state + ".new", text); code != 0) return code;
      if (::rename((state + ".new").c_str(), state.c_str()) != 0) return errno;
    }
    return 0;
  });
  EXPECT_EQ(ending.exit_code, 0);
  EXPECT_EQ(read_file(dir_ / "run/admin/state.toml"), "two");
}

TEST_F(SandboxFiles, AMemfdIsReopenedAndItsFdinfoRead) {
  const Ending ending = confined(view(), [] {
    const UniqueFd memory(::memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!memory || ::ftruncate(memory.get(), 4096) != 0) return errno;
    const std::string number = std::to_string(memory.get());
    const int reopened = open_outcome("/proc/self/fd/" + number, O_RDONLY);
    return reopened != 0 ? reopened : open_outcome("/proc/self/fdinfo/" + number, O_RDONLY);
  });
  EXPECT_EQ(ending.exit_code, 0);
}

TEST_F(SandboxFiles, TheRestIsOutOfReach) {
  const std::vector<std::pair<std::string, int>> refused{{dir_ / "other/secret", O_RDONLY},
                                                         {dir_ / "other/secret", O_WRONLY},
                                                         {dir_ / "other/new", O_WRONLY | O_CREAT},
                                                         {dir_ / "etc/policy.toml", O_WRONLY},
                                                         {dir_ / "etc/new", O_WRONLY | O_CREAT},
                                                         {"/etc/passwd", O_RDONLY},
                                                         {"/", O_RDONLY | O_DIRECTORY},
                                                         {"/proc/self/comm", O_WRONLY},
                                                         {"/dev/zero", O_RDONLY}};
  for (const auto& [path, flags] : refused) {
    const Ending ending = confined(view(), [&] { return open_outcome(path, flags); });
    EXPECT_EQ(ending.exit_code, EACCES) << path << " with flags " << flags << ", signal " << ending.signal;
  }
  const Ending unlinked =
      confined(view(), [&] { return outcome_of(::unlink((dir_ / "other/secret").c_str())); });
  EXPECT_EQ(unlinked.exit_code, EACCES);
  const Ending moved = confined(view(), [&] {
    return outcome_of(::rename((dir_ / "other/secret").c_str(), (dir_ / "run/secret").c_str()));
  });
  EXPECT_EQ(moved.exit_code, EACCES);
  EXPECT_EQ(read_file(dir_ / "other/secret"), "x");
}

// An older kernel, or a container that keeps it away: said, not silent, and the other layers hold.
TEST_F(SandboxFiles, WithoutLandlockTheRestHolds) {
  int pipe_ends[2];
  ASSERT_EQ(::pipe2(pipe_ends, O_CLOEXEC), 0);
  const UniqueFd reader(pipe_ends[0]);
  UniqueFd writer(pipe_ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offsetof(seccomp_data, nr))),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_landlock_create_ruleset, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{sizeof code / sizeof *code, code};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    const auto state = os::enter_sandbox(view());
    std::string told = state ? state->text() : state.error();
    for (const std::string& missing : state ? state->missing : std::vector<std::string>())
      told += "|" + missing;
    (void)!::write(writer.get(), told.data(), told.size());
    ::_exit(open_outcome("/etc/passwd", O_RDONLY));
  }
  writer.reset();
  std::string told(500, '\0');
  const ssize_t bytes = ::read(reader.get(), told.data(), told.size());
  told.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(told,
            "no new privileges, no capabilities, system calls by list|files by Landlock: "
            "landlock_create_ruleset: ENOSYS (Function not implemented); it came with Linux 5.13");
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "files are as they were";
}

}  // namespace
}  // namespace hb::test
