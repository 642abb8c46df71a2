# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
"""Away again: remove, purge, and once more."""

import pathlib

from lane import Case, NAMES, SOCKETS, UNIT, install, is_active, main, main_pid, run, wait_for

RUN = pathlib.Path("/run/hipbroker")
ETC = pathlib.Path("/etc/hipbroker")


def units_known():
    return run("systemctl", "list-unit-files", "--no-legend", "hipbroker*", check=False).stdout.split()


class Remove(Case):
    def setUp(self):
        self.sharers = []
        install()

    def test_a_remove_stops_everything_and_keeps_the_configuration(self):
        exporter = self.exporter("kv")
        run("hipbrokerctl", "scope", "add", "team-a")
        pid = main_pid()
        with (ETC / "policy.toml").open("a", encoding="utf-8") as policy:
            policy.write("# ours\n")
        run("dpkg", "--remove", *NAMES)
        wait_for("the end of the daemon", lambda: not pathlib.Path(f"/proc/{pid}").exists())
        for unit in (UNIT, *SOCKETS):
            self.assertFalse(is_active(unit), unit)
        self.assertEqual(run("systemctl", "--failed", "--no-legend").strip(), "")
        self.assertEqual(exporter.ask("check"), "ok")
        self.assertIn("# ours", (ETC / "policy.toml").read_text(encoding="utf-8"))
        self.assertFalse(pathlib.Path("/usr/bin/hipbrokerd").exists())

        # What the admin wrote is still in force after the next installation.
        install()
        self.assertTrue(is_active())
        self.assertIn("# ours", (ETC / "policy.toml").read_text(encoding="utf-8"))
        self.check_whole_path()

    def test_b_purge_leaves_nothing(self):
        run("hipbrokerctl", "scope", "add", "team-b")
        run("dpkg", "--purge", *NAMES)
        left = [path for path in (RUN, ETC, pathlib.Path("/usr/include/hipbroker"), pathlib.Path("/usr/libexec/hipbroker"),
                                  pathlib.Path("/usr/share/doc/hipbroker")) if path.exists()]
        self.assertEqual(left, [])
        self.assertEqual(units_known(), [])
        found = run("find", "/etc/systemd", "/lib/systemd", "/usr/lib/systemd", "/var/lib/systemd", "-name", "*hipbroker*")
        self.assertEqual(found, "")
        install()
        self.assertTrue(is_active())
        self.check_whole_path()

    def test_c_purge_of_what_runs(self):
        exporter = self.exporter("kv")
        run("dpkg", "--purge", *NAMES)
        self.assertFalse(RUN.exists())
        self.assertEqual(exporter.ask("check"), "ok")

    def test_d_what_an_admin_disabled_stays_so(self):
        run("systemctl", "disable", "--now", UNIT, *SOCKETS)
        install(later=True)
        for unit in (UNIT, *SOCKETS):
            self.assertEqual(run("systemctl", "is-enabled", unit, check=False).stdout.strip(), "disabled", unit)
            self.assertFalse(is_active(unit), unit)


if __name__ == "__main__":
    main()
