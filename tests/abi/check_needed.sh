#!/bin/sh
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
#
# check_needed.sh LIBRARY: needs libc alone (and the dynamic linker, for thread-local storage), and no symbol of
# glibc above 2.34, so that it loads on Ubuntu 22.04, RHEL 9 and in conda.
set -eu
library=$1
needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc\.so\.6|ld-linux-.*\.so\.[0-9]+)$' || true)
if [ -n "$needed" ]; then
  echo "needs $needed"
  exit 1
fi
newest=$(objdump -T "$library" | grep -oE 'GLIBC_[0-9.]+' | sed s/GLIBC_// | sort -uV | tail -1)
if [ "$(printf '%s\n2.34\n' "$newest" | sort -V | tail -1)" != 2.34 ]; then
  echo "needs glibc $newest for:"
  objdump -T "$library" | grep "GLIBC_$newest"
  exit 1
fi
if objdump -T "$library" | grep -E 'GLIBCXX|CXXABI|GCC_|google|protobuf'; then
  echo "takes the symbols above from another library"
  exit 1
fi
