# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
"""Descriptors are owned by a type. A bare int names one only in the C ABI, in proto/wire, which borrows it
for the length of a call, and in tests."""

import re

from tree import Finding

WHERE = ("daemon/", "client/", "proto/")
FREE = ("proto/wire/", "client/include/")
BARE = re.compile(r"\bint\s+(\w*_)?fds?(_\w*)?\b\s*[;,)={]")


def check(tree):
    for path in tree.select(".h", ".hpp"):
        if not path.startswith(WHERE) or path.startswith(FREE):
            continue
        for number, line in tree.lines(path):
            code = line.split("//", 1)[0]
            if BARE.search(code):
                yield Finding(path, number, "a bare int for a descriptor: UniqueFd owns, BorrowedFd or "
                                            "const UniqueFd& lends")


PLANTED = {
    "daemon/os/a.h": "void f(int fd);\nint fd_ = -1;  // x\nint fd_count();\n// takes int fd, once\nint listen_fd;\n",
    "proto/wire/b.h": "void f(int fd);\n",
}
EXPECTED = {("daemon/os/a.h", 1), ("daemon/os/a.h", 2), ("daemon/os/a.h", 5)}
