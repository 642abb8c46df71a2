#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
#
# collect.sh BUILD OUT: everything that run.sh needs on a machine with a GPU and without this tree: stripped
# programs, the shims, fake_cuda and the shared libraries they link, save those of the C and C++ runtimes.
set -euo pipefail

[ $# -eq 2 ] || { echo "usage: collect.sh BUILD_DIR OUT_DIR" >&2; exit 64; }
build=$1
out=$2
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
readonly most_mib=60

rm -rf -- "$out"
mkdir -p "$out/bin" "$out/lib" "$out/shim6" "$out/shim7" "$out/fake_cuda"
cp -- "$build/tests/gpu/gpu_test" "$out/bin/"
cp -- "$(find "$build/daemon" -name hipbrokerd -type f -perm -u+x | head -1)" "$out/bin/"
cp -- "$(find "$build/client" -name hipbroker-probe -type f -perm -u+x | head -1)" "$out/bin/"
cp -L -- "$build/tests/gpu/shim6/libamdhip64.so.6" "$out/shim6/"
cp -L -- "$build/tests/gpu/shim7/libamdhip64.so.7" "$out/shim7/"
cp -L -- "$build/tests/gpu/fake_cuda/libcuda.so.1" "$out/fake_cuda/"
cp -- "$here/run.sh" "$out/"

# The C library belongs to the kernel's machine, and libstdc++ of a newer compiler serves older programs.
for program in "$out"/bin/* "$out"/shim?/* "$out"/fake_cuda/*; do
  ldd "$program" | awk '$2 == "=>" { print $1, $3 }'
done | sort -u | while read -r name path; do
  case $name in
    libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.* | libresolv.so.* | ld-linux* | \
      libstdc++.so.* | libgcc_s.so.*) continue ;;
  esac
  [ -f "$path" ] || { echo "collect.sh: $name is not found" >&2; exit 1; }
  cp -L -- "$path" "$out/lib/$name"
done
find "$out" -type f ! -name run.sh -exec strip --strip-unneeded {} +

mib=$(du -sm "$out" | cut -f1)
echo "collected into $out: $mib MiB, $(find "$out/lib" -type f | wc -l) libraries"
[ "$mib" -le "$most_mib" ] || { echo "collect.sh: $mib MiB is more than $most_mib" >&2; exit 1; }
