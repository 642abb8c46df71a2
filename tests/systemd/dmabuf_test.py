# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
"""Real dma-bufs through the installed, confined service: another uid reads the right bytes, before and after the
daemon was killed. On a machine of its own (vm.sh), since few kernels have an exporter for it."""

from lane import Case, UNIT, ctl, install, kill_daemon, main, restart, run


class DmaBuf(Case):
    @classmethod
    def setUpClass(cls):
        install(packages=("libhipbroker0", "hipbrokerd", "hipbroker-tools"))
        # Whoever has made buffers of the kernel could do so as a user.
        run("chmod", "0666", "/dev/udmabuf")

    def test_a_another_uid_reads_it(self):
        exporter = self.exporter("pages", kind="dma-buf")
        importer = self.importer("pages", kind="dma-buf")
        self.assertEqual(importer.ask("check"), "ok")
        importer.end()
        exporter.end()

    def test_b_it_survives_kill_and_restart(self):
        exporter = self.exporter("pages", kind="dma-buf")
        reader = self.importer("pages", kind="dma-buf")
        for again in (kill_daemon, restart):
            again()
            self.assertEqual(reader.ask("check"), "ok")
            self.importer("pages", uid=1002, kind="dma-buf").end()
            self.assertEqual(exporter.ask("ping"), "ok")
        self.assertEqual([row["name"] for row in ctl("ls")["exports"]], ["pages"])
        reader.end()
        exporter.end()

    def test_c_the_unit_is_what_the_package_made(self):
        run("systemd-analyze", "security", "--offline=true", "--threshold=15", f"/lib/systemd/system/{UNIT}")


if __name__ == "__main__":
    main()
