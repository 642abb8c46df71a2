# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
"""A later version over an earlier one, the same one again, and back; what is shared meanwhile is in survival_test.py."""

import pathlib

from lane import Case, SOCKETS, UNIT, inodes, install, is_active, main, main_pid, run


def version():
    return run("dpkg-query", "-W", "-f", "${Version}", "hipbrokerd")


class Upgrade(Case):
    @classmethod
    def setUpClass(cls):
        install()

    def change(self, later):
        before, pid = inodes(), main_pid()
        self.assertNotIn("conffile", install(later=later).lower())
        self.assertTrue(is_active())
        self.assertNotEqual(main_pid(), pid)
        self.assertEqual(inodes(), before)
        self.check_whole_path()

    def test_a_upwards_again_and_back(self):
        first = version()
        self.change(later=True)
        self.assertNotEqual(version(), first)
        self.change(later=True)
        self.change(later=False)
        self.assertEqual(version(), first)

    def test_b_what_the_admin_changed_stays(self):
        policy = pathlib.Path("/etc/hipbroker/policy.toml")
        with policy.open("a", encoding="utf-8") as text:
            text.write("# ours\n")
        drop_in = pathlib.Path("/etc/systemd/system/hipbrokerd.service.d/ours.conf")
        drop_in.parent.mkdir()
        drop_in.write_text("[Service]\nEnvironment=OURS=1\n", encoding="utf-8")
        self.change(later=True)
        self.assertIn("# ours", policy.read_text(encoding="utf-8"))
        environment = pathlib.Path(f"/proc/{main_pid()}/environ").read_text(encoding="utf-8")
        self.assertIn("OURS=1", environment)

    def test_c_what_was_stopped_stays_stopped(self):
        run("systemctl", "stop", *SOCKETS, UNIT)
        install(later=False)
        for unit in (UNIT, *SOCKETS):
            self.assertFalse(is_active(unit), unit)


if __name__ == "__main__":
    main()
