// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "restart/parking.h"

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

namespace hb::restart {
namespace {

// A removal rewrites what lies before it in its queue. While there are queues to be had, none has more than
// one message would hold.
constexpr std::size_t kFewEntries = ParkingQueue::kMessageFds;

}  // namespace

std::string queue_name(std::size_t number, char end) { return "q" + std::to_string(number) + end; }

Parking::Parking(os::DescriptorStore& store, Options options, Lookup lookup)
    : store_(store),
      options_(std::move(options)),
      lookup_(std::move(lookup)),
      queues_(kMostQueues),
      spoilt_(kMostQueues) {
  options_.queues = std::clamp<std::size_t>(options_.queues, 1, kMostQueues);
}

std::size_t Parking::queues() const {
  return static_cast<std::size_t>(
      std::count_if(queues_.begin(), queues_.end(), [](const auto& queue) { return queue.has_value(); }));
}

tl::expected<void, std::string> Parking::fits(std::size_t more) const {
  // One message more than what stays: a removal sends what remains before it takes the old message out.
  const std::uint64_t wanted = in_flight_ + more + ParkingQueue::kMessageFds;
  if (wanted <= options_.limit) return {};
  return tl::unexpected(std::to_string(in_flight_) + " descriptors are parked, " + std::to_string(more) +
                        " more and " + std::to_string(ParkingQueue::kMessageFds) +
                        " kept free for rewriting make " + std::to_string(wanted) + ", the limit is " +
                        std::to_string(options_.limit) +
                        " (the soft RLIMIT_NOFILE less a quarter for answers); raise LimitNOFILE=");
}

bool Parking::is_own_end(BorrowedFd fd) const {
  return std::any_of(queues_.begin(), queues_.end(), [&](const auto& queue) {
    return queue && (queue->sending().get() == fd.get() || queue->holding().get() == fd.get());
  });
}

tl::expected<Parking::Number, std::string> Parking::make_queue() {
  Number number = 0;
  while (number < kMostQueues && (queues_[number] || spoilt_[number])) ++number;
  if (number >= kMostQueues || queues() >= options_.queues) {
    return tl::unexpected("all " + std::to_string(options_.queues) + " parking queues are in use and full");
  }
  step("socketpair");
  auto queue = ParkingQueue::make();
  if (!queue) return tl::unexpected("a parking queue: " + queue.error().text());
  const std::string holding = queue_name(number, 'b');
  const std::string sending = queue_name(number, 'a');
  step("FDSTORE");
  auto stored = store_.add(holding, queue->holding());
  if (stored) {
    step("FDSTORE");
    stored = store_.add(sending, queue->sending());
  }
  // What the manager has not taken yet is lost when this process ends.
  if (stored) {
    step("BARRIER");
    stored = store_.barrier(options_.store_wait_ns);
  }
  if (!stored) {
    makes_queues_ = false;
    remove_from_store(number);
    return tl::unexpected("a parking queue: " + stored.error());
  }
  makes_queues_ = true;
  queues_[number] = std::move(*queue);
  return number;
}

void Parking::remove_queue(Number number) {
  if (!queues_[number]) return;
  in_flight_ -= queues_[number]->entries();
  for (const ParkingQueue::Message& message : queues_[number]->messages()) {
    for (const ParkedEntry& entry : message) forget(entry, number);
  }
  remove_from_store(number);
  queues_[number].reset();
}

void Parking::remove_from_store(Number number) {
  step("FDSTOREREMOVE");
  if (!store_.remove(queue_name(number, 'a')) || !store_.remove(queue_name(number, 'b')))
    spoilt_[number] = true;
}

void Parking::forget(const ParkedEntry& entry, Number number) {
  const auto [first, last] = places_.equal_range(entry);
  const auto place = std::find_if(first, last, [&](const auto& one) { return one.second == number; });
  if (place != last) places_.erase(place);
}

tl::expected<Parking::Number, std::string> Parking::choose(std::size_t entries) {
  std::optional<Number> least;
  for (Number number = 0; number < queues_.size(); ++number) {
    if (!queues_[number] || !queues_[number]->sends()) continue;
    const std::size_t held = queues_[number]->entries();
    if (held + entries <= kFewEntries) return number;
    if (!least || held < queues_[*least]->entries()) least = number;
  }
  if (!least || (makes_queues_ && queues() < options_.queues)) {
    auto made = make_queue();
    if (made || !least) return made;
  }
  return *least;
}

tl::expected<void, std::string> Parking::send(Number number, std::span<const ToPark> entries) {
  step("sendmsg");
  if (auto sent = queues_[number]->send(entries); !sent) {
    std::string text = "parking queue " + std::to_string(number) + ": " + sent.error().text();
    if (sent.error().code == ETOOMANYREFS) {
      text += ": the uid has more descriptors in flight than its soft RLIMIT_NOFILE, " +
              std::to_string(in_flight_) + " of them parked here (limit " + std::to_string(options_.limit) +
              "); raise LimitNOFILE=";
    } else if (sent.error().code == EAGAIN) {
      text += ": it is full with " + std::to_string(queues_[number]->entries()) + " descriptors in " +
              std::to_string(queues_[number]->messages().size()) + " messages";
    }
    return tl::unexpected(std::move(text));
  }
  in_flight_ += entries.size();
  for (const ToPark& one : entries) places_.emplace(one.entry, number);
  return {};
}

tl::expected<void, std::string> Parking::send_anywhere(std::span<const ToPark> entries) {
  const auto chosen = choose(entries.size());
  if (!chosen) return tl::unexpected(chosen.error());
  auto sent = send(*chosen, entries);
  for (Number number = 0; !sent && number < queues_.size(); ++number) {
    if (number == *chosen || !queues_[number] || !queues_[number]->sends()) continue;
    if (send(number, entries)) return {};
  }
  if (!sent && queues() < options_.queues) {
    const auto made = make_queue();
    if (made) sent = send(*made, entries);
  }
  return sent;
}

tl::expected<void, std::string> Parking::park(std::span<const ToPark> entries) {
  if (!store_.available()) return tl::unexpected(store_.why_not());
  std::vector<ToPark> fresh;
  for (const ToPark& one : entries) {
    if (is_parked(one.entry)) continue;
    if (is_own_end(one.fd)) return tl::unexpected(std::string("an end of a parking queue cannot be parked"));
    fresh.push_back(one);
  }
  if (fresh.empty()) return {};
  if (auto fitting = fits(fresh.size()); !fitting) return fitting;
  std::vector<ParkedEntry> done;
  for (std::size_t first = 0; first < fresh.size(); first += ParkingQueue::kMessageFds) {
    const std::size_t count = std::min(fresh.size() - first, ParkingQueue::kMessageFds);
    const auto part = std::span(fresh).subspan(first, count);
    if (auto sent = send_anywhere(part); !sent) {
      static_cast<void>(unpark(done));  // they lie at the ends of their queues: what is lost is among them
      return sent;
    }
    for (const ToPark& one : part) done.push_back(one.entry);
  }
  for (Number number = 0; number < queues_.size(); ++number) {
    if (!queues_[number] || queues_[number]->messages().size() < ParkingQueue::kManyMessages) continue;
    std::vector<ParkedEntry> lost;
    rewrite(
        number, queues_[number]->messages().size(), [](const ParkedEntry&) { return false; }, lost);
  }
  return {};
}

std::vector<ParkedEntry> Parking::unpark(std::span<const ParkedEntry> entries) {
  std::unordered_set<ParkedEntry, ParkedEntryHash> gone;
  std::set<Number> touched;
  for (const ParkedEntry& entry : entries) {
    const auto [first, last] = places_.equal_range(entry);
    if (first != last) gone.insert(entry);
    for (auto place = first; place != last; ++place) touched.insert(place->second);
  }
  const Doomed doomed = [&gone](const ParkedEntry& entry) { return gone.count(entry) != 0; };
  std::vector<ParkedEntry> lost;
  for (const Number number : touched) {
    const auto& messages = queues_[number]->messages();
    std::size_t count = messages.size();
    while (count > 0 && std::none_of(messages[count - 1].begin(), messages[count - 1].end(), doomed)) --count;
    rewrite(number, count, doomed, lost);
  }
  return lost;
}

bool Parking::discard_first(Number number, std::vector<ParkedEntry>& lost) {
  ParkingQueue& queue = *queues_[number];
  const ParkingQueue::Message first = queue.messages().front();
  step("recvmsg");
  if (queue.discard_first()) {
    in_flight_ -= first.size();
    for (const ParkedEntry& entry : first) forget(entry, number);
    return true;
  }
  std::vector<ParkedEntry> all;
  for (const ParkingQueue::Message& message : queue.messages()) {
    all.insert(all.end(), message.begin(), message.end());
  }
  remove_queue(number);
  std::copy_if(all.begin(), all.end(), std::back_inserter(lost),
               [this](const ParkedEntry& entry) { return !is_parked(entry); });
  return false;
}

struct Parking::Batch {
  std::size_t messages = 0;  // so many first ones go
  std::vector<ToPark> again;
};

Parking::Batch Parking::gather(Number number, std::size_t messages, const Doomed& doomed,
                               std::vector<ParkedEntry>& lost) const {
  const auto& queue = queues_[number]->messages();
  Batch batch;
  std::unordered_map<ParkedEntry, std::size_t, ParkedEntryHash> copies;
  std::vector<ParkedEntry> order;
  for (; batch.messages < messages; ++batch.messages) {
    const ParkingQueue::Message& message = queue[batch.messages];
    if (batch.messages > 0 && order.size() + message.size() > ParkingQueue::kMessageFds) break;
    for (const ParkedEntry& entry : message) {
      if (!doomed(entry) && ++copies[entry] == 1) order.push_back(entry);
    }
  }
  for (const ParkedEntry& entry : order) {
    if (places_.count(entry) > copies[entry]) continue;  // it lies somewhere else as well
    const BorrowedFd fd = lookup_(entry);
    if (fd.get() >= 0) {
      batch.again.push_back({entry, fd});
    } else {
      lost.push_back(entry);
    }
  }
  return batch;
}

void Parking::rewrite(Number number, std::size_t messages, const Doomed& doomed,
                      std::vector<ParkedEntry>& lost) {
  while (messages > 0 && queues_[number]) {
    const Batch batch = gather(number, messages, doomed, lost);
    const auto park_again = [&]() -> bool {
      if (batch.again.empty()) return true;
      if (queues_[number] && queues_[number]->sends() && send(number, batch.again)) return true;
      return static_cast<bool>(send_anywhere(batch.again));
    };
    // First what stays, at the end, then what goes. Where there is no room for both, what was asked to go
    // goes all the same.
    bool parked = park_again();
    for (std::size_t i = 0; i < batch.messages; ++i) {
      if (!discard_first(number, lost)) break;
    }
    if (!parked) parked = park_again();
    if (!parked) {
      for (const ToPark& one : batch.again) lost.push_back(one.entry);
    }
    messages -= batch.messages;
  }
}

}  // namespace hb::restart
