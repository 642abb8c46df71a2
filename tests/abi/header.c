/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * Every initialiser, in a C99 that knows no extension. */
#include "hipbroker/arena.h"
#include "hipbroker/hipbroker.h"
#include "hipbroker/policy.h"
#include "hipbroker/quotas.h"
#include "hipbroker/scopes.h"

int uses_every_initialiser(void);
int uses_every_initialiser(void) {
  hb_error error = HB_ERROR_INIT;
  hb_client_options client = HB_CLIENT_OPTIONS_INIT;
  hb_client_info client_info = HB_CLIENT_INFO_INIT;
  hb_key_info key = HB_KEY_INFO_INIT;
  hb_memory_options memory = HB_MEMORY_OPTIONS_INIT;
  hb_memory_info memory_info = HB_MEMORY_INFO_INIT;
  hb_export_options exported = HB_EXPORT_OPTIONS_INIT;
  hb_export_info export_info = HB_EXPORT_INFO_INIT;
  hb_withdrawn withdrawn = HB_WITHDRAWN_INIT;
  hb_import_options imported = HB_IMPORT_OPTIONS_INIT;
  hb_import_info import_info = HB_IMPORT_INFO_INIT;
  hb_daemon_status status = HB_DAEMON_STATUS_INIT;
  hb_pointer_info pointer = HB_POINTER_INFO_INIT;
  hb_hip_report report = HB_HIP_REPORT_INIT;
  hb_event event = HB_EVENT_INIT;
  hb_claim_options claim = HB_CLAIM_OPTIONS_INIT;
  hb_acks_info acks = HB_ACKS_INFO_INIT;
  hb_arena_options arena = HB_ARENA_OPTIONS_INIT;
  hb_arena_info arena_info = HB_ARENA_INFO_INIT;
  hb_group_options group = HB_GROUP_OPTIONS_INIT;
  hb_group_member member = HB_GROUP_MEMBER_INIT;
  hb_reload_info reload = HB_RELOAD_INFO_INIT;
  hb_policy_question question = HB_POLICY_QUESTION_INIT;
  hb_policy_answer_info answer = HB_POLICY_ANSWER_INFO_INIT;
  hb_quota_options quota = HB_QUOTA_OPTIONS_INIT;
  hb_scope_options scope = HB_SCOPE_OPTIONS_INIT;
  hb_scope_place place = HB_SCOPE_PLACE_INIT;
  hb_scope_removed removed = HB_SCOPE_REMOVED_INIT;
  hb_drain_info drain = HB_DRAIN_INFO_INIT;
  return drain.size + quota.size + scope.size + place.size + removed.size + group.size + member.size +
             error.size + client.size + client_info.size + key.size + memory.size + memory_info.size +
             exported.size + export_info.size + withdrawn.size + imported.size + import_info.size +
             status.size + pointer.size + report.size + arena.size + arena_info.size + event.size +
             claim.size + acks.size + reload.size + question.size + answer.size >
         0;
}
