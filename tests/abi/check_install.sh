#!/bin/sh
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
#
# check_install.sh BUILD_DIR SOURCE_DIR CC CXX: a stranger's project finds the installed library by CMake and by
# pkg-config, in C and in C++, and its program runs.
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

# A relocated tree: the prefix of the .pc file is the configured one unless told.
pc=$(dirname "$(find "$prefix" -name hipbroker.pc)")
flags=$(PKG_CONFIG_PATH=$pc pkg-config --define-variable=prefix="$prefix" --cflags --libs hipbroker)
# shellcheck disable=SC2086
"$cc" "$source/consumer/consumer.c" -o "$work/by_pkg_config" $flags
LD_LIBRARY_PATH=$(dirname "$(find "$prefix" -name libhipbroker.so.0)") "$work/by_pkg_config"
