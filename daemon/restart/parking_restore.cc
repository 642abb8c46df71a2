// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <algorithm>
#include <charconv>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "restart/parking.h"

namespace hb::restart {
namespace {

struct QueueName {
  std::size_t number = 0;
  char end = 0;
};

std::optional<QueueName> parse(std::string_view name) {
  if (name.size() < 3 || name.front() != 'q') return std::nullopt;
  QueueName parsed;
  parsed.end = name.back();
  const char* digits_end = name.data() + name.size() - 1;
  const auto [end, error] = std::from_chars(name.data() + 1, digits_end, parsed.number);
  if (error != std::errc() || end != digits_end || parsed.number >= Parking::kMostQueues) return std::nullopt;
  if (parsed.end != 'a' && parsed.end != 'b') return std::nullopt;
  if (queue_name(parsed.number, parsed.end) != name) return std::nullopt;
  return parsed;
}

}  // namespace

bool Parking::is_queue_name(std::string_view name) { return parse(name).has_value(); }

Parking::Back Parking::restore(std::map<std::string, std::vector<UniqueFd>>& stored) {
  Back back;
  struct Ends {
    UniqueFd sending, holding;
  };
  std::map<Number, Ends> found;
  for (auto entry = stored.begin(); entry != stored.end();) {
    const auto name = parse(entry->first);
    if (!name || entry->second.empty()) {
      ++entry;
      continue;
    }
    store_.count_inherited(entry->first, entry->second.size());
    Ends& ends = found[name->number];
    (name->end == 'a' ? ends.sending : ends.holding) = std::move(entry->second.front());
    if (entry->second.size() > 1) {
      back.lines.push_back("the descriptor store has \"" + entry->first + "\" " +
                           std::to_string(entry->second.size()) + " times: one of them is used");
    }
    entry = stored.erase(entry);
  }
  for (auto& [number, ends] : found) {
    if (!ends.holding) {
      back.lines.push_back("parking queue " + std::to_string(number) + ": \"" + queue_name(number, 'b') +
                           "\" is not in the descriptor store any more: what was parked in it is lost");
      remove_from_store(number);
      continue;
    }
    if (!ends.sending) {
      back.lines.push_back(
          "parking queue " + std::to_string(number) + ": \"" + queue_name(number, 'a') +
          "\" is not in the descriptor store any more: what is parked in it moves to another");
    }
    queues_[number].emplace(std::move(ends.sending), std::move(ends.holding));
    read_queue(number, back);
  }
  return back;
}

void Parking::read_queue(Number number, Back& back) {
  ParkingQueue& queue = *queues_[number];
  std::vector<Restored> read;
  ParkingQueue::Trouble trouble;
  queue.read(read, trouble);
  in_flight_ += queue.entries();
  const std::string where = "parking queue " + std::to_string(number) + ": ";
  if (trouble.broken > 0) {
    back.lines.push_back(where + std::to_string(trouble.broken) + " messages are none of this program's");
  }
  if (!trouble.error.empty()) {
    back.lines.push_back(where + trouble.error + "; what lies behind that is lost");
    queue.stop_sending();
  }
  const auto has_come = [&back](const ParkedEntry& entry) {
    return std::any_of(back.entries.begin(), back.entries.end(),
                       [&](const Restored& one) { return one.entry == entry; });
  };
  std::unordered_set<ParkedEntry, ParkedEntryHash> lost(trouble.lost.begin(), trouble.lost.end());
  std::unordered_set<ParkedEntry, ParkedEntryHash> here;
  for (Restored& one : read) {
    lost.erase(one.entry);
    // A second copy, of a rewriting that did not come to its end: this queue's, or another's.
    if (!here.insert(one.entry).second) continue;
    if (places_.count(one.entry) != 0 && has_come(one.entry)) continue;
    back.lost.erase(std::remove(back.lost.begin(), back.lost.end(), one.entry), back.lost.end());
    back.entries.push_back(std::move(one));
  }
  for (const ParkedEntry& entry : lost) {
    if (!has_come(entry)) back.lost.push_back(entry);
  }
  if (!lost.empty()) {
    back.lines.push_back(where + std::to_string(lost.size()) +
                         " descriptors could not be taken: the table of descriptors is full; raise "
                         "LimitNOFILE=");
  }
  for (const ParkingQueue::Message& message : queue.messages()) {
    for (const ParkedEntry& entry : message) places_.emplace(entry, number);
  }
}

std::vector<ParkedEntry> Parking::drop_unknown(const std::function<bool(const ParkedEntry&)>& known) {
  std::vector<ParkedEntry> lost;
  const Doomed doomed = [&known](const ParkedEntry& entry) { return !known(entry); };
  const Doomed moves = [&](const ParkedEntry& entry) { return places_.count(entry) > 1 || doomed(entry); };
  for (Number number = 0; number < queues_.size(); ++number) {
    if (!queues_[number]) continue;
    const auto& messages = queues_[number]->messages();
    std::size_t count = messages.size();
    if (queues_[number]->sends()) {
      while (count > 0 && std::none_of(messages[count - 1].begin(), messages[count - 1].end(), moves) &&
             !messages[count - 1].empty()) {
        --count;
      }
      rewrite(number, count, doomed, lost);
    } else {
      rewrite(number, count, doomed, lost);
      remove_queue(number);
    }
  }
  return lost;
}

}  // namespace hb::restart
