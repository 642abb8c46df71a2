#!/bin/sh
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
#
# build_packages.sh BUILD_DIR OUT_DIR: the packages, those of a later version in OUT_DIR/later, and that the same
# sources make the same bytes.
set -eu
build=$1 out=$2
here=$(dirname "$0")
rm -rf "$out"
"$here/../../systemd/debian/build.sh" "$build" "$out"
"$here/../../systemd/debian/build.sh" "$build" "$out/again" >/dev/null
"$here/../../systemd/debian/build.sh" "$build" "$out/later" 99.0 >/dev/null
for package in "$out"/*.deb; do
  cmp "$package" "$out/again/$(basename "$package")"
done
rm -rf "$out/again"
