# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
"""Who may include whom. The table below is the one of docs/architecture.md."""

import posixpath
import re

from tree import C_SOURCES, Finding

# What an include in angle brackets belongs to, by how it begins. The rest: a name without a dot is the C++
# library, one that ends in .h is libc.
FAMILIES = {
    "asio": ("boost/",),
    "cli11": ("CLI/",),
    "expected": ("tl/",),
    "fmt": ("fmt/",),
    "json": ("nlohmann/",),
    "protobuf": ("google/protobuf/",),
    "protozero": ("protozero/",),
    "spdlog": ("spdlog/",),
    "systemd": ("systemd/",),
    "toml": ("toml++/",),
    "xxhash": ("xxhash.h",),
}
# Of the C++ library: what brings a clock, a thread or I/O. Listed apart because the core has none of them.
EFFECTS = {
    "chrono", "ctime", "thread", "mutex", "shared_mutex", "condition_variable", "future", "atomic", "stop_token",
    "semaphore", "barrier", "latch", "iostream", "fstream", "filesystem", "cstdio", "random", "csignal",
}

LIBC_STD = {"libc", "std", "effects"}
WIRE = {"proto/wire/", "proto/include/"}
WIRE_VALUES = {f"proto/wire/{name}.h" for name in ("amount", "key", "limits", "message_field", "name", "expected")} | {
    "proto/include/hipbroker/status.h"
}
TYPES_IDS = {"daemon/core/types.h", "daemon/core/ids.h"}

# folder: what its files may include, besides files of the folder itself. A path ending in '/' is a folder.
# The longest folder that fits a file is the one that counts.
TABLE = {
    "proto/include/": {"libc"},
    "proto/wire/": LIBC_STD | {"expected", "proto/include/"},
    "daemon/core/": WIRE_VALUES | {"std", "expected"},
    "daemon/conf/": LIBC_STD | WIRE | {"expected", "toml"},
    # Values of the core; of the file alone its text.
    "daemon/policy/": TYPES_IDS
    | WIRE_VALUES
    | {"daemon/core/resource.h", "daemon/core/rights.h", "daemon/conf/", "std", "expected"},
    "daemon/os/": WIRE | TYPES_IDS | LIBC_STD | {"expected", "systemd"},
    "daemon/restart/": WIRE
    | TYPES_IDS
    | LIBC_STD
    | {"daemon/core/record.h", "daemon/core/record_set.h", "daemon/os/", "expected", "xxhash"},
    "daemon/observe/": LIBC_STD
    | {"daemon/core/effect.h", "daemon/core/types.h", "daemon/core/ids.h", "proto/wire/unique_fd.h", "spdlog", "systemd", "expected"}
    | WIRE_VALUES,
    "daemon/ipc/": LIBC_STD
    | WIRE
    | {"daemon/core/", "daemon/policy/", "daemon/os/", "daemon/restart/", "daemon/observe/", "asio", "expected"},
    "daemon/app/": LIBC_STD
    | WIRE
    | {"daemon/", "asio", "cli11", "expected", "fmt", "spdlog", "systemd", "toml"},
    "client/include/": LIBC_STD | {"proto/include/"},
    "client/src/": LIBC_STD | {"client/include/", "proto/wire/", "proto/include/", "expected"},
    "client/probe/": LIBC_STD | {"client/include/", "client/src/", "proto/wire/", "proto/include/", "expected"},
    "client/selftest/": LIBC_STD
    | {"client/include/", "proto/include/", "proto/wire/unique_fd.h", "client/cli/exit_codes.h", "cli11"},
    # The tool escapes names as the daemon's log does, and reads amounts as the policy file has them.
    "client/cli/": LIBC_STD
    | {"client/include/", "proto/include/", "proto/wire/amount.h", "proto/wire/name.h", "cli11", "json", "fmt"},
}

