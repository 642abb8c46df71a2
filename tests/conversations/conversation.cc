// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "conversations/conversation.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace hb::test {
namespace {

constexpr const char* kDigits = "0123456789abcdef";

std::string to_hex(const std::string& bytes) {
  std::string out;
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out.empty() ? "-" : out;
}

std::string from_hex(const std::string& text) {
  std::string out;
  if (text == "-") return out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    out += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  return out;
}

std::uint64_t varint(const std::string& body, std::size_t& at) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (at >= body.size()) throw std::runtime_error("a number ends early");
    const auto byte = static_cast<unsigned char>(body[at++]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  throw std::runtime_error("a number is too long");
}

}  // namespace

std::vector<Said> load_conversation(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<Said> all;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    Said said;
    std::string direction, fds, body;
    unsigned type = 0, flags = 0;
    words >> said.session >> direction >> type >> flags >> said.header.request_id >> fds >> body;
    if (!words) throw std::runtime_error(path + ": \"" + line.substr(0, 60) + "\" is no frame");
    said.by_client = direction == ">";
    said.header.type = static_cast<FrameType>(type);
    said.header.flags = static_cast<std::uint8_t>(flags);
    if (fds != "-") {
      std::istringstream list(fds);
      for (std::string fd; std::getline(list, fd, ',');)
        said.fds.push_back({fd[0], std::stoull("0" + fd.substr(1))});
    }
    said.header.fd_count = static_cast<std::uint16_t>(said.fds.size());
    said.body = from_hex(body);
    all.push_back(std::move(said));
  }
  return all;
}

void save_conversation(const std::string& path, const std::string& about, const std::vector<Said>& all) {
  std::ofstream file(path);
  file << about;
  for (const Said& said : all) {
    file << said.session << (said.by_client ? " > " : " < ") << static_cast<unsigned>(said.header.type) << ' '
         << static_cast<unsigned>(said.header.flags) << ' ' << said.header.request_id << ' ';
    if (said.fds.empty()) file << '-';
    for (std::size_t i = 0; i < said.fds.size(); ++i)
      file << (i == 0 ? "" : ",") << said.fds[i].kind << said.fds[i].bytes;
    file << ' ' << to_hex(said.body) << '\n';
  }
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

std::vector<WireField> fields_of(const std::string& body) {
  std::vector<WireField> fields;
  for (std::size_t at = 0; at < body.size();) {
    const std::uint64_t tag = varint(body, at);
    WireField field;
    field.number = static_cast<std::uint32_t>(tag >> 3);
    std::uint64_t bytes = 0;
    switch (tag & 7) {
      case 0:
        static_cast<void>(varint(body, at));
        break;
      case 1:
        bytes = 8;
        break;
      case 2:
        bytes = varint(body, at);
        break;
      case 5:
        bytes = 4;
        break;
      default:
        throw std::runtime_error("a field of an unknown kind");
    }
    if (bytes > body.size() - at) throw std::runtime_error("a field ends early");
    if ((tag & 7) == 2) field.bytes = body.substr(at, bytes);
    at += bytes;
    fields.push_back(std::move(field));
  }
  return fields;
}

}  // namespace hb::test
