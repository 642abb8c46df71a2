// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "hipbroker/hipbroker.h"

namespace hb::cli {

// What ends a verb early: one line for stderr and an exit code. Thrown by verbs, caught in main().
class Failure : public std::runtime_error {
 public:
  Failure(int exit_code, const std::string& message, std::string cause = "")
      : std::runtime_error(message),
        exit_code_(exit_code),
        cause_(cause.empty() ? message : std::move(cause)) {}
  [[nodiscard]] int exit_code() const { return exit_code_; }
  // Without the way out.
  [[nodiscard]] const std::string& cause() const { return cause_; }

 private:
  int exit_code_;
  std::string cause_;
};

enum class View { kWidest, kAdmin, kOwn };  // kWidest: the admin's if its socket can be opened

struct Options {
  std::string socket;  // empty: where the library looks
  View view = View::kWidest;
  double timeout_s = 5;
  bool json = false;
  bool header = true;
};

// One session with the daemon, and the deadline that the whole verb has.
class Connection {
 public:
  [[nodiscard]] static Connection open(const Options& options);  // throws Failure

  [[nodiscard]] hb_client* client() const { return client_.get(); }
  [[nodiscard]] std::uint64_t deadline() const { return deadline_; }
  [[nodiscard]] const hb_client_info& info() const { return info_; }

 private:
  struct Close {
    void operator()(hb_client* client) const { hb_client_close(client); }
  };
  Connection(hb_client* client, std::uint64_t deadline) : client_(client), deadline_(deadline) {}

  std::unique_ptr<hb_client, Close> client_;
  std::uint64_t deadline_;
  hb_client_info info_ = HB_CLIENT_INFO_INIT;
};

[[nodiscard]] std::uint64_t deadline_of(double seconds);

// The sentence of the error and what to do about it.
// Where no daemon answers.
inline constexpr const char* kStartADaemon =
    "start `hipbrokerd` (as root, for the node) or `hipbrokerd --user` (yourself; needs XDG_RUNTIME_DIR, "
    "else "
    "`--socket PATH`)";

[[nodiscard]] Failure failure_of(hb_status status, const hb_error& error);
inline void check(hb_status status, const hb_error& error) {
  if (status != HB_OK) throw failure_of(status, error);
}

}  // namespace hb::cli
