/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors */
#include <hipbroker/hipbroker.h>
#include <string.h>

int main(void) {
  hb_client_options options = HB_CLIENT_OPTIONS_INIT;
  hb_error error = HB_ERROR_INIT;
  hb_client* client = NULL;
  options.socket = "/nonexistent/broker.sock";
  if (hb_client_open(&options, &client, &error) != HB_NO_DAEMON) return 1;
  return strcmp(hb_status_name(error.status), "HB_NO_DAEMON") == 0 ? 0 : 2;
}
