# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
"""No file over 500 lines without the reason in its first comment."""

import re

from tree import C_SOURCES, Finding

MOST = 500
# The public headers are read from top to bottom as one reference; what splits them splits the reader's search.
WHOLE = ("client/include/",)
REASON = re.compile(r"\blonger than|\blong because|\bone file because", re.IGNORECASE)


def check(tree):
    for path in tree.select(*C_SOURCES, ".py", ".proto", ".sh") + [p for p in tree.paths if p == "dev"]:
        text = tree.text(path)
        count = text.count("\n")
        if count > MOST and not path.startswith(WHOLE) and not REASON.search("\n".join(text.splitlines()[:20])):
            yield Finding(path, MOST, f"{count} lines, {MOST} are the most: split it or say \"longer than\" why in "
                                      "its first comment")


PLANTED = {
    "a.cc": "int x;\n" * 501,
    "b.cc": "// Longer than most because of one table.\n" * 501,
    "c.cc": "int x;\n" * 500,
}
EXPECTED = {("a.cc", 500)}
