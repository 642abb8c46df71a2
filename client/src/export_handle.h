// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// What stands behind the C ABI's hb_export.
#pragma once

#include <memory>

#include "client.h"
#include "export_record.h"

struct hb_export {
  std::shared_ptr<hb::client::Client> client;
  std::shared_ptr<hb::client::ExportRecord> record;
};
