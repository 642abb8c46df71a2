// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Records as bytes, and back.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/record_set.h"

namespace hb::restart {

// Hands over every record encoded.
class EncodedSink : public core::RecordSink {
 public:
  void put(core::RecordKey key, const core::record::Floors& record) final;
  void put(core::RecordKey key, const core::record::Session& record) final;
  void put(core::RecordKey key, const core::record::Answer& record) final;
  void put(core::RecordKey key, const core::record::Export& record) final;
  void put(core::RecordKey key, const core::record::Chunks& record) final;
  void put(core::RecordKey key, const core::record::Staging& record) final;
  void put(core::RecordKey key, const core::record::Allocation& record) final;
  void put(core::RecordKey key, const core::record::Lease& record) final;
  void put(core::RecordKey key, const core::record::Ticket& record) final;
  void put(core::RecordKey key, const core::record::Group& record) final;
  void put(core::RecordKey key, const core::record::Wait& record) final;

 private:
  virtual void store(core::RecordKey key, const std::string& bytes) = 0;
  template <class Record>
  void encode(core::RecordKey key, const Record& record);
  std::string scratch_;
};

// Into the list of its kind, as a view of `bytes`. What is wrong with it; empty where nothing is.
[[nodiscard]] std::string decode_record(core::RecordSet& set, core::RecordKey key,
                                        std::span<const std::byte> bytes);

}  // namespace hb::restart
