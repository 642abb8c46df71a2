#!/bin/sh
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
#
# check_symbols.sh LIBRARY symbols.txt: exports exactly the list, under one version, and no name of HarfBuzz,
# which uses hb_ too and may be in the same process.
set -eu
library=$1 list=$2
actual=$(nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sort)
expected=$(sed 's/$/@@HIPBROKER_0.1/' "$list" | sort)
if [ "$actual" != "$expected" ]; then
  echo "exported (+) and listed in symbols.txt (-):"
  printf '%s\n' "$expected" >/tmp/hb_expected.$$
  printf '%s\n' "$actual" | diff /tmp/hb_expected.$$ - || :
  rm -f /tmp/hb_expected.$$
  exit 1
fi
families='version|buffer|blob|face|font|map|set|shape|tag|language|script|direction|unicode|feature|variation|object'
if grep -E "^hb_($families)(_|$)" "$list"; then
  echo "the names above are of HarfBuzz's families"
  exit 1
fi
