/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the hipbroker authors
 *
 * The policy of the node (docs/policy.md): to have it read anew, and to ask what it says about somebody. For
 * clients of the admin socket; others get HB_DENIED. The conventions of hipbroker.h hold here.
 */
#ifndef HIPBROKER_POLICY_H
#define HIPBROKER_POLICY_H

#include "hipbroker/hipbroker.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- reload ----------------------------------------------------------------------------------- */

typedef struct hb_reload hb_reload;

/* Everything is owned by the handle. A line is "FILE:LINE:COLUMN: what is wrong; the way out". */
typedef struct hb_reload_info {
  size_t size;
  int applied;        /* 1: the policy of the file holds now. 0: it has errors, and nothing has changed */
  const char* file;   /* "": there is none, the built-in policy holds */
  uint64_t rules;     /* of the file */
  uint64_t overrides; /* of quotas */
  uint64_t sessions;  /* that live, and have their rights and limits by it from now on */
  const char* const* errors;
  size_t error_count;
  const char* const* warnings; /* what is in order and hardly meant */
  size_t warning_count;
} hb_reload_info;
#define HB_RELOAD_INFO_INIT \
  { sizeof(hb_reload_info), 0, NULL, 0, 0, 0, NULL, 0, NULL, 0 }

/* The daemon reads its policy file anew, all of it or nothing. What exists stays: no export, lease or mapping
 * ends by it. HB_OK: the file was looked at; whether it holds is in `applied`. HB_DENIED, HB_TIMEOUT. */
HB_API hb_status hb_policy_reload(hb_client* client, uint64_t deadline_ns, hb_reload** ret_reload,
                                  hb_error* error);
/* Valid as long as the handle. */
HB_API void hb_reload_get_info(const hb_reload* reload, hb_reload_info* ret_info);
HB_API void hb_reload_destroy(hb_reload* reload); /* NULL is allowed */

/* ---- check ------------------------------------------------------------------------------------ */

typedef struct hb_policy_question {
  size_t size;
  uint32_t uid;         /* about whom */
  const uint32_t* gids; /* all groups of that process, its primary one too; at most 8,192 */
  size_t gid_count;
  const char* scope;  /* NULL: the main one */
  const char* name;   /* NULL: the verbs alone; else also what the access list of this export gives */
  uint32_t owner_uid; /* of the name; HB_OWN_UID: `uid` */
  uint64_t deadline_ns;
} hb_policy_question;
#define HB_POLICY_QUESTION_INIT \
  { sizeof(hb_policy_question), 0, NULL, 0, NULL, NULL, HB_OWN_UID, HB_NO_DEADLINE }

typedef struct hb_policy_verdict {
  const char* verb; /* "export", "acquire", "list", "persist", "revoke" */
  int allowed;
  const char* reason; /* "FILE:LINE: the rule", or that none fits */
} hb_policy_verdict;

typedef struct hb_policy_answer hb_policy_answer;

typedef struct hb_policy_answer_info {
  size_t size;
  const hb_policy_verdict* verdicts;
  size_t verdict_count;
  int found;                 /* 1: an export bears the name now */
  uint32_t access;           /* what its access list gives: 0 or HB_ACCESS_* */
  const char* access_reason; /* which entries give it; where nothing is found, why */
  uint64_t export_id;
  const char* state; /* of the export: "live", "suspended", "orphaned" */
} hb_policy_answer_info;
#define HB_POLICY_ANSWER_INFO_INIT \
  { sizeof(hb_policy_answer_info), NULL, 0, 0, 0, NULL, 0, NULL }

/* What the policy in force says about somebody, who need not be connected. HB_INVALID, HB_DENIED, HB_TIMEOUT.
 */
HB_API hb_status hb_policy_check(hb_client* client, const hb_policy_question* question,
                                 hb_policy_answer** ret_answer, hb_error* error);
/* Valid as long as the handle. */
HB_API void hb_policy_answer_get_info(const hb_policy_answer* answer, hb_policy_answer_info* ret_info);
HB_API void hb_policy_answer_destroy(hb_policy_answer* answer); /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
