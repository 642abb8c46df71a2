# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
"""Every source begins with the two lines of its licence."""

from tree import C_SOURCES, Finding

SOURCES = C_SOURCES + (".py", ".proto", ".sh", "CMakeLists.txt", ".cmake", ".toml", ".socket", ".service")
SCRIPTS = ("dev", ".ci/run")


def check(tree):
    for path in tree.paths:
        if not (path.endswith(SOURCES) or path in SCRIPTS) or path.startswith("tests/fuzz/corpus/"):
            continue
        head = tree.text(path).splitlines()[:4]
        if not any("SPDX-License-Identifier: MIT" in line for line in head):
            yield Finding(path, 1, "no line SPDX-License-Identifier: MIT among the first four")
        elif not any("Copyright (c)" in line and "the hipbroker authors" in line for line in head):
            yield Finding(path, 1, "no line Copyright (c) YEAR the hipbroker authors among the first four")


PLANTED = {
    "a.cc": "int a;\n",
    "b.cc": "// SPDX-License-Identifier: MIT\n",
    "c.py": "# SPDX-License-Identifier: MIT\n# Copyright (c) 2026 the hipbroker authors\n",
}
EXPECTED = {("a.cc", 1), ("b.cc", 1)}
