# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
"""The installed service through everything an admin and a bad day do to it; what is shared meanwhile is in
survival_test.py."""

import os
import pathlib
import threading

from lane import (Case, SOCKETS, UNIT, ctl, inodes, install, is_active, kill_daemon, main, main_pid, restart, run, show,
                  wait_for)

RUN = pathlib.Path("/run/hipbroker")


class Service(Case):
    @classmethod
    def setUpClass(cls):
        install()

    def stop_all(self):
        run("systemctl", "stop", *SOCKETS, UNIT)

    def test_a_client_starts_the_daemon(self):
        for socket, arguments, uid in ((SOCKETS[0], ("--no-admin", "ping"), 1001), (SOCKETS[1], ("--admin", "ping"), None)):
            self.stop_all()
            run("systemctl", "start", socket)
            self.assertFalse(is_active())
            ctl(*arguments, uid=uid)
            self.assertTrue(is_active())

    def test_b_both_sockets_come_with_the_service(self):
        self.stop_all()
        run("systemctl", "start", UNIT)
        for socket in SOCKETS:
            self.assertTrue(is_active(socket), socket)
        self.check_whole_path()

    def test_c_stop_ends_the_daemon_and_keeps_the_door(self):
        pid, before = main_pid(), inodes()
        run("systemctl", "stop", UNIT)
        self.assertFalse(pathlib.Path(f"/proc/{pid}").exists())
        self.assertEqual(inodes(), before)
        self.check_whole_path()  # the first client started another one
        self.assertNotEqual(main_pid(), pid)

    def test_d_a_stopped_socket_stops_nothing(self):
        exporter = self.exporter("kept")
        pid = main_pid()
        run("systemctl", "stop", SOCKETS[0])
        self.assertEqual((main_pid(), is_active()), (pid, True))
        self.assertEqual(exporter.ask("ping"), "ok")
        self.importer("kept").end()  # the daemon has the socket, too
        exporter.end()
        restart()
        self.assertTrue(is_active(SOCKETS[0]))
        self.check_whole_path()

    def test_e_restart_is_another_daemon_at_the_same_place(self):
        before, pid = inodes(), main_pid()
        restart()
        self.assertNotEqual(main_pid(), pid)
        self.assertEqual(inodes(), before)
        self.check_whole_path()

    def test_f_killed_it_is_there_again(self):
        for signal in ("KILL", "SEGV", "ABRT"):
            before = inodes()
            kill_daemon(signal)
            self.assertEqual(inodes(), before)
            self.check_whole_path()

    def test_g_a_client_that_comes_while_it_is_down_waits(self):
        # Stopped, not killed: the connection lies in the listener until somebody takes it.
        run("systemctl", "kill", "--signal=STOP", "--kill-who=main", UNIT)
        exporter_line = ("export", "early", 1 << 20, "owner", 1002)
        made = []
        thread = threading.Thread(target=lambda: made.append(self.share(*exporter_line, uid=1001)))
        thread.start()
        kill_daemon()
        thread.join()
        self.assertEqual(made[0].kind, "ready memfd")
        made[0].end()

    def test_h_B09_a_mounted_directory_goes_on_working(self):
        """A container mounted the directory; the daemon behind it is another one since."""
        mounted = pathlib.Path("/tmp/pod")
        mounted.mkdir(exist_ok=True)
        run("mount", "--bind", "-o", "ro", str(RUN), str(mounted))
        self.addCleanup(run, "umount", str(mounted))
        for again in (restart, kill_daemon, restart):
            again()
            exporter = self.exporter("pod", socket=mounted / "broker.sock")
            self.importer("pod").end()
            exporter.end()

    def test_i_reload_reads_the_policy(self):
        policy = pathlib.Path("/etc/hipbroker/policy.toml")
        text = policy.read_text(encoding="utf-8")
        self.addCleanup(policy.write_text, text, encoding="utf-8")
        pid = main_pid()
        policy.write_text(text + "[[quota.override]]\nuid = [1001]\nexports = 1\n", encoding="utf-8")
        run("systemctl", "reload", UNIT)

        def reloaded():
            return "policy-reloaded" in run("hipbrokerctl", "audit", "--kind", "policy-reloaded")
        wait_for("the reload in the audit trail", reloaded)
        first = self.exporter("one")
        second = self.share("export", "two", 4096, "owner", uid=1001)
        self.assertIn("limit", second.kind)
        first.end()
        self.assertEqual(main_pid(), pid)

        # With an error in it everything stays.
        policy.write_text("nonsense", encoding="utf-8")
        run("systemctl", "reload", UNIT)
        wait_for("the error in the journal", lambda: "was not reloaded" in run("journalctl", "--no-pager", "-u", UNIT))
        self.assertEqual((main_pid(), is_active()), (pid, True))
        self.check_whole_path()

    def test_j_a_new_manager_keeps_it(self):
        pid, before = main_pid(), inodes()
        exporter = self.exporter("kept")
        run("systemctl", "daemon-reload")
        run("systemctl", "daemon-reexec")
        self.assertEqual(main_pid(), pid)
        self.importer("kept").end()
        exporter.end()
        restart()
        self.assertEqual(inodes(), before)
        self.check_whole_path()

    def test_k_a_scope_is_served_by_the_next_daemon(self):
        run("hipbrokerctl", "scope", "add", "job-1")
        self.addCleanup(run, "hipbrokerctl", "scope", "rm", "job-1")
        socket = RUN / "scopes/job-1/broker.sock"
        for again in (restart, kill_daemon):
            again()
            wait_for("the scope", lambda: [row for row in ctl("scope", "ls")["scopes"] if row["scope"] == "job-1"])
            exporter = self.exporter("x", socket=socket)
            self.importer("x", socket=socket).end()
            exporter.end()

    def test_l_status_and_journal_are_the_daemons(self):
        self.assertIn("serving", show(UNIT, "StatusText"))
        self.assertIn("serves", run("journalctl", "--no-pager", "-u", UNIT, "SYSLOG_IDENTIFIER=hipbrokerd"))

    def test_m_no_descriptor_is_left_in_the_daemon(self):
        def count():
            return len(os.listdir(f"/proc/{main_pid()}/fd"))
        self.check_whole_path()
        before = count()
        for _ in range(3):
            self.check_whole_path()
        wait_for("as few descriptors as before", lambda: count() <= before)

    def test_n_B04_a_second_daemon_is_refused(self):
        exporter = self.exporter("kept")
        before, pid = inodes(), main_pid()
        second = run("hipbrokerd", check=False)
        self.assertEqual(second.returncode, 75, second.stdout)
        self.assertIn("/run/hipbroker/broker.sock", second.stdout)
        self.assertEqual((inodes(), main_pid()), (before, pid))
        self.assertEqual(exporter.ask("ping"), "ok")
        self.assertEqual(list(RUN.glob("*.lock")), [])
        exporter.end()


if __name__ == "__main__":
    main()
