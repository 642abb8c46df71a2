// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "providers/hip/helper_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "clock.h"
#include "fd_room.h"
#include "wire/unique_fd.h"

// clone() by the C library's own name for it. The thread sanitizer stands before the other one, takes every
// new process for a fork with a copy of its locks, and here there is one copy.
extern "C" int __clone(int (*function)(void*), void* stack, int flags, void* argument, ...);

namespace hb::client::hip {
namespace {

constexpr std::size_t kStackBytes = 128 * 1024;
constexpr std::uint64_t kGraceNs = 2'000'000'000;  // for a killed process to be gone
constexpr std::size_t kMostOutput = 64 * 1024;
constexpr std::uint64_t kDescriptors = 6;  // /dev/null, two pipes, the program

struct End {
  int status;
  int timed_out;
};

// In memory of ours that both processes see. The middle one runs beside our thread and on its thread-local
// storage: it makes bare system calls only and allocates nothing.
struct Job {
  char* const* argv = nullptr;
  char* const* envp = nullptr;
  int null_end = -1;
  int result_end = -1;
  int status_end = -1;
  char* program_stack = nullptr;
  std::uint64_t deadline_ns = 0;
  int host = 0;
  const char* failed_call = "";
  int failed_errno = 0;
};

#define HB_BARE __attribute__((no_sanitize("address", "thread", "undefined")))

// Frees the numbers that are needed where few may be open.
HB_BARE void close_all_but(int one, int other) {
  const auto low = static_cast<unsigned>(one < other ? one : other);
  const auto high = static_cast<unsigned>(one < other ? other : one);
  if (low > 0) ::syscall(SYS_close_range, 0u, low - 1, 0u);
  if (high - low > 1) ::syscall(SYS_close_range, low + 1, high - 1, 0u);
  ::syscall(SYS_close_range, high + 1, ~0u, 0u);
}

HB_BARE int become_program(void* data) {
  auto& job = *static_cast<Job*>(data);
  ::syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  ::syscall(SYS_setsid);  // the terminal's signals are for the host
  close_all_but(job.null_end, job.result_end);
  // Above what the standard descriptors and 3 will overwrite.
  const long null_end = ::syscall(SYS_fcntl, job.null_end, F_DUPFD, 4);
  const long result_end = null_end < 0 ? -1 : ::syscall(SYS_fcntl, job.result_end, F_DUPFD, 4);
  if (result_end < 0) {
    // EINVAL: the number asked for is not below RLIMIT_NOFILE.
    job.failed_errno = errno == EINVAL ? EMFILE : errno;
    job.failed_call = "fcntl(F_DUPFD)";
    ::syscall(SYS_exit_group, 127);
  }
  for (int number = 0; number < 3; ++number) ::syscall(SYS_dup3, null_end, number, 0);
  ::syscall(SYS_dup3, result_end, 3, 0);
  ::syscall(SYS_close_range, 4u, ~0u, 0u);
  std::uint64_t none = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, sizeof none);
  ::syscall(SYS_execve, job.argv[0], job.argv, job.envp);
  job.failed_errno = errno;
  job.failed_call = "execve";
  ::syscall(SYS_exit_group, 127);
  return 127;
}

HB_BARE std::uint64_t bare_now_ns() {
  timespec t{};
  ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

HB_BARE int stand_between(void* data) {
  auto& job = *static_cast<Job*>(data);
  // With the host it goes, and the program with it: it would keep the host's memory.
  ::syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::syscall(SYS_getppid) != job.host) ::syscall(SYS_exit_group, 1);
  // Ours alone, the table of handlers is a copy: where the host ignores SIGCHLD its status would be lost.
  char default_action[64] = {};
  ::syscall(SYS_rt_sigaction, SIGCHLD, default_action, nullptr, 8);
  int pidfd = -1;
  const int program = ::__clone(become_program, job.program_stack,
                                CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &job, &pidfd);
  End end{-1, 0};
  if (program < 0) {
    job.failed_errno = errno;
    job.failed_call = "clone";
  } else {
    // The host's descriptors are copies here: kept, they would hold its sockets and memory open.
    close_all_but(pidfd, job.status_end);
    for (;;) {
      const std::uint64_t now = bare_now_ns();
      if (now >= job.deadline_ns) {
        end.timed_out = 1;
        break;
      }
      const std::uint64_t left = job.deadline_ns - now;
      timespec wait{static_cast<time_t>(left / 1'000'000'000u), static_cast<long>(left % 1'000'000'000u)};
      pollfd poll{pidfd, POLLIN, 0};
      if (::syscall(SYS_ppoll, &poll, 1, &wait, nullptr, 0) > 0) break;
    }
    // Its session, with whatever it has started. Not yet reaped, its number is nobody else's.
    ::syscall(SYS_kill, -program, SIGKILL);
    ::syscall(SYS_kill, program, SIGKILL);
    while (::syscall(SYS_wait4, program, &end.status, 0, nullptr) < 0 && errno == EINTR) {
    }
  }
  ::syscall(SYS_write, job.status_end, &end, sizeof end);
  ::syscall(SYS_exit_group, 0);
  return 0;
}

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

bool open_pipe(Pipe& pipe) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  pipe.read.reset(ends[0]);
  pipe.write.reset(ends[1]);
  return true;
}

