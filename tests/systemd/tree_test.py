# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
"""Installed without a package, below /usr/local: what docs/deploy.md says makes a service of it."""

import re

from lane import BUILD, Case, SOCKETS, SOURCE, UNIT, ctl, is_active, main, main_pid, run, show


class Tree(Case):
    @classmethod
    def setUpClass(cls):
        run("cmake", "--install", BUILD, "--prefix", "/usr/local")
        run("ldconfig")
        page = (SOURCE / "docs/deploy.md").read_text(encoding="utf-8")
        commands = re.search(r"once:\n\n```\n(.*?)```", page, re.DOTALL)[1]
        for line in commands.splitlines():
            run("bash", "-ec", line.removeprefix("# "))

    def test_it_is_a_service(self):
        for unit in (UNIT, *SOCKETS):
            self.assertTrue(is_active(unit), unit)
            self.assertEqual(run("systemctl", "is-enabled", unit).strip(), "enabled")
        self.assertEqual(run("readlink", f"/proc/{main_pid()}/exe").strip(), "/usr/local/bin/hipbrokerd")
        self.assertIn("/usr/local/lib/systemd/system", show(UNIT, "FragmentPath"))
        self.assertEqual(ctl("ping")["view"], "admin")
        run("systemctl", "restart", UNIT)
        self.check_whole_path()


if __name__ == "__main__":
    main()
