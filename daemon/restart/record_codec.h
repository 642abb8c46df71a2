// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The broker's records as the heap keeps them: numbered fields, as on the wire.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/record_set.h"
#include "restart/node_memory.h"
#include "restart/record_codec_bytes.h"
#include "restart/record_heap.h"

namespace hb::restart {

class RecordCodec final : public EncodedSink {
 public:
  // Both outlive this. The floors of ids are kept with the node, too: they must survive the loss of all
  // records.
  RecordCodec(RecordHeap& heap, NodeMemory& node) : heap_(heap), node_(node) {}

  // One transaction, around Broker::write_changes().
  void begin();
  void commit();
  // Why not all is recorded; empty where it is. What was refused is tried again with every transaction.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

  void drop(core::RecordKey key) override;

 private:
  void store(core::RecordKey key, const std::string& bytes) override;
  void try_to_put(const RecordKey& key, const std::string& bytes);

  RecordHeap& heap_;
  NodeMemory& node_;
  std::map<RecordKey, std::string> owed_;
  std::string trouble_;
};

struct ReadRecords {
  core::RecordSet set;  // into the heap's memory: until its next transaction
  std::vector<RecordKey> unreadable;
  std::vector<std::string> lines;  // of these
};
[[nodiscard]] ReadRecords read_records(const RecordHeap& heap);
// Those of the node, where it keeps any.
[[nodiscard]] std::optional<core::record::Floors> read_floors(const NodeMemory& node);

}  // namespace hb::restart
