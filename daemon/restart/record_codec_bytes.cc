// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "restart/record_codec_bytes.h"

#include "wire/message_codec.h"

namespace hb::restart {

namespace record = core::record;

template <class Record>
void EncodedSink::encode(core::RecordKey key, const Record& record) {
  msg::encode(record, scratch_);
  store(key, scratch_);
}

void EncodedSink::put(core::RecordKey key, const record::Floors& record) { encode(key, record); }
void EncodedSink::put(core::RecordKey key, const record::Session& record) { encode(key, record); }
void EncodedSink::put(core::RecordKey key, const record::Answer& record) { encode(key, record); }
void EncodedSink::put(core::RecordKey key, const record::Export& record) { encode(key, record); }
void EncodedSink::put(core::RecordKey key, const record::Chunks& record) { encode(key, record); }
void EncodedSink::put(core::RecordKey key, const record::Staging& record) { encode(key, record); }
void EncodedSink::put(core::RecordKey key, const record::Allocation& record) { encode(key, record); }
void EncodedSink::put(core::RecordKey key, const record::Lease& record) { encode(key, record); }
void EncodedSink::put(core::RecordKey key, const record::Ticket& record) { encode(key, record); }
void EncodedSink::put(core::RecordKey key, const record::Group& record) { encode(key, record); }
void EncodedSink::put(core::RecordKey key, const record::Wait& record) { encode(key, record); }

std::string decode_record(core::RecordSet& set, core::RecordKey key, std::span<const std::byte> bytes) {
  std::string wrong;
  const bool known = core::with_list(set, key.kind, [&](auto& list) {
    list.emplace_back().first = key;
    const auto read = msg::decode_into(bytes, list.back().second);
    if (read) return;
    wrong = read.error().text();
    list.pop_back();
  });
  return known ? wrong : "of a kind that this version does not know";
}

}  // namespace hb::restart
