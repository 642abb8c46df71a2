# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
"""Tests wait for what they need, with a deadline; they do not sleep and hope."""

import re

from tree import C_SOURCES, Finding

# Memory sleeps, too: a member function of that name waits for nothing.
SLEEP = re.compile(r"(?<![.>])(?<!void )\bsleep\s*\(|\b(usleep|nanosleep|clock_nanosleep|sleep_for|sleep_until)\s*\("
                   r"|^\s*sleep\s+[\d.$]")


def check(tree):
    for path in tree.select(*C_SOURCES, ".py", ".sh"):
        # The bench paces load by time: that is what it measures.
        if not path.startswith("tests/") or path.startswith(("tests/bench/", "tests/lint/")):
            continue
        for number, line in tree.lines(path):
            if SLEEP.search(line.split("//", 1)[0]):
                yield Finding(path, number, "sleeps: wait for the event with poll and a deadline")


PLANTED = {"tests/a.cc": "usleep(10);\n// sleep(1)\nstd::this_thread::sleep_for(x);\nmemory->sleep();\n"
                         "void sleep() noexcept;\n::sleep(1);\n", "tests/b.sh": "  sleep 1\n"}
EXPECTED = {("tests/a.cc", 1), ("tests/a.cc", 3), ("tests/a.cc", 6), ("tests/b.sh", 1)}
