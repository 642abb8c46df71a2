# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
"""The sources as the checks see them, and what a check reports."""

import dataclasses
import os
import pathlib
import subprocess

LEFT_OUT = {"build", ".git", ".cache", "__pycache__"}


@dataclasses.dataclass(frozen=True)
class Finding:
    path: str
    line: int
    rule: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}"


class Tree:
    """Paths are relative to the root, with '/'. Files that git ignores are no part of it."""

    def __init__(self, root, paths=None):
        self.root = pathlib.Path(root)
        self.paths = sorted(paths if paths is not None else self._list())

    def _list(self):
        # -c safe.directory: a checkout that another uid owns is still the one being checked.
        command = ["git", "-c", f"safe.directory={self.root}", "ls-files", "-co", "--exclude-standard", "-z"]
        try:
            out = subprocess.run(command, cwd=self.root, capture_output=True, check=True).stdout
            names = [name for name in out.decode().split("\0") if name]
        except (OSError, subprocess.CalledProcessError):
            names = self._walk()  # an unpacked archive
        return [name for name in names if (self.root / name).is_file()]

    def _walk(self):
        for folder, folders, files in os.walk(self.root):
            folders[:] = [f for f in folders if f not in LEFT_OUT]
            for name in files:
                yield str((pathlib.Path(folder) / name).relative_to(self.root))

    def select(self, *suffixes):
        return [p for p in self.paths if p.endswith(suffixes)]

    def text(self, path):
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    def lines(self, path):
        return enumerate(self.text(path).splitlines(), start=1)

    def absolute(self, paths):
        return [str(self.root / p) for p in paths]


C_SOURCES = (".cc", ".h", ".c", ".hpp", ".cpp")
