// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <hipbroker/hipbroker.hpp>

int main() {
  try {
    const hipbroker::Client client("/nonexistent/broker.sock", std::chrono::seconds(1));
  } catch (const hipbroker::Error& error) {
    return error.status() == HB_NO_DAEMON ? 0 : 1;
  }
  return 2;
}
