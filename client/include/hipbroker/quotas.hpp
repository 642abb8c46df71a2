// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// Quotas, over hipbroker/quotas.h.
#ifndef HIPBROKER_QUOTAS_HPP
#define HIPBROKER_QUOTAS_HPP

#include "hipbroker/hipbroker.hpp"
#include "hipbroker/quotas.h"

namespace hipbroker {

// What principals use and may use, as of the moment it was asked for.
class Accounts {
 public:
  explicit Accounts(const Client& client, Deadline deadline = {}) {
    hb_accounts* accounts = nullptr;
    detail::call(hb_quota_list, client.get(), deadline.ns(), &accounts);
    accounts_ = detail::Owner<hb_accounts, hb_accounts_free>(accounts);
  }
  std::size_t size() const noexcept { return hb_accounts_count(accounts_.get()); }
  const hb_account& operator[](std::size_t index) const { return *hb_accounts_at(accounts_.get(), index); }

 private:
  detail::Owner<hb_accounts, hb_accounts_free> accounts_;
};

// How many live sessions it applies to.
inline std::uint64_t set_quota(const Client& client, const hb_quota_options& options) {
  std::uint64_t sessions = 0;
  detail::call(hb_quota_set, client.get(), &options, &sessions);
  return sessions;
}

}  // namespace hipbroker
#endif
