// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The words of wire/message_field.h, where the client's messages are.
#pragma once

#include "wire/message_field.h"  // IWYU pragma: export

namespace hb::client::msg {
using namespace hb::msg;
}  // namespace hb::client::msg
