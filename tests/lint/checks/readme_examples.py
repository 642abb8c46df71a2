# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
"""The examples of the README are programs: each block of C and C++ compiles without a warning."""

import pathlib
import re
import subprocess
import tempfile

from tree import Finding

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
COMPILERS = {"c": ["gcc", "-std=c99", "-x", "c"], "cpp": ["g++", "-std=c++20", "-x", "c++"]}
FENCE = re.compile(r"```(\w*)\s*$")


def blocks(text):
    """(language, line of the first line inside, code) of every fenced block."""
    language, start, lines = None, 0, []
    for number, line in enumerate(text.splitlines(), start=1):
        match = FENCE.match(line)
        if match and language is None:
            language, start, lines = match[1], number + 1, []
        elif match:
            yield language, start, "\n".join(lines) + "\n"
            language = None
        elif language is not None:
            lines.append(line)


def check(tree):
    if "README.md" not in tree.paths:
        return
    includes = [f"-I{tree.root / folder}" for folder in ("client/include", "proto/include")]
    for language, start, code in blocks(tree.text("README.md")):
        if language not in COMPILERS:
            continue
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "example"
            source.write_text(f'#line {start} "README.md"\n{code}', encoding="utf-8")
            result = subprocess.run(COMPILERS[language] + WARNINGS + includes + [str(source)], capture_output=True,
                                    text=True, check=False)
        if result.returncode == 0:
            continue
        match = re.search(r"README\.md:(\d+):\d+: (?:fatal )?error: (.*)", result.stderr)
        yield Finding("README.md", int(match[1]) if match else start, match[2] if match else result.stderr[:400])


PLANTED = {"README.md": "Text\n```c\nint main(void) { return x; }\n```\n```cpp\nint main() {}\n```\n"}
EXPECTED = {("README.md", 3)}
