# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
"""What the tests of the installed service share: they run as root, under a systemd of their own (box.sh, vm.sh)."""

import json
import os
import pathlib
import select
import subprocess
import time
import unittest

BUILD = pathlib.Path(os.environ["HB_BUILD"])
SOURCE = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = BUILD / "packages"
SHARER = BUILD / "tests/systemd/sharer"
UNIT = "hipbrokerd.service"
SOCKETS = ("hipbrokerd.socket", "hipbrokerd-admin.socket")
NAMES = ("libhipbroker0", "libhipbroker-dev", "hipbrokerd", "hipbroker-tools")
# A hang becomes a failure; nothing is measured by it. Under an emulator everything takes ten times as long.
DEADLINE = float(os.environ.get("HB_DEADLINE", "60"))


def run(*command, uid=None, check=True, stdin=None):
    """Output of a command, both streams; as root, or as another uid without a group of root's."""
    if uid is not None:
        command = ("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *command)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, input=stdin,
                          stdin=subprocess.DEVNULL if stdin is None else None, timeout=3 * DEADLINE)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout if check else done


def wait_for(what, condition):
    """Asks again and again until it is true, and gives back what it was."""
    until = time.monotonic() + DEADLINE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > until:
            raise AssertionError(f"not within {DEADLINE:.0f} s: {what}")
        select.select([], [], [], 0.02)


def ctl(*arguments, uid=None):
    return json.loads(run("hipbrokerctl", "--timeout", "30", "--json", *arguments, uid=uid))


def show(unit, name):
    return run("systemctl", "show", unit, "-p", name, "--value").strip()


def main_pid():
    return int(show(UNIT, "MainPID"))


def is_active(unit=UNIT):
    return run("systemctl", "is-active", unit, check=False).stdout.strip() == "active"


def inode(path):
    status = os.lstat(path)
    return status.st_dev, status.st_ino


def inodes():
    """Of everything that a container may have mounted, or a client opened."""
    run_dir = pathlib.Path("/run/hipbroker")
    paths = [run_dir, run_dir / "broker.sock", run_dir / "admin", run_dir / "admin/admin.sock", run_dir / "scopes"]
    paths += run_dir.glob("scopes/*")
    paths += run_dir.glob("scopes/*/broker.sock")
    return {str(path): inode(path) for path in paths}


def stored():
    return int(show(UNIT, "NFileDescriptorStore") or 0)


def install(later=False, packages=NAMES):
    """The packages of this tree, or the same under a higher version."""
    folder = PACKAGES / "later" if later else PACKAGES
    files = [next(iter(folder.glob(f"{name}_*.deb")), folder / name) for name in packages]
    # The index of man pages takes longer than all the rest, and is none of ours.
    pathlib.Path("/var/lib/man-db/auto-update").unlink(missing_ok=True)
    return run("dpkg", "--force-unsafe-io", "-i", *files)


def restart():
    run("systemctl", "restart", UNIT)


def kill_daemon(signal="KILL"):
    """The daemon has ended and another one serves."""
    before = main_pid()
    run("systemctl", "kill", f"--signal={signal}", "--kill-who=main", UNIT)
    wait_for("another daemon", lambda: main_pid() not in (0, before) and is_active())


class Sharer:
    """A process that exports or imports, at the other end of a pipe."""

    def __init__(self, *arguments, uid=None, socket=None):
        command = [str(SHARER), *map(str, arguments)]
        if uid is not None:
            command = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *command]
        environment = dict(os.environ)
        if socket:
            environment["HIPBROKER_SOCKET"] = str(socket)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        env=environment)
        self.kind = self.line()

    def line(self):
        readable, _, _ = select.select([self.process.stdout], [], [], DEADLINE)
        if not readable:
            raise AssertionError("the sharer says nothing")
        return self.process.stdout.readline().decode().strip()

    def ask(self, what):
        self.process.stdin.write(what.encode() + b"\n")
        self.process.stdin.flush()
        return self.line()

    def end(self):
        """It ends by itself, and has left nothing open."""
        self.process.stdin.close()
        rest = self.process.stdout.read().decode().strip()
        status = self.process.wait(DEADLINE)
        self.process.stdout.close()
        if status or rest:
            raise AssertionError(f"the sharer ended with {status}: {rest}")

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(DEADLINE)
        self.process.stdin.close()
        self.process.stdout.close()


class Case(unittest.TestCase):
    """The service is up before each test, and what it shares is gone afterwards."""

    def setUp(self):
        self.sharers = []
        run("systemctl", "reset-failed", check=False)
        run("systemctl", "start", *SOCKETS, UNIT)

    def tearDown(self):
        for sharer in self.sharers:
            sharer.kill()

    def share(self, *arguments, **options):
        sharer = Sharer(*arguments, **options)
        self.sharers.append(sharer)
        return sharer

    def exporter(self, name, lifetime="owner", size=1 << 20, uid=1001, reader=1002, socket=None, kind="memfd"):
        more = ("udmabuf",) if kind == "dma-buf" else ()
        sharer = self.share("export", name, size, lifetime, reader, *more, uid=uid, socket=socket)
        self.assertEqual(sharer.kind, f"ready {kind}")
        return sharer

    def importer(self, name, size=1 << 20, owner=1001, uid=1002, socket=None, kind="memfd"):
        sharer = self.share("import", owner, name, size, uid=uid, socket=socket)
        self.assertEqual(sharer.kind, f"ready {kind}")
        return sharer

    def check_whole_path(self, name="whole-path"):
        """Two uids, through the installed library: what the service is for."""
        exporter = self.exporter(name)
        importer = self.importer(name)
        self.assertEqual(importer.ask("check"), "ok")
        importer.end()
        exporter.end()


def main():
    unittest.main(module="__main__", verbosity=2)
