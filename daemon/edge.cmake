# The edge: I/O around the core. SPDX-License-Identifier: MIT
