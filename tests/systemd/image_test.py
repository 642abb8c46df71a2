# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
"""The packages put into an image: a root directory in which nothing runs, not even /proc is there."""

import pathlib
import unittest

from lane import NAMES, PACKAGES, SOCKETS, UNIT, main, run

IMAGE = pathlib.Path("/mnt")


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Without what is mounted in it: /proc, /sys, /dev, /run.
        run("mount", "--bind", "/", IMAGE)
        run("rm", "-rf", IMAGE / "run/systemd")  # of the machine below the box
        assert not (IMAGE / "proc/self").exists()
        for name in NAMES:
            run("cp", *PACKAGES.glob(f"{name}_*.deb"), IMAGE / "srv")

    def dpkg(self, *arguments):
        return run("chroot", IMAGE, "dpkg", "--force-unsafe-io", *arguments)

    def test_it_is_made_and_starts_nothing(self):
        packages = [f"/srv/{path.name}" for path in (IMAGE / "srv").glob("*.deb")]
        self.dpkg("-i", *packages)
        for unit in (UNIT, *SOCKETS):
            self.assertEqual(run("systemctl", f"--root={IMAGE}", "is-enabled", unit).strip(), "enabled")
        self.assertIn("hipbroker:", (IMAGE / "etc/passwd").read_text(encoding="utf-8"))
        self.assertFalse((IMAGE / "run/hipbroker").exists())
        self.dpkg("-i", *packages)  # again
        self.dpkg("--purge", *NAMES)
        self.assertEqual(list((IMAGE / "etc/systemd").rglob("hipbroker*")), [])


if __name__ == "__main__":
    main()