// Where no number is free the error names the limit.
Error failed(const SysError& cause, const FdRoom& before, const std::string& doing) {
  if (cause.code == EMFILE) {
    Error error = no_fds(before, before.open + kDescriptors, doing + ": " + cause.text());
    error.sys_errno = cause.code;
    error.operation = cause.operation;
    return error;
  }
  return system_error(cause, doing);
}

// What is there now. False at the end of the stream.
bool read_some(const UniqueFd& from, std::string& out) {
  char buffer[4096];
  const ssize_t n = ::read(from.get(), buffer, sizeof buffer);
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  if (n > 0 && out.size() < kMostOutput) out.append(buffer, static_cast<std::size_t>(n));
  return n > 0;
}

bool is_readable(const UniqueFd& from) {
  pollfd poll{from.get(), POLLIN, 0};
  return ::poll(&poll, 1, 0) > 0 && (poll.revents & POLLIN) != 0;
}

// Until the status has come; false at the deadline. The end of the output is not waited for: what the program
// has started, or what another thread of the host forks meanwhile, may hold it open.
bool read_until_end(const UniqueFd& output, const UniqueFd& status, std::uint64_t deadline_ns,
                    std::string& out, std::string& end) {
  bool more = true;
  for (;;) {
    const std::uint64_t now = now_ns();
    if (now >= deadline_ns) return false;
    pollfd polls[2] = {{status.get(), POLLIN, 0}, {more ? output.get() : -1, POLLIN, 0}};
    if (::poll(polls, 2, static_cast<int>((deadline_ns - now) / 1'000'000u + 1)) <= 0) continue;
    if (polls[1].revents != 0) more = read_some(output, out);
    if (polls[0].revents == 0) continue;
    // Written before the status was: it is all here.
    while (more && is_readable(output)) more = read_some(output, out);
    read_some(status, end);
    return true;
  }
}

class Stacks {
 public:
  Stacks() {
    at_ = ::mmap(nullptr, 2 * kStackBytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  }
  ~Stacks() {
    if (at_ != MAP_FAILED && !kept_) ::munmap(at_, 2 * kStackBytes);
  }
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  [[nodiscard]] bool ok() const { return at_ != MAP_FAILED; }
  [[nodiscard]] char* top(std::size_t number) const {
    return static_cast<char*>(at_) + (number + 1) * kStackBytes;
  }
  void keep() { kept_ = true; }

 private:
  void* at_ = MAP_FAILED;
  bool kept_ = false;
};

}  // namespace

std::string signal_text(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

Result<HelperEnd> run_helper(const std::vector<std::string>& argv, std::uint64_t limit_ns) {
  const std::string doing = "starting " + argv[0];
  const FdRoom room = fd_room();
  Pipe result;
  Pipe status;
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return fail(failed(SysError::last("open(/dev/null)"), room, doing));
  if (!open_pipe(result) || !open_pipe(status)) return fail(failed(SysError::last("pipe2"), room, doing));
  Stacks stacks;
  if (!stacks.ok()) return fail(system_error(SysError::last("mmap"), doing, HB_NO_MEMORY));
  // Everything the other processes read lives on the heap: if one of them hangs for ever, it stays.
  struct Shared {
    Job job;
    std::vector<std::string> words;
    std::vector<char*> pointers;
  };
  auto shared = std::make_unique<Shared>();
  shared->words = argv;
  for (std::string& word : shared->words) shared->pointers.push_back(word.data());
  shared->pointers.push_back(nullptr);
  Job& job = shared->job;
  job.argv = shared->pointers.data();
  job.envp = environ;
  job.null_end = null.get();
  job.result_end = result.write.get();
  job.status_end = status.write.get();
  job.program_stack = stacks.top(1);
  job.deadline_ns = now_ns() + limit_ns;
  job.host = ::getpid();

  // A handler of the host must not run in the middle process: it shares our memory.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const int middle = ::__clone(stand_between, stacks.top(0), CLONE_VM, &job);
  const SysError cause = SysError::last("clone");
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (middle < 0) return fail(failed(cause, room, doing));

  result.write.reset();
  status.write.reset();
  HelperEnd out;
  const std::uint64_t last = job.deadline_ns + kGraceNs;
  std::string end_bytes;
  const bool ended = read_until_end(result.read, status.read, last, out.output, end_bytes);
  End end{-1, 1};
  if (!ended) {
    // No signal ends it: a call into the driver hangs. What it stands on is left to it.
    stacks.keep();
    static_cast<void>(shared.release());
    out.timed_out = true;
    return out;
  }
  while (::waitpid(middle, nullptr, __WCLONE) < 0 && errno == EINTR) {
  }
  if (job.failed_errno != 0) return fail(failed({job.failed_call, job.failed_errno}, room, doing));
  if (end_bytes.size() != sizeof end)
    return fail(HB_SYSTEM, doing + ": the process that watches it was killed");
  std::memcpy(&end, end_bytes.data(), sizeof end);
  out.timed_out = end.timed_out != 0;
  if (WIFEXITED(end.status)) out.exit_code = WEXITSTATUS(end.status);
  if (WIFSIGNALED(end.status)) out.signal = WTERMSIG(end.status);
  return out;
}

}  // namespace hb::client::hip
