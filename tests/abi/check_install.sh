#!/bin/sh
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
#
# check_install.sh BUILD_DIR SOURCE_DIR CC CXX: a stranger's project finds the installed library by CMake and by
# pkg-config, in C and in C++, and its program runs; and the installed programs start.
set -eu
build=$1 source=$2 cc=$3 cxx=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
cmake --install "$build" --prefix "$prefix" --component runtime >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cmake --install "$build" --prefix "$prefix" --component dev >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }

cmake -S "$source/consumer" -B "$work/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
  -DCMAKE_CXX_COMPILER="$cxx" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cmake --build "$work/consumer" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$work/consumer/consumer_c"
"$work/consumer/consumer_cxx"

# Nobody names the prefix: the .pc file knows where it lies.
pc=$(dirname "$(find "$prefix" -name hipbroker.pc)")
lib=$(dirname "$(find "$prefix" -name libhipbroker.so.0)")
flags=$(PKG_CONFIG_PATH=$pc pkg-config --dont-define-prefix --cflags --libs hipbroker)
# shellcheck disable=SC2086
"$cc" "$source/consumer/consumer.c" -o "$work/by_pkg_config" $flags
LD_LIBRARY_PATH=$lib "$work/by_pkg_config"
for variable in prefix libdir includedir; do
  value=$(PKG_CONFIG_PATH=$pc pkg-config --dont-define-prefix --variable=$variable hipbroker)
  case $variable in prefix) want=$prefix ;; libdir) want=$lib ;; includedir) want=$prefix/include ;; esac
  test "$(readlink -f "$value")" = "$(readlink -f "$want")" ||
    { echo "hipbroker.pc: $variable is $value, expected $want"; exit 1; }
done

# What an admin installs: all of it, under a prefix that was not known when it was built.
whole=$work/whole
cmake --install "$build" --prefix "$whole" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
unset LD_LIBRARY_PATH
"$whole/bin/hipbrokerctl" --version
"$whole/bin/hipbrokerd" --version
# The unit starts the program of the same tree.
grep -qx "ExecStart=$whole/bin/hipbrokerd" "$whole/lib/systemd/system/hipbrokerd.service" ||
  { echo 'hipbrokerd.service was not installed, or starts another program'; exit 1; }
find "$whole" -name hipbroker-probe -perm -u+x | grep -q . || { echo 'hipbroker-probe was not installed'; exit 1; }
# It finds its daemon, and the library its helper, in the place it was moved to.
XDG_CACHE_HOME=$work/cache TMPDIR=$work HIPBROKER_HIP_RUNTIME=$build/tests/fake_hip/v7/libamdhip64.so.7 \
  "$whole/bin/hipbroker-selftest" >"$work/log" || { cat "$work/log"; exit 1; }
grep -q '^PASS  *probe/run$' "$work/log" || { cat "$work/log"; exit 1; }
"$whole/bin/hipbrokerd" --check-config --config "$(find "$whole" -name hipbrokerd.toml.example)"
