# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
"""Checks that other programs make: clang-format, shellcheck, codespell."""

import re
import subprocess

from tree import C_SOURCES, Finding


def run(tree, command, pattern, paths):
    """Every line of output that fits the pattern (path, line, rule) is a finding."""
    if not paths:
        return
    result = subprocess.run(command + tree.absolute(paths), cwd=tree.root, capture_output=True, text=True, check=False)
    found = False
    for line in (result.stdout + result.stderr).splitlines():
        match = re.match(pattern, line)
        if match:
            found = True
            path = match["path"].removeprefix(str(tree.root) + "/").removeprefix("./")
            yield Finding(path, int(match["line"]), match["rule"])
    if result.returncode != 0 and not found:
        yield Finding(command[0], 0, f"ended with status {result.returncode}: {result.stderr.strip()[:400]}")


class ClangFormat:
    """Formatting is what clang-format makes of it: ./dev format."""

    @staticmethod
    def check(tree):
        seen = set()
        findings = run(tree, ["clang-format", "--dry-run", "-Werror"], r"(?P<path>.+?):(?P<line>\d+):\d+: error: (?P<rule>.*)",
                       tree.select(*C_SOURCES))
        for finding in findings:
            if finding.path not in seen:  # one line a file says enough: ./dev format repairs all of it
                seen.add(finding.path)
                yield Finding(finding.path, finding.line, "not as clang-format has it: ./dev format")

    PLANTED = {".clang-format": "BasedOnStyle: Google\n", "a.cc": "int   a;\n", "b.cc": "int b;\n"}
    EXPECTED = {("a.cc", 1)}


class ShellCheck:
    """Shell scripts are clean by shellcheck."""

    @staticmethod
    def check(tree):
        scripts = [p for p in tree.paths if p.endswith(".sh") or p in ("dev", ".ci/run")]
        yield from run(tree, ["shellcheck", "-x", "-f", "gcc"], r"(?P<path>.+?):(?P<line>\d+):\d+: (?P<rule>.*)", scripts)

    PLANTED = {"a.sh": "#!/bin/bash\necho $1\n", "b.sh": "#!/bin/bash\necho \"$1\"\n"}
    EXPECTED = {("a.sh", 2)}


class CodeSpell:
    """Words in documents and comments are spelt right."""

    @staticmethod
    def check(tree):
        paths = tree.select(*C_SOURCES, ".md", ".proto", ".py", ".toml", ".txt") + [p for p in tree.paths if p == "dev"]
        yield from run(tree, ["codespell", "--builtin", "clear,rare", "--ignore-words-list", WORDS, "--ignore-regex", CONSTANTS],
                       r"(?P<path>.+?):(?P<line>\d+): (?P<rule>.*)", [p for p in paths if not p.startswith("tests/lint/")])

    PLANTED = {"a.md": "recieve\n", "b.md": "receive\n"}
    EXPECTED = {("a.md", 1)}


# Right in this project, whatever the dictionary says.
CONSTANTS = r"\bk[A-Z]\w*"
WORDS = "inout,inflight,hist,ans,nd,fo,creat,crate,medias,therefor,fpr,thru,als,statics,hsa,sie,mut,daa,ot,renderd"
