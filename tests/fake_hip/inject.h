// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Which call is to fail: counts every call and answers for the k-th of a function or of any.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "abi.h"

namespace hb::fakehip {

enum class InjectHow : unsigned char { kDefault, kSkip, kDone, kLate, kPartial };

struct Injected {
  HipError code = kUnknown;
  InjectHow how = InjectHow::kDefault;
};

class Injector {
 public:
  // "f:k[:code[:how]]" with ',' or ';' between; counting starts anew. False: not understood.
  bool configure(std::string_view text);
  // Counts this call; what is to happen to it.
  std::optional<Injected> count(std::string_view function);
  [[nodiscard]] long long calls(std::string_view function) const;  // "": of all

 private:
  struct Rule {
    std::string function;
    long long at = 0;
    Injected what;
  };
  std::vector<Rule> rules_;
  std::map<std::string, long long, std::less<>> counts_;
  long long all_ = 0;
};

}  // namespace hb::fakehip