# Within a folder, who alone may include something: (folder, what, files by how their name begins).
ONLY = [
    ("daemon/ipc/", "messages", ("translate", "session")),
    ("client/src/", "protozero", ("messages",)),
    ("proto/wire/", "protozero", ("message_codec",)),
    ("daemon/restart/", "protozero", ("record_codec",)),
]

# Where an include in quotes may lie.
ROOTS = ("proto/", "proto/include/", "daemon/", "client/include/", "client/src/", "client/cli/", "client/", "tests/", "")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def classify(tree_paths, path, bracket, target):
    """A path of the tree, or the name of a family."""
    if target.endswith(".pb.h"):
        return "messages"
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    if bracket == '"' and beside in tree_paths:
        return beside
    for root in ROOTS:
        if root + target in tree_paths:
            return root + target
    for family, beginnings in FAMILIES.items():
        if target.startswith(beginnings):
            return family
    if bracket == '"':
        return None
    if "." not in target and "/" not in target:
        return "effects" if target in EFFECTS else "std"
    return "libc"


def allowed(target, rights):
    return target in rights or any(right.endswith("/") and target.startswith(right) for right in rights)


def check(tree):
    known = set(tree.paths)
    for path in tree.select(*C_SOURCES):
        folders = [folder for folder in TABLE if path.startswith(folder)]
        if not folders:
            continue
        folder = max(folders, key=len)
        name = posixpath.basename(path)
        for number, line in tree.lines(path):
            match = INCLUDE.match(line)
            if not match:
                continue
            target = classify(known, path, match[1], match[2])
            if target is None:
                yield Finding(path, number, f"{match[2]} is no file of the tree")
                continue
            if target.startswith(folder):
                continue
            alone = [names for where, what, names in ONLY if where == folder and what == target]
            if alone:
                if not name.startswith(alone[0]):
                    yield Finding(path, number, f"only {'*, '.join(alone[0])}* of {folder} may include {match[2]}")
                continue
            if not allowed(target, TABLE[folder]):
                yield Finding(path, number, f"{folder} may not include {match[2]} ({target})")


SPDX = "// SPDX-License-Identifier: MIT\n"
PLANTED = {
    "daemon/core/a.cc": SPDX + "#include <unistd.h>\n#include <chrono>\n#include <vector>\n",
    "daemon/core/b.cc": SPDX + '#include "wire/unique_fd.h"\n#include "wire/key.h"\n',
    "proto/wire/unique_fd.h": SPDX,
    "proto/wire/key.h": SPDX + "#include <google/protobuf/message.h>\n",
    "daemon/ipc/outbox.cc": SPDX + '#include "hipbroker/v1/broker.pb.h"\n',
    "daemon/ipc/translate.cc": SPDX + '#include "hipbroker/v1/broker.pb.h"\n',
    "client/src/session.cc": SPDX + "#include <protozero/pbf_reader.hpp>\n#include <boost/asio.hpp>\n",
    "client/probe/a.cc": SPDX + '#include "probe/b.h"\n#include "selftest/c.h"\n#include "session.h"\n',
    "daemon/restart/a.cc": SPDX + '#include <xxhash.h>\n#include <protozero/pbf_reader.hpp>\n#include <boost/asio.hpp>\n',
    "client/probe/b.h": SPDX,
    "client/src/session.h": SPDX,
    "client/selftest/c.h": SPDX + '#include "session.h"\n#include "wire/unique_fd.h"\n',
    "client/cli/main.cc": SPDX + '#include "nowhere.h"\n',
}
EXPECTED = {
    ("daemon/core/a.cc", 2), ("daemon/core/a.cc", 3), ("daemon/core/b.cc", 2), ("proto/wire/key.h", 2),
    ("daemon/ipc/outbox.cc", 2), ("client/src/session.cc", 2), ("client/src/session.cc", 3),
    ("client/cli/main.cc", 2), ("client/probe/a.cc", 3), ("client/selftest/c.h", 2),
    ("daemon/restart/a.cc", 3), ("daemon/restart/a.cc", 4),
}
