# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
"""Documents point at what is there: links between files, verbs of ./dev, and files named in code spans."""

import posixpath
import re

from tree import Finding

LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
DEV = re.compile(r"\./dev ([a-z]+)")
# A file in a code span, by its folder and its ending: `daemon/core/broker.h`.
SPAN = re.compile(r"`((?:daemon|client|proto|tests|docs|systemd)/[\w./-]+\.\w+)`")
VERB = re.compile(r"^verb_(\w+)\(\)", re.MULTILINE)


def check(tree):
    known = set(tree.paths)
    folders = {posixpath.dirname(p) for p in known}
    folders |= {f[: i] for f in folders for i, c in enumerate(f) if c == "/"}
    verbs = set(VERB.findall(tree.text("dev"))) | {"help"} if "dev" in known else None
    for path in tree.select(".md"):
        for number, line in tree.lines(path):
            for target in LINK.findall(line):
                if "://" in target or target.startswith("mailto:"):
                    continue
                resolved = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
                if resolved not in known and resolved not in folders:
                    yield Finding(path, number, f"links to {target}, which is not there")
            for named in SPAN.findall(line):
                if named not in known:
                    yield Finding(path, number, f"names {named}, which is not there")
            for verb in DEV.findall(line):
                if verbs is not None and verb not in verbs:
                    yield Finding(path, number, f"./dev has no verb {verb}")


PLANTED = {
    "dev": "verb_demo() {\n",
    "README.md": "[a](docs/a.md) [b](docs/b.md)\n`./dev demo` `./dev frob` [c](docs) [d](https://x.org/y)\n",
    "docs/a.md": "[up](../README.md#x)\n`tests/a.cc` `docs/a.md`\n",
}
EXPECTED = {("README.md", 1), ("README.md", 2), ("docs/a.md", 2)}
