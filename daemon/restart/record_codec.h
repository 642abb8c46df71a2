// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The broker's records as the heap keeps them: numbered fields, as on the wire.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/record.h"
#include "restart/node_memory.h"
#include "restart/record_heap.h"

namespace hb::restart {

class RecordCodec final : public core::RecordSink {
 public:
  // Both outlive this. The floors of ids are kept with the node, too: they must survive the loss of all
  // records.
  RecordCodec(RecordHeap& heap, NodeMemory& node) : heap_(heap), node_(node) {}

  // One transaction, around Broker::write_changes().
  void begin();
  void commit();
  // Why not all is recorded; empty where it is. What was refused is tried again with every transaction.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

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
  void drop(core::RecordKey key) override;

 private:
  template <class Record>
  void write(core::RecordKey key, const Record& record);
  void store(const RecordKey& key, const std::string& bytes);

  RecordHeap& heap_;
  NodeMemory& node_;
  std::string scratch_;
  std::map<RecordKey, std::string> owed_;
  std::string trouble_;
};

struct ReadRecords {
  core::RecordSet set;             // into the heap's memory: until its next transaction
  std::vector<RecordKey> unreadable;
  std::vector<std::string> lines;  // of these
};
[[nodiscard]] ReadRecords read_records(const RecordHeap& heap);
// Those of the node, where it keeps any.
[[nodiscard]] std::optional<core::record::Floors> read_floors(const NodeMemory& node);

}  // namespace hb::restart
