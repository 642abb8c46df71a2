// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "abi.h"

#include "wire/name.h"

namespace hb::client {

void show_error(const Error& error, hb_error* out) noexcept {
  if (out == nullptr || out->size < sizeof(std::size_t) || out->size > 65536) return;
  hb_error full = HB_ERROR_INIT;
  full.status = error.status;
  full.sys_errno = error.sys_errno;
  full.used = error.used;
  full.limit = error.limit;
  full.chunk = error.chunk;
  copy_text(error.operation, full.operation);
  copy_text(error.what, full.what);
  copy_text(error.who, full.who);
  copy_text(error.message.empty() ? std::string_view(hb_status_text(error.status)) : error.message,
            full.message);
  write_info(full, out);
}

hb_status report(Error error, hb_error* out, Client* client) noexcept {
  // A status of 0 or above would read as success.
  if (error.status >= 0) error.status = HB_INTERNAL;
  if (client != nullptr) client->stats().count_refusal(error.status);
  show_error(error, out);
  return error.status;
}

hb_status report(hb_status status, const char* message, hb_error* out, Client* client) noexcept {
  if (client != nullptr) client->stats().count_refusal(status);
  if (out == nullptr || out->size < sizeof(std::size_t) || out->size > 65536) return status;
  // Without a std::string: this is also the way out when memory is short.
  hb_error full = HB_ERROR_INIT;
  full.status = status;
  copy_text(message, full.message);
  write_info(full, out);
  return status;
}

Result<std::string> read_name(const char* name) {
  if (name == nullptr) return null_argument("name");
  std::string text(name);
  if (auto good = check_name(text); !good) return fail(HB_INVALID, "name: " + good.error());
  return text;
}

}  // namespace hb::client
