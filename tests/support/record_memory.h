// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What a broker has recorded, encoded, in the memory of a test.
#pragma once

#include <map>
#include <string>

#include "restart/record_codec_bytes.h"

namespace hb::test {

class RecordMemory : public restart::EncodedSink {
 public:
  void drop(core::RecordKey key) override { bytes_.erase(key); }

  // Views of it.
  [[nodiscard]] core::RecordSet read() const;
  [[nodiscard]] std::map<core::RecordKey, std::string>& bytes() { return bytes_; }

 private:
  void store(core::RecordKey key, const std::string& bytes) override { bytes_[key] = bytes; }

  std::map<core::RecordKey, std::string> bytes_;
};

}  // namespace hb::test
