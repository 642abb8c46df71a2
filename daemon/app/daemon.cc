// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include "app/daemon.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "app/administration.h"
#include "app/confinement.h"
#include "app/fd_need.h"
#include "app/heartbeat.h"
#include "app/kept_memory.h"
#include "app/restart.h"
#include "app/runtime_state.h"
#include "ipc/audit_admin.h"
#include "ipc/engine.h"
#include "ipc/server.h"
#include "ipc/socket_path.h"
#include "observe/log.h"
#include "observe/writer.h"
#include "os/activation.h"
#include "os/fd_limit.h"
#include "os/notify.h"
#include "wire/limits.h"
#include "wire/name.h"
#include "wire/sys_error.h"

namespace hb::app {
namespace {

int fail(int code, const std::string& text) {
  observe::log(observe::Level::kError, observe::Message::kCannotServe, text);
  return code;
}

// A descriptor that is 0, 1 or 2 must never be a peer's: libraries write to these numbers.
void keep_standard_descriptors() {
  for (int fd = 0; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    const int null = ::open("/dev/null", O_RDWR);
    if (null >= 0 && null != fd) ::close(null);
  }
}

// A listening socket, ours to remove at the end unless a service manager opened it.
struct Place {
  UniqueFd listening;
  std::optional<ipc::BoundSocket> bound;
  std::string shown;
};

tl::expected<Place, ipc::BindFailure> open_place(UniqueFd activated, const ipc::SocketPlace& wanted) {
  Place place;
  if (activated) {
    place.listening = std::move(activated);
    place.shown = "activated";
    return place;
  }
  auto bound = ipc::bind_socket(wanted);
  if (!bound) return tl::unexpected(std::move(bound.error()));
  place.listening = std::move(bound->socket);
  place.shown = escape_for_display(wanted.path);
  place.bound = std::move(*bound);
  return place;
}

void close_place(Place& place) {
  if (place.bound) ipc::unbind_socket(*place.bound);
}

struct Places {
  Place broker;
  Place admin;
};

// From here to the end of the daemon a thread does the writing. At the end it may take so long; a log that
// nobody reads must not keep the daemon from ending.
struct Writing {
  static constexpr std::uint64_t kFinishNs = 2'000'000'000;
  Writing() { observe::process_writer().start(); }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;
  ~Writing() { static_cast<void>(observe::process_writer().finish(kFinishNs)); }
};

// What is still to be opened at the start: a socket and its lock file, the event loop with its signals.
// Counted ahead because under a limit below that it is some call of a library that fails, and does not say
// why. The count of what is open in the end decides.
constexpr std::uint64_t kOfPlace = 2;
constexpr std::uint64_t kOfMemory = 3;
constexpr std::uint64_t kOfLoop = 5;

tl::expected<std::uint64_t, std::string> count_descriptors() {
  const auto own = os::count_own_descriptors();
  if (own) return *own;
  return tl::unexpected(own.error().text() + "; the daemon needs /proc to tell what a descriptor is");
}

std::optional<std::string> refuse_fd_limit(const os::FdLimit& limit, std::uint64_t base) {
  return app::refuse_fd_limit(limit.limit, base, core::BrokerConfig().fds_per_session);
}

// What came with the start and is dealt with later: not the daemon's own.
std::uint64_t count_of(const os::Inherited& inherited) {
  std::uint64_t count = inherited.surplus.size();
  for (const auto& [name, fds] : inherited.stored) count += fds.size();
  return count;
}

tl::expected<Places, Exit> open_places(const Settings& settings, const os::FdLimit& limit,
                                       os::Inherited& activated) {
  const auto open = count_descriptors();
  if (!open) return tl::unexpected(Exit{kExitLocal, {open.error()}});
  const std::uint64_t base = *open - count_of(activated) + (activated.broker ? 0 : kOfPlace) +
                             (activated.admin ? 0 : kOfPlace) + kOfMemory + kOfLoop;
  if (auto refused = refuse_fd_limit(limit, base)) return tl::unexpected(Exit{kExitLocal, {*refused}});
  const auto exit_of = [](const ipc::BindFailure& failure) {
    return Exit{failure.another_daemon ? kExitAnother : kExitLocal, {failure.message}};
  };
  Places places;
  auto broker = open_place(std::move(activated.broker), {settings.socket, 0666, 0755, false});
  if (!broker) return tl::unexpected(exit_of(broker.error()));
  places.broker = std::move(*broker);
  auto admin = open_place(std::move(activated.admin), {settings.admin_socket, 0600, 0700, true});
  if (!admin) {
    close_place(places.broker);
    return tl::unexpected(exit_of(admin.error()));
  }
  places.admin = std::move(*admin);
  return places;
}

tl::expected<core::BrokerConfig, std::string> broker_config(const Settings& settings,
                                                            const os::FdLimit& limit,
                                                            const KeptMemory& memory, std::uint64_t not_own) {
  core::BrokerConfig config;
  config.broker_id = memory.kept.node->identity().broker;
  config.master = memory.kept.node->identity().master;
  config.lost_records = memory.lost_records;
  const auto own = count_descriptors();
  if (!own) return tl::unexpected(own.error());
  if (auto refused = refuse_fd_limit(limit, *own - not_own)) return tl::unexpected(std::move(*refused));
  config.fd_limit = limit.limit;
  config.fd_base = *own - not_own;
  config.ended_exports = settings.ended_exports;
  config.ended_export_ns = settings.ended_export_ns;
  return config;
}

// Each time it comes. Until the loop runs it is kept by signal_set.
void reload_at(boost::asio::signal_set& hangup, PolicyAdministration& policy, ipc::Engine& engine,
               Heartbeat& heartbeat) {
  hangup.async_wait([&](const boost::system::error_code& error, int /*number*/) {
    if (error) return;
    heartbeat.reloading();
    core::Audit audit = ipc::audit_of(policy.reload());
    audit.uid = ::geteuid();
    audit.verb = "SIGHUP";
    audit.admin = true;
    engine.note(std::move(audit));
    heartbeat.reloaded();
    reload_at(hangup, policy, engine, heartbeat);
  });
}

std::vector<UniqueFd> surplus_of(os::Inherited& inherited, os::DescriptorStore& store) {
  std::vector<UniqueFd> out;
  for (os::Inherited::Surplus& one : inherited.surplus) {
    observe::log(observe::Level::kWarning, observe::Message::kRestoreRemark,
                 "the service manager keeps \"" + escape_for_display(one.name) +
                     "\", which this version does not know: closed");
    store.count_inherited(one.name, 1);
    if (store.available()) static_cast<void>(store.remove(one.name));
    out.push_back(std::move(one.fd));
  }
  return out;
}

}  // namespace

int run_daemon(const Settings& settings) {
  keep_standard_descriptors();
  observe::start_log(settings.log_level);
  ::umask(0022);
  std::signal(SIGPIPE, SIG_IGN);  // a closed stderr must not end the daemon

  const auto limit = os::raise_fd_limit();
  if (!limit) return fail(kExitLocal, limit.error().text());
  if (const auto grown = os::grow_descriptor_table(limit->limit); !grown) {
    return fail(kExitLocal, "growing the descriptor table: " + grown.error().text());
  }
  const auto user = check_user_namespace().and_then([&settings] { return become_user(settings); });
  if (!user) return fail(user.error().code, user.error().lines.front());
  auto inherited = os::take_inherited(is_stored_name);
  if (!inherited) return fail(kExitLocal, inherited.error());
  const bool broker_activated = static_cast<bool>(inherited->broker);
  const bool admin_activated = static_cast<bool>(inherited->admin);
  auto places = open_places(settings, *limit, *inherited);
  if (!places) return fail(places.error().code, places.error().lines.front());
  auto memory = open_kept_memory(settings, inherited->stored, limit->limit);
  if (!memory) {
    close_place(places->broker);
    close_place(places->admin);
    return fail(memory.error().code, memory.error().lines.front());
  }
  if (broker_activated) memory->kept.store->count_listener("broker");
  if (admin_activated) memory->kept.store->count_listener("admin");

  boost::asio::io_context io(1);
  boost::asio::signal_set signals(io, SIGTERM, SIGINT);
  boost::asio::signal_set hangup(io, SIGHUP);
  // After everything that stays open is open.
  const auto config = broker_config(settings, *limit, *memory, count_of(*inherited));
  if (!config) {
    close_place(places->broker);
    close_place(places->admin);
    return fail(kExitLocal, config.error());
  }
  // Before any thread starts.
  const auto sandbox = enter_sandbox(settings);
  if (!sandbox) {
    close_place(places->broker);
    close_place(places->admin);
    return fail(sandbox.error().code, sandbox.error().lines.front());
  }
  const Writing writing;
  for (const std::string& line : memory->lost)
    observe::log(observe::Level::kError, observe::Message::kRecordsLost, line);
  const bool records = memory->kept.heap.has_value();
  std::vector<UniqueFd> surplus = surplus_of(*inherited, *memory->kept.store);
  auto continuity = std::make_unique<ipc::Continuity>(std::move(memory->kept));
  Restart restart(*continuity, std::move(inherited->stored), std::move(surplus));
  ipc::Engine engine(io, *config, settings.drivers,
                     std::make_shared<const policy::Policy>(settings.policy->policy), std::move(continuity));
  engine.audit().write_to(observe::process_writer());
  PolicyAdministration policy(engine, settings.policy_source);
  engine.set_sandbox(sandbox->layers);
  ipc::Server server(io, engine, std::move(memory->inbox));
  const std::string status = "broker " + places->broker.shown + ", admin " + places->admin.shown;
  Heartbeat heartbeat(io, engine, status);
  reload_at(hangup, policy, engine, heartbeat);
  server.listen(std::move(places->broker.listening), {});
  server.listen(std::move(places->admin.listening), {true});
  const std::string state_file = runtime_state_file(settings.admin_socket);
  LoadedState loaded = load_runtime_state(state_file);
  for (const std::string& line : loaded.errors)
    observe::log(observe::Level::kError, observe::Message::kStateBroken, line);
  ScopeAdministration scopes(
      {engine, server, loaded.state, state_file, settings.socket.substr(0, settings.socket.rfind('/'))});
  scopes.restore(restart);
  QuotaAdministration quotas({engine, loaded.state, state_file});
  quotas.apply();
  Administration administration(policy, scopes, quotas, engine);
  server.set_administration(&administration);
  signals.async_wait([&](const boost::system::error_code& error, int number) {
    if (error) return;
    os::notify_stopping();
    observe::log(observe::Level::kInfo, observe::Message::kStopping,
                 std::string("stopping: ") + ::sigabbrev_np(number));
    heartbeat.stop();
    // What is recorded goes on with the next daemon: nothing ends by this one's end.
    if (records) {
      server.leave();
    } else {
      server.stop();
    }
    if (engine.continuity().has_store()) scopes.leave();
    engine.stop();
    io.stop();
  });

  observe::log(observe::Level::kInfo, observe::Message::kServes,
               ipc::daemon_name() + " serves: " + status + "; descriptors: limit " +
                   std::to_string(limit->limit) + ", reserve " +
                   std::to_string(limits::fd_reserve(limit->limit)) + ", in use " +
                   std::to_string(config->fd_base));
  const std::vector<std::string> policy_lines = describe(*settings.policy);
  observe::log(observe::Level::kInfo, "policy: " + policy_lines.front());
  for (std::size_t i = 1; i < policy_lines.size(); ++i)
    observe::log(observe::Level::kWarning, observe::Message::kPolicyRemark, policy_lines[i]);
  const std::string went_on = restart.take_over({engine, server, scopes, settings.grace_ns});
  if (!went_on.empty()) observe::log(observe::Level::kInfo, observe::Message::kWentOn, went_on);
  if (const auto state = engine.continuity_state(); !state.safe)
    observe::log(observe::Level::kInfo, observe::Message::kNotRestartSafe,
                 "restart-safe: no: " + state.reason);
  heartbeat.start();
  io.run();
  close_place(places->broker);
  close_place(places->admin);
  return kExitOk;
}

}  // namespace hb::app
