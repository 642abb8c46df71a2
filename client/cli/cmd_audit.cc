// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
#include <fmt/format.h>
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <limits>

#include "audit_view.h"
#include "cmd.h"
#include "exit_codes.h"
#include "fetch.h"
#include "number.h"
#include "text.h"

namespace hb::cli {
namespace {

struct Arguments {
  std::string since;
  AuditFilter filter;
  bool follow = false;
};

std::uint64_t unix_now() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

class Reader {
 public:
  Reader(const Options& options, const Arguments& arguments)
      : options_(options), arguments_(arguments), connection_(open(options)) {
    if (const std::uint64_t ago = duration_ns(arguments.since); ago != 0) {
      const std::uint64_t now = unix_now();
      since_ = ago < now ? now - ago : 0;
    }
  }

  // All there is by now that was not read before.
  std::string read() {
    std::string out;
    bool more = true;
    while (more) {
      hb_audit_options question = HB_AUDIT_OPTIONS_INIT;
      question.after = last_;
      question.since_unix_ns = since_;
      question.deadline_ns = arguments_.follow ? deadline_of(options_.timeout_s) : connection_.deadline();
      hb_audit* raw = nullptr;
      hb_error error = HB_ERROR_INIT;
      check(hb_audit_read(connection_.client(), &question, &raw, &error), error);
      const Owned<hb_audit, hb_audit_destroy> owned(raw);
      hb_audit_info info = HB_AUDIT_INFO_INIT;
      hb_audit_get_info(raw, &info);
      if (info.lost != 0)
        fmt::print(
            stderr,
            "hipbrokerctl: audit: {} older records are not kept any more; they are in the daemon's log\n",
            info.lost);
      for (std::size_t i = 0; i < info.record_count; ++i) append(info.records[i], out);
      last_ = info.last;
      more = info.more != 0;
    }
    return out;
  }

 private:
  // Only the admin's socket knows the verb: an error of the ordinary one would not say how to get there.
  static Connection open(Options options) {
    if (options.view == View::kWidest) options.view = View::kAdmin;
    return Connection::open(options);
  }

  void append(const char* text, std::string& out) const {
    const Json record = Json::parse(text, nullptr, false);
    if (!record.is_object()) throw Failure(kLocal, "the daemon sent a record that is no JSON object");
    if (!is_shown(record, arguments_.filter)) return;
    // One line each, in ASCII as every other output of names.
    out += options_.json ? record.dump(-1, ' ', true, Json::error_handler_t::replace) : audit_line(record);
    out += '\n';
  }

  const Options& options_;
  const Arguments& arguments_;
  Connection connection_;
  std::uint64_t since_ = 0;
  std::uint64_t last_ = 0;
};

// Nothing announces a record: the daemon is asked again and again. Ends by a signal, or when nobody reads.
[[noreturn]] void follow(Reader& reader) {
  constexpr int kAskAgainMs = 500;
  for (;;) {
    const std::string out = reader.read();
    if (std::fwrite(out.data(), 1, out.size(), stdout) != out.size() || std::fflush(stdout) != 0)
      throw Failure(kLocal, fmt::format("writing to stdout: {}", std::strerror(errno)));
    (void)::poll(nullptr, 0, kAskAgainMs);
  }
}

}  // namespace

void add_audit(Cli& cli) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = cli.app.add_subcommand("audit", "Who got, gave back, was refused and took back what");
  verb->fallthrough();
  verb->add_option("--since", arguments->since, "Only of the last TIME: 10m, 1h")
      ->type_name("TIME")
      ->check(duration());
  verb->add_option("--kind", arguments->filter.kind, "Only records of this kind")
      ->type_name("KIND")
      ->check(CLI::IsMember(std::vector<std::string>(kAuditKinds.begin(), kAuditKinds.end())));
  verb->add_option("--uid", arguments->filter.uid, "Only what this uid did")
      ->type_name("N")
      ->check(whole_number(std::numeric_limits<std::uint32_t>::max()));
  verb->add_flag("--follow,-f", arguments->follow, "Go on with what happens from now on, until interrupted");
  verb->callback([&cli, arguments] {
    cli.run = [&cli, arguments]() -> std::string {
      Reader reader(cli.options, *arguments);
      if (arguments->follow) follow(reader);
      return reader.read();
    };
  });
}

}  // namespace hb::cli
