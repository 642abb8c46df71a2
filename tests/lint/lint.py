# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
"""Runs the checks of the sources: lint.py [--root DIR] [--list] [--selftest] [CHECK...]

A line "ok NAME" or "FAILED NAME" a check, after its findings as path:line: rule. Exit 1 when one failed."""

import argparse
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))

from checks import (docs_commands, include_rules, length, licence, no_sleep, nothing_left, owned_descriptors,  # noqa: E402
                    readme_examples, tools)
from tree import Tree  # noqa: E402

CHECKS = {
    "lint.include_rules": include_rules,
    "lint.clang_format": tools.ClangFormat,
    "lint.licence": licence,
    "lint.length": length,
    "lint.owned_descriptors": owned_descriptors,
    "lint.no_sleep": no_sleep,
    "lint.nothing_left": nothing_left,
    "lint.shellcheck": tools.ShellCheck,
    "lint.codespell": tools.CodeSpell,
    "lint.readme_examples": readme_examples,
    "lint.docs_commands": docs_commands,
}
SELFTEST = "lint.selftest"


def planted_findings(check):
    """What a check says about a tree in which it must find exactly EXPECTED."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in check.PLANTED.items():
            target = pathlib.Path(folder) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        return {(f.path, f.line) for f in check.check(Tree(folder, check.PLANTED))}


def selftest():
    """A check that never fires is worse than none."""
    for name, check in CHECKS.items():
        found = planted_findings(check)
        if found != check.EXPECTED:
            yield f"{name}: missed {sorted(check.EXPECTED - found)}, raised falsely {sorted(found - check.EXPECTED)}"


def main():
    parser = argparse.ArgumentParser(description="Checks of the sources")
    parser.add_argument("--root", default=str(HERE.parent.parent))
    parser.add_argument("--list", action="store_true", help="print the names of the checks")
    parser.add_argument("--selftest", action="store_true", help="see every check fire on a planted violation")
    parser.add_argument("checks", nargs="*", metavar="CHECK", help="all without one; lint. may be left out")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join([*CHECKS, SELFTEST]))
        return 0

    names = [name if name.startswith("lint.") else f"lint.{name}" for name in arguments.checks]
    unknown = [name for name in names if name not in CHECKS and name != SELFTEST]
    if unknown:
        print(f"lint: no check {unknown[0]}; there are: {' '.join([*CHECKS, SELFTEST])}", file=sys.stderr)
        return 64
    if arguments.selftest:
        names = [SELFTEST]

    tree = Tree(arguments.root)
    failed = False
    for name in names or [*CHECKS, SELFTEST]:
        findings = list(selftest() if name == SELFTEST else CHECKS[name].check(tree))
        for finding in findings:
            print(finding)
        print("FAILED" if findings else "ok", name, f"({len(findings)} findings)" if findings else "")
        failed = failed or bool(findings)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
