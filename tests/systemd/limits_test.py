# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
"""What could leave the service down for good: start limit, trigger limit of the sockets, a hung daemon, its own store."""

import pathlib
import socket

from lane import Case, SOCKETS, UNIT, install, is_active, main, main_pid, restart, run, show, wait_for

DROP_IN = pathlib.Path("/etc/systemd/system/hipbrokerd.service.d/test.conf")


def drop_in(text):
    DROP_IN.parent.mkdir(exist_ok=True)
    DROP_IN.write_text(text, encoding="utf-8")
    run("systemctl", "daemon-reload")


class Limits(Case):
    @classmethod
    def setUpClass(cls):
        install()

    def tearDown(self):
        super().tearDown()
        DROP_IN.unlink(missing_ok=True)
        run("systemctl", "daemon-reload")

    def restarts(self):
        return int(show(UNIT, "NRestarts"))

    def test_a_crash_loop_ends_in_no_limit(self):
        drop_in("[Service]\nExecStart=\nExecStart=/bin/false\n")
        before = self.restarts()
        run("systemctl", "kill", "--signal=KILL", "--kill-who=main", UNIT)
        # Clients go on coming: each one asks the sockets for a start.
        clients = []
        self.addCleanup(lambda: [client.close() for client in clients])

        def loops():
            client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            client.connect("/run/hipbroker/broker.sock")
            clients.append(client)
            return self.restarts() >= before + 30
        wait_for("30 failed starts", loops)
        for unit in SOCKETS:
            self.assertTrue(is_active(unit), unit)
        self.assertIn(show(UNIT, "SubState"), ("auto-restart", "start", "running"))
        self.assertNotIn("limit", show(UNIT, "Result"))

        DROP_IN.unlink()
        run("systemctl", "daemon-reload")
        wait_for("the service", is_active)
        self.check_whole_path()

    def test_b_wrong_configuration_is_a_loop_that_can_be_left(self):
        config = pathlib.Path("/etc/hipbroker/hipbrokerd.toml")
        text = config.read_text(encoding="utf-8")
        self.addCleanup(config.write_text, text, encoding="utf-8")
        config.write_text(text + "nonsense = 1\n", encoding="utf-8")
        before = self.restarts()
        run("systemctl", "restart", UNIT, check=False)
        wait_for("some failed starts", lambda: self.restarts() >= before + 3)
        self.assertIn("nonsense", run("journalctl", "--no-pager", "-u", UNIT))
        config.write_text(text, encoding="utf-8")
        wait_for("the service", is_active)
        self.check_whole_path()

    def test_c_a_daemon_that_hangs_is_replaced(self):
        drop_in("[Service]\nWatchdogSec=2s\n")
        restart()
        pid = main_pid()
        run("systemctl", "kill", "--signal=STOP", "--kill-who=main", UNIT)
        wait_for("another daemon", lambda: main_pid() not in (0, pid) and is_active())
        self.assertIn("watchdog", run("journalctl", "--no-pager", "-u", UNIT).lower())
        self.check_whole_path()

    def test_d_a_daemon_that_works_is_left_alone(self):
        """The watchdog is fed by the loop that serves."""
        drop_in("[Service]\nWatchdogSec=2s\n")
        restart()
        pid, before = main_pid(), int(show(UNIT, "WatchdogTimestampMonotonic"))
        wait_for("word from the daemon, over several periods",
                 lambda: int(show(UNIT, "WatchdogTimestampMonotonic")) >= before + 6_000_000)
        self.assertEqual(main_pid(), pid)


if __name__ == "__main__":
    main()
