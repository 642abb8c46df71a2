// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "bench/selection.h"

#include <array>
#include <map>
#include <regex>
#include <set>

#include "bench/floor/round_trip.h"
#include "bench/floor/throughput.h"
#include "bench/harness/check.h"
#include "bench/harness/coprocess.h"

namespace hb::bench {
namespace {

using Metric = Coprocess::Metric;
using Spec = Coprocess::Spec;

const std::vector<Metric> kRateAndCpu{{"ops_per_s", " rate", "1/s", 1}, {"cpu_ns", " server cpu", "us", 1e3}};

// A verb of hb_bench_product; the daemon's socket and process are appended once it runs.
struct ProductSpec {
  Spec spec;
  Placement placement = Placement::kSame;
};

std::string at(const std::string& name, Placement placement) {
  return name + "@" + placement_name(placement);
}

void add_product(std::vector<ProductSpec>& out, Placement placement) {
  const auto add = [&](const std::string& name, int samples, const std::string& floor,
                       const std::vector<std::string>& verb, const std::vector<Metric>& metrics = {}) {
    out.push_back({Spec{.name = at(name, placement),
                        .samples = samples,
                        .reference = at(floor, placement),
                        .metrics = metrics,
                        .command = verb},
                   placement});
  };
  add("product.acquire.key", 600, "floor.acquire", {"acquire-key"});
  add("product.acquire.name", 600, "floor.acquire", {"acquire-name"});
  add("product.handles", 600, "floor.acquire.nomap", {"handles"});
  add("product.register", 400, "floor.register", {"register"});
  add("product.batch253.nomap", 30, "floor.batch253.nomap", {"batch", std::to_string(253)});
  out.back().spec.divisor = 1e3 * 253;
  for (const std::size_t connections : {1u, 8u, 64u, 512u}) {
    const std::string text = std::to_string(connections);
    const std::string floor = "floor.acquires.conns" + text;
    add("product.acquires.conns" + text, throughput_samples(connections), floor, {"acquires", text},
        kRateAndCpu);
    add("product.cycles.conns" + text, throughput_samples(connections), floor, {"cycles", text}, kRateAndCpu);
  }
}

void add_cached(std::vector<ProductSpec>& out) {
  for (const char* entries : {"1", "1000"}) {
    out.push_back({Spec{.name = std::string("product.cached.of") + entries,
                        .samples = 40,
                        .unit = "ns",
                        .divisor = 1000,  // hits of one sample
                        .command = {"cached", entries}},
                   Placement::kSame});
  }
}

Spec memory_spec(bool large) {
  Spec spec{.name = "product.memory", .has_samples = false, .command = {"memory"}};
  std::vector<std::string> counts{large ? "10000" : "1000"};
  if (large) counts.emplace_back("100000");
  for (const std::string& count : counts) {
    spec.command.push_back(count);
    spec.metrics.push_back({"bytes_" + count, " daemon per export of " + count, "B", 1});
  }
  return spec;
}

Spec looking_spec(bool large) {
  const std::string count = large ? "10000" : "1000";
  Spec spec{.name = "product.looking", .has_samples = false, .command = {"looking", count}};
  spec.metrics.push_back({"ls_ms", " ls of " + count, "ms", 1});
  spec.metrics.push_back({"metrics_ms", " metrics of " + count, "ms", 1});
  return spec;
}

Spec external_spec(const std::string& text) {
  const std::size_t equals = text.find('=');
  errno = 0;
  if (equals == std::string::npos) die("--ext wants NAME[:REFERENCE]=COMMAND, not %s", text.c_str());
  const std::string name = text.substr(0, equals);
  const std::size_t colon = name.find(':');
  return {.name = name.substr(0, colon),
          .reference = colon == std::string::npos ? "" : name.substr(colon + 1),
          .command = {"/bin/sh", "-c", "exec " + text.substr(equals + 1)}};
}

}  // namespace

Selection select_cases(const Options& options) {
  CaseList floor;
  std::vector<ProductSpec> product;
  std::vector<Spec> others;
  for (const Placement placement : {Placement::kSame, Placement::kSplit}) {
    if (!placement_available(placement)) {
      std::fprintf(stderr, "hb_bench: one CPU alone: the cases @%s are left out\n",
                   placement_name(placement));
      continue;
    }
    add_round_trips(floor, placement);
    add_throughput(floor, placement);
    others.push_back({.name = at("control.acquire", placement),
                      .reference = at("floor.acquire", placement),
                      .command = {options.programs + "/hb_bench_control", placement_name(placement)}});
    if (!options.floor_only) add_product(product, placement);
  }
  if (!options.floor_only) add_cached(product);

  const std::regex wanted(options.filter);
  Selection selection;
  std::set<std::string> referred;
  const auto take = [&](const Spec& spec) {
    selection.interleaved.push_back(std::make_unique<Coprocess>(spec));
    referred.insert(spec.reference);
  };
  std::map<Placement, PrivateDaemon*> daemons;
  const auto daemon_for = [&](Placement placement) {
    PrivateDaemon*& daemon = daemons[placement];
    if (daemon == nullptr) {
      selection.daemons.push_back(std::make_unique<PrivateDaemon>(options.daemon, placement));
      daemon = selection.daemons.back().get();
    }
    return daemon;
  };
  const auto complete = [&](Spec& spec, const PrivateDaemon* daemon, Placement placement) {
    spec.command.insert(spec.command.begin(),
                        {options.programs + "/hb_bench_product", daemon == nullptr ? "-" : daemon->socket(),
                         daemon == nullptr ? "0" : std::to_string(daemon->pid()), placement_name(placement)});
  };
  for (const Spec& spec : others) {
    if (std::regex_search(spec.name, wanted)) take(spec);
  }
  for (const std::string& text : options.external) take(external_spec(text));  // asked for by name
  for (ProductSpec& one : product) {
    if (!std::regex_search(one.spec.name, wanted)) continue;
    complete(one.spec, options.list ? nullptr : daemon_for(one.placement), one.placement);
    take(one.spec);
  }
  std::array specs{memory_spec(options.large_memory), looking_spec(options.large_memory)};
  for (Spec& once : specs) {
    if (options.floor_only || !std::regex_search(once.name, wanted)) continue;
    PrivateDaemon* daemon = nullptr;
    if (!options.list) {
      selection.daemons.push_back(std::make_unique<PrivateDaemon>(options.daemon, Placement::kSplit));
      daemon = selection.daemons.back().get();
    }
    complete(once, daemon, Placement::kSplit);
    selection.once.push_back(std::make_unique<Coprocess>(once));
  }
  CaseList interleaved;
  for (auto& one : floor) {
    if (std::regex_search(one->name(), wanted) || referred.contains(one->name())) {
      interleaved.push_back(std::move(one));
    }
  }
  for (auto& one : selection.interleaved) interleaved.push_back(std::move(one));
  selection.interleaved = std::move(interleaved);
  return selection;
}

}  // namespace hb::bench
