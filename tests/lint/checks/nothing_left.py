# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
"""What is not done is an issue, not a remark in the source."""

import re

from tree import C_SOURCES, Finding

SOURCES = C_SOURCES + (".py", ".proto", ".sh", ".md", ".txt", ".cmake", "dev", ".ci/run")
WORDS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|\bDISABLED_")


def check(tree):
    for path in tree.paths:
        if not path.endswith(SOURCES) or path.startswith("tests/lint/"):
            continue
        for number, line in tree.lines(path):
            match = WORDS.search(line)
            if match:
                yield Finding(path, number, f"{match[0]}: finish it, or file an issue and say here what holds now")


PLANTED = {"a.cc": "// TODO later\nint todo;\n", "b.md": "FIXME\n"}
EXPECTED = {("a.cc", 1), ("b.md", 1)}
