# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
"""A stranger's project builds against the installed -dev package, by CMake and by pkg-config, and its programs run."""

import pathlib
import tempfile
import unittest

from lane import SOURCE, install, main, run


class Consumers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        install(packages=("libhipbroker0", "libhipbroker-dev"))

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.source = SOURCE / "tests/abi/consumer"

    def runs_with_the_installed_library(self, program):
        self.assertIn("=> /lib/libhipbroker.so.0 ", run("ldd", program).replace("/usr/lib/", "/lib/"))
        run(program)

    def test_find_package(self):
        run("cmake", "-S", self.source, "-B", self.folder, "-G", "Ninja")
        run("cmake", "--build", self.folder)
        for program in ("consumer_c", "consumer_cxx"):
            self.runs_with_the_installed_library(self.folder / program)

    def test_pkg_config(self):
        flags = run("pkg-config", "--cflags", "--libs", "hipbroker").split()
        run("cc", self.source / "consumer.c", "-o", self.folder / "c", *flags)
        run("c++", "-std=c++20", self.source / "consumer.cc", "-o", self.folder / "cxx", *flags)
        for program in ("c", "cxx"):
            self.runs_with_the_installed_library(self.folder / program)


if __name__ == "__main__":
    main()
