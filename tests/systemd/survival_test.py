# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
"""What is shared survives the daemon: job S7 with the installed service. Exports, leases, scopes and sessions are
what they were, and no process had to do anything for it."""

import pathlib

from lane import (Case, UNIT, ctl, inodes, install, is_active, kill_daemon, main, main_pid, restart, run, show, stored,
                  wait_for)

RUN = pathlib.Path("/run/hipbroker")
POLICY = pathlib.Path("/etc/hipbroker/policy.toml")


def reexec():
    run("systemctl", "daemon-reexec")
    kill_daemon()


def hang():
    pid = main_pid()
    run("systemctl", "kill", "--signal=ABRT", "--kill-who=main", UNIT)
    wait_for("another daemon", lambda: main_pid() not in (0, pid) and is_active())


class Survival(Case):
    @classmethod
    def setUpClass(cls):
        install()
        with POLICY.open("a", encoding="utf-8") as policy:
            policy.write('[[rule]]\nallow = ["persist"]\nuid = [1001]\n')
        run("systemctl", "reload", UNIT)

    def tearDown(self):
        super().tearDown()
        for _, number, _ in self.exports():
            run("hipbrokerctl", "revoke", "--id", str(number), check=False)

    def exports(self):
        return {(row["name"], row["export_id"], row["generation"]) for row in ctl("ls")["exports"]}

    def holders(self):
        return {(row["lease_id"], row["process"]["uid"], row["process"]["pid"]) for row in ctl("who")["holders"]}

    def survives(self, again):
        """Owners, holders, and what nobody owns."""
        exporter = self.exporter("owned")
        importer = self.importer("owned")
        orphan = self.exporter("persistent", lifetime="persist")
        orphan.end()
        lingering = self.exporter("lingering", lifetime=600)
        lingering.end()
        before, holders, places = self.exports(), self.holders(), inodes()
        self.assertEqual(len(before), 3)

        again()
        # Nobody has made a call, and the daemon knows.
        self.assertEqual(self.exports(), before)
        self.assertEqual(self.holders(), holders)
        self.assertEqual(inodes(), places)
        for sharer in (exporter, importer):
            self.assertEqual(sharer.ask("check"), "ok")
            self.assertEqual(sharer.ask("ping"), "ok")
        for name in ("owned", "persistent", "lingering"):
            self.importer(name).end()

        # A process that died meanwhile is noticed, and what it owned ends.
        exporter.kill()
        wait_for("the end of what it owned", lambda: "owned" not in {name for name, _, _ in self.exports()})
        importer.end()
        for name in ("persistent", "lingering"):
            run("hipbrokerctl", "revoke", f"1001:{name}")
        self.assertEqual(self.exports(), set())

    def test_a_S7_restart(self):
        self.survives(restart)

    def test_b_S7_kill(self):
        self.survives(kill_daemon)

    def test_c_S7_abort_as_by_the_watchdog(self):
        self.survives(hang)

    def test_d_S7_a_new_manager_and_a_kill(self):
        self.survives(reexec)

    def test_e_S7_upgrade(self):
        self.survives(lambda: install(later=True))
        self.survives(install)

    def test_f_S7_again_and_again(self):
        """The store does not grow, and nothing is lost or doubled on the way."""
        exporter = self.exporter("owned")
        importer = self.importer("owned")
        restart()
        before, entries = self.exports(), stored()
        self.assertEqual([name for name, _, _ in before], ["owned"])
        for round_ in range(10):
            (restart if round_ % 2 else kill_daemon)()
            self.assertEqual(self.exports(), before)
            self.assertEqual(importer.ask("check"), "ok")
        self.assertEqual(stored(), entries)
        self.assertLess(entries, int(show(UNIT, "FileDescriptorStoreMax")))
        importer.end()
        exporter.end()

    def test_g_a_scope_keeps_its_socket(self):
        run("hipbrokerctl", "scope", "add", "job-1")
        socket = RUN / "scopes/job-1/broker.sock"
        exporter = self.exporter("x", socket=socket)
        places = inodes()
        for again in (restart, kill_daemon):
            again()
            self.assertEqual(inodes(), places)
            self.importer("x", socket=socket).end()
            self.assertEqual(exporter.ask("ping"), "ok")
        exporter.end()
        run("hipbrokerctl", "scope", "rm", "job-1")

    def test_h_an_owner_that_dies_in_the_gap_is_noticed(self):
        exporter, other = self.exporter("owned"), self.exporter("other")
        run("systemctl", "kill", "--signal=STOP", "--kill-who=main", UNIT)
        exporter.kill()
        kill_daemon()
        wait_for("the end of what it owned", lambda: [name for name, _, _ in self.exports()] == ["other"])
        self.assertEqual(other.ask("ping"), "ok")
        other.end()

    def test_i_a_stop_lets_go(self):
        """systemd 252 keeps nothing over a stop: it is the way to end everything."""
        exporter = self.exporter("persistent", lifetime="persist")
        exporter.end()
        run("systemctl", "stop", UNIT)
        self.assertEqual(stored(), 0)
        self.assertEqual(self.exports(), set())

    def test_j_the_status_says_whether_a_restart_loses_something(self):
        status = ctl("--admin", "ping")
        self.assertTrue(status["restart_safe"], status)
        counters = status["counters"]
        self.assertEqual(counters["store_entries"], stored())
        self.assertEqual(counters["store_entries_max"], int(show(UNIT, "FileDescriptorStoreMax")))
        self.assertIn("loses nothing", run("hipbrokerctl", "drain"))
        refused = self.share("export", "late", 4096, "owner", uid=1001)
        self.assertIn("drain", refused.kind)
        restart()
        self.check_whole_path()  # a daemon that is started again takes exports again


if __name__ == "__main__":
    main()
