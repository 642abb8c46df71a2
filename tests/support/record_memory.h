// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What a broker has recorded, encoded, in the memory of a test.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "core/record.h"

namespace hb::test {

class RecordMemory : public core::RecordSink {
 public:
  void put(core::RecordKey key, const core::record::Floors& record) override;
  void put(core::RecordKey key, const core::record::Session& record) override;
  void put(core::RecordKey key, const core::record::Answer& record) override;
  void put(core::RecordKey key, const core::record::Export& record) override;
  void put(core::RecordKey key, const core::record::Chunks& record) override;
  void put(core::RecordKey key, const core::record::Staging& record) override;
  void put(core::RecordKey key, const core::record::Allocation& record) override;
  void put(core::RecordKey key, const core::record::Lease& record) override;
  void put(core::RecordKey key, const core::record::Ticket& record) override;
  void put(core::RecordKey key, const core::record::Group& record) override;
  void put(core::RecordKey key, const core::record::Wait& record) override;
  void drop(core::RecordKey key) override { bytes_.erase(key); }

  // Views of it.
  [[nodiscard]] core::RecordSet read() const;
  [[nodiscard]] std::map<core::RecordKey, std::string>& bytes() { return bytes_; }

 private:
  std::map<core::RecordKey, std::string> bytes_;
};

}  // namespace hb::test
