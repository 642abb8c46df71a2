// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "policy/policy_reader.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "wire/amount.h"
#include "wire/limits.h"

namespace hb::policy {
namespace {

using conf::Reader;

template <class Number>
bool parse_whole(std::string_view text, Number& out) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  return code == std::errc() && end == text.data() + text.size();
}

// The entries of an array. An empty one is refused: it looks like "nobody" and would be read as "everybody".
template <class Use>
void for_each_entry(Reader& reader, const toml::node& node, std::string_view key, std::string_view expected,
                    const Use& use) {
  const toml::array* list = node.as_array();
  if (list == nullptr) {
    reader.error(node.source(), std::string(key) + " is " + conf::type_name(node) +
                                    ", expected an array of " + std::string(expected));
    return;
  }
  if (list->empty()) {
    reader.error(node.source(),
                 std::string(key) + " is empty, expected an array of " + std::string(expected));
    return;
  }
  for (const toml::node& entry : *list) use(entry);
}

std::optional<IdRange> parse_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  IdRange range;
  if (dash == std::string_view::npos || !parse_whole(text.substr(0, dash), range.first) ||
      !parse_whole(text.substr(dash + 1), range.last) || range.last > kMostId || range.first > range.last) {
    return std::nullopt;
  }
  return range;
}

// Numbers, since names could change their meaning without the daemon noticing.
std::vector<IdRange> read_ids(Reader& reader, const toml::table& table, std::string_view key) {
  std::vector<IdRange> out;
  const toml::node* node = table.get(key);
  if (node == nullptr) return out;
  const std::string expected = "numbers from 0 to " + std::to_string(kMostId) + " and ranges \"A-B\" of them";
  for_each_entry(reader, *node, key, expected, [&](const toml::node& entry) {
    const auto* number = entry.as_integer();
    const auto* text = entry.as_string();
    if (number != nullptr && number->get() >= 0 && number->get() <= kMostId) {
      const auto id = static_cast<std::uint32_t>(number->get());
      out.push_back({id, id});
    } else if (const auto range = text != nullptr ? parse_range(text->get()) : std::nullopt) {
      out.push_back(*range);
    } else {
      std::string said = std::string(key) + " holds " + conf::shown(entry) + ", expected " + expected;
      if (text != nullptr && text->get().find_first_of("0123456789") != 0) {
        said += "; names are not looked up, `getent " + std::string(key == "uid" ? "passwd" : "group") +
                " NAME` tells the number";
      }
      reader.error(entry.source(), said);
    }
  });
  return out;
}

bool is_scope_pattern(std::string_view text) {
  if (text.ends_with('*')) {
    text.remove_suffix(1);
    if (text.empty()) return true;
  }
  return !text.empty() && text.size() <= limits::kScopeNameBytes && text.front() != '.' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
         });
}

std::vector<std::string> read_scopes(Reader& reader, const toml::table& table) {
  std::vector<std::string> out;
  const toml::node* node = table.get("scope");
  if (node == nullptr) return out;
  for_each_entry(reader, *node, "scope", "names of scopes, such as \"main\" or \"job-*\"",
                 [&](const toml::node& entry) {
                   const auto* text = entry.as_string();
                   if (text != nullptr && is_scope_pattern(text->get())) {
                     out.push_back(text->get());
                     return;
                   }
                   reader.error(entry.source(),
                                "scope holds " + conf::shown(entry) + ", expected 1 to " +
                                    std::to_string(limits::kScopeNameBytes) +
                                    " characters of a-z, 0-9, '.', '_' and '-', not beginning with '.'; `*` "
                                    "may be the last");
                 });
  return out;
}

}  // namespace

Selector read_selector(Reader& reader, const toml::table& table) {
  Selector whom;
  whom.uids = read_ids(reader, table, "uid");
  whom.gids = read_ids(reader, table, "gid");
  whom.scopes = read_scopes(reader, table);
  return whom;
}

core::Rights read_verbs(Reader& reader, const toml::node& node, std::string_view key) {
  constexpr std::string_view kAll = "all";
  core::Rights verbs = core::Rights::none();
  if (const auto* text = node.as_string(); text != nullptr && text->get() == kAll) return core::Rights::all();
  std::vector<std::string_view> known;
  std::string expected;
  for (const core::Verb verb : core::kVerbs) {
    known.push_back(core::verb_name(verb));
    expected += "\"" + std::string(core::verb_name(verb)) + "\", ";
  }
  known.push_back(kAll);
  expected += "or \"all\"";
  for_each_entry(reader, node, key, expected, [&](const toml::node& entry) {
    const auto* text = entry.as_string();
    if (text != nullptr && text->get() == kAll) {
      verbs = core::Rights::all();
      return;
    }
    for (const core::Verb verb : core::kVerbs) {
      if (text == nullptr || text->get() != core::verb_name(verb)) continue;
      verbs = verbs.with(verb);
      return;
    }
    reader.error(entry.source(), std::string(key) + " holds " + conf::shown(entry) + ", expected " +
                                     expected + (text != nullptr ? Reader::meant(text->get(), known) : ""));
  });
  return verbs;
}

void add_amount_keys(std::vector<std::string_view>& keys) {
  for (std::size_t i = 0; i < core::kResources; ++i) {
    keys.push_back(core::text_of(static_cast<core::Resource>(i)).key);
  }
}

Amounts read_amounts(Reader& reader, const toml::table& table) {
  Amounts amounts;
  for (std::size_t i = 0; i < core::kResources; ++i) {
    const auto resource = static_cast<core::Resource>(i);
    const std::string key(core::text_of(resource).key);
    const toml::node* node = table.get(key);
    if (node == nullptr) continue;
    const auto* number = node->as_integer();
    const auto* text = resource == core::Resource::kBytes ? node->as_string() : nullptr;
    if (number != nullptr && number->get() >= 0) {
      amounts.of(resource) = static_cast<std::uint64_t>(number->get());
    } else if (const auto bytes = text != nullptr ? parse_bytes(text->get()) : std::nullopt) {
      amounts.of(resource) = bytes;
    } else {
      const bool sized = resource == core::Resource::kBytes;
      reader.error(node->source(), key + " is " + conf::shown(*node) + ", expected an integer from 0" +
                                       (sized ? ", or one with K, M, G or T for a power of 1024, such as "
                                                "\"300G\"; at most " +
                                                    std::to_string(UINT64_MAX) + " bytes"
                                              : ""));
    }
  }
  return amounts;
}

}  // namespace hb::policy
