# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
"""The packages on a system that never saw them: installed, started, used by root and by users."""

import ctypes
import glob
import os
import pathlib
import pwd
import stat

from lane import Case, SOCKETS, UNIT, ctl, install, is_active, main, main_pid, run, show, wait_for

RUN = pathlib.Path("/run/hipbroker")


def place(path):
    status = os.lstat(path)
    return pwd.getpwuid(status.st_uid).pw_name, oct(stat.S_IMODE(status.st_mode))


class Install(Case):
    @classmethod
    def setUpClass(cls):
        assert not pathlib.Path("/usr/bin/hipbrokerd").exists(), "the box is not fresh"
        cls.said = install()

    def setUp(self):
        """Nothing is started here: the installation did that."""
        self.sharers = []

    def test_a_starts_by_itself_and_at_the_next_boot(self):
        for unit in (*SOCKETS, UNIT):
            self.assertTrue(is_active(unit), unit)
            self.assertEqual(run("systemctl", "is-enabled", unit).strip(), "enabled")
        self.assertEqual(run("systemctl", "--failed", "--no-legend").strip(), "")
        self.assertNotIn("warning", self.said.lower())

    def test_everything_belongs_to_whom_clients_trust(self):
        self.assertEqual(place(RUN), ("root", "0o755"))
        self.assertEqual(place(RUN / "broker.sock"), ("root", "0o666"))
        self.assertEqual(place(RUN / "admin"), ("hipbroker", "0o700"))
        self.assertEqual(place(RUN / "admin/admin.sock"), ("hipbroker", "0o600"))
        self.assertEqual(place(RUN / "scopes"), ("hipbroker", "0o755"))

    def test_the_daemon_is_nobody(self):
        status = pathlib.Path(f"/proc/{main_pid()}/status").read_text(encoding="utf-8")
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        self.assertEqual(set(fields["Uid"].split()), {str(pwd.getpwnam("hipbroker").pw_uid)})
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            self.assertEqual(int(fields[name], 16), 0, name)
        self.assertEqual((fields["NoNewPrivs"], fields["Seccomp"]), ("1", "2"))
        self.assertEqual(pwd.getpwnam("hipbroker").pw_shell, "/usr/sbin/nologin")

    def test_status_tells_what_it_serves(self):
        self.assertIn("broker", show(UNIT, "StatusText"))

    def test_root_sees_everything_and_a_user_its_own(self):
        exporter = self.exporter("kv", reader=1002)
        self.assertEqual([row["name"] for row in ctl("ls")["exports"]], ["kv"])
        self.assertEqual([row["name"] for row in ctl("ls", uid=1001)["exports"]], ["kv"])
        self.assertEqual(ctl("ls", uid=1003)["exports"], [])
        importer = self.importer("kv")
        holders = ctl("who", "1001:kv")["holders"]
        self.assertEqual([row["process"]["uid"] for row in holders], [1002])
        # Other users' processes are known by name, in spite of all that the unit hides.
        self.assertEqual(holders[0]["process"]["command"], "sharer")
        self.assertNotEqual(run("hipbrokerctl", "--admin", "ls", uid=1001, check=False).returncode, 0)
        importer.end()
        exporter.end()

    def test_a_scope_has_a_directory_that_clients_trust(self):
        run("hipbrokerctl", "scope", "add", "team-a")
        self.assertEqual(place(RUN / "scopes/team-a"), ("hipbroker", "0o755"))
        socket = RUN / "scopes/team-a/broker.sock"
        self.assertEqual(place(socket), ("hipbroker", "0o666"))
        exporter = self.exporter("x", socket=socket)
        self.importer("x", socket=socket).end()
        exporter.end()
        run("hipbrokerctl", "scope", "rm", "team-a")

    def test_units_are_right(self):
        units = [f"/lib/systemd/system/{unit}" for unit in (UNIT, *SOCKETS)]
        self.assertEqual(run("systemd-analyze", "verify", "--recursive-errors=no", *units), "")
        said = run("systemd-analyze", "security", "--offline=true", "--threshold=15", units[0])
        self.assertIn("Overall exposure", said)

    def test_limits_of_the_unit_belong_together(self):
        store = int(show(UNIT, "FileDescriptorStoreMax"))
        self.assertIn(f"HIPBROKER_FD_STORE_MAX={store}", show(UNIT, "Environment"))
        self.assertGreater(int(show(UNIT, "LimitNOFILESoft")), store)
        self.assertEqual(show(UNIT, "StartLimitIntervalUSec"), "0")
        self.assertNotIn(show(UNIT, "WatchdogUSec"), ("0", "infinity"))
        self.assertEqual((show(UNIT, "Restart"), show(UNIT, "NotifyAccess")), ("always", "main"))
        self.assertNotIn("hipbroker", show(UNIT, "RuntimeDirectory"))
        self.assertEqual((show(UNIT, "ProtectProc"), show(UNIT, "ProcSubset")), ("default", "all"))

    def test_the_journal_says_what_to_do(self):
        def explained():
            return "Nothing is to be done" in run("journalctl", "--no-pager", "-x", "-u", UNIT)
        wait_for("the catalog's text in the journal", explained)
        landlock = ctypes.CDLL(None).syscall(444, None, 0, 1) > 0  # which version of it this kernel has
        warnings = run("journalctl", "--no-pager", "--quiet", "-p", "warning", "-u", UNIT)
        self.assertEqual([line for line in warnings.splitlines() if landlock or "Landlock" not in line], [])

    def test_pages_and_completion_are_there(self):
        for page in ("1/hipbrokerctl.1", "1/hipbroker-selftest.1", "3/hipbroker.3", "5/hipbrokerd.toml.5", "8/hipbrokerd.8"):
            self.assertTrue(pathlib.Path(f"/usr/share/man/man{page}.gz").exists(), page)
        run("bash", "-c", "source /usr/share/bash-completion/completions/hipbrokerctl && complete -p hipbrokerctl")

    def test_the_selftest_passes_against_the_service(self):
        said = run("hipbroker-selftest", "--socket", str(RUN / "broker.sock"))
        self.assertNotIn("\nFAIL", said)
        self.assertIn("\nPASS", said)

    def test_configuration_is_the_admins(self):
        conffiles = run("dpkg-query", "-W", "-f", "${Conffiles}", "hipbrokerd")
        for path in ("hipbrokerd.toml", "policy.toml"):
            self.assertIn(f"/etc/hipbroker/{path}", conffiles)
        self.assertIn("ok", run("hipbrokerd", "--check"))

    def test_files_are_what_the_packages_say(self):
        for name in ("hipbrokerd", "libhipbroker0", "libhipbroker-dev", "hipbroker-tools"):
            self.assertEqual(run("dpkg", "--verify", name), "")
        self.assertEqual(glob.glob("/etc/hipbroker/*.dpkg-*"), [])


if __name__ == "__main__":
    main()
