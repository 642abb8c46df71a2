#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
#
# run.sh [--fake] [--only FILTER] [FOLDER]: all GPU tests on the NVIDIA GPU of this machine (or over fake_cuda),
# then the measurement, from a folder made by collect.sh (default: where this script lies). Logs go to $OUT or a
# temporary folder. The last line is "N passed, N failed"; exit 0 only when nothing failed and something ran.
set -uo pipefail

readonly limit_tests=240 limit_bench=90
fake=0
filter='*'
while [ $# -gt 0 ]; do
  case $1 in
    --fake) fake=1 ;;
    --only) shift; filter=${1:?--only needs a filter of GoogleTest} ;;
    -*) echo "run.sh: no option $1" >&2; exit 64 ;;
    *) break ;;
  esac
  shift
done
folder=$(cd -- "${1:-$(dirname -- "${BASH_SOURCE[0]}")}" && pwd -P)
logs=${OUT:-$(mktemp -d)}
mkdir -p "$logs"

export HB_GPU_BUNDLE="$folder" HB_TEST_DAEMON="$folder/bin/hipbrokerd"
if [ "$fake" = 1 ]; then unset HB_GPU_LIBCUDA; else export HB_GPU_LIBCUDA=real; fi
unset CUDA_VISIBLE_DEVICES HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES
chmod +x "$folder"/bin/* 2>/dev/null

echo "== machine"
echo "kernel $(uname -r), $(getconf GNU_LIBC_VERSION), $(nproc) CPUs, RLIMIT_NOFILE $(ulimit -n)"
if [ "$fake" = 1 ]; then
  echo "over fake_cuda: plumbing only, the numbers mean nothing"
else
  nvidia-smi --query-gpu=name,driver_version,memory.total,memory.used --format=csv,noheader 2>&1
fi

echo "== tests"
started=$SECONDS
timeout -k 5 "$limit_tests" env LD_LIBRARY_PATH="$folder/lib" "$folder/bin/gpu_test" --gtest_filter="$filter:-*GpuBench*" \
  --gtest_output="json:$logs/gpu_test.json" >"$logs/gpu_test.log" 2>&1
status=$?
grep -E '^(FACT|\[       OK|\[  FAILED|\[  SKIPPED)' "$logs/gpu_test.log"
if [ "$status" -ne 0 ]; then
  echo "-- what failed said (exit $status, whole log: $logs/gpu_test.log):"
  grep -vE '^\[( RUN|       OK|---)' "$logs/gpu_test.log" | tail -n 150
fi
echo "tests took $((SECONDS - started)) s"

echo "== attach, against the raw calls in the same run"
export HB_GPU_BENCH_MIB=${HB_GPU_BENCH_MIB:-2 1024 65536} HB_GPU_BENCH_SAMPLES=${HB_GPU_BENCH_SAMPLES:-200}
bench=0
if [ "$filter" = '*' ]; then
  timeout -k 5 "$limit_bench" env LD_LIBRARY_PATH="$folder/lib" "$folder/bin/gpu_test" \
    --gtest_filter='*GpuBench*' >"$logs/gpu_bench.log" 2>&1
  bench=$?
  grep -E '^BENCH' "$logs/gpu_bench.log"
  [ "$bench" -eq 0 ] || { echo "-- the measurement failed (exit $bench):"; tail -n 60 "$logs/gpu_bench.log"; }
fi

count() { grep -cE "$1" "$logs/gpu_test.log"; }
passed=$(count '^\[       OK')
failed=$(count '^\[  FAILED  \] .*\([0-9]+ ms\)$')
skipped=$(count '^\[  SKIPPED')
# A process that ended before its tests did has failed, and so have tests that did not run.
[ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
[ "$bench" -eq 0 ] || failed=$((failed + 1))
[ "$passed" -gt 1 ] || failed=$((failed + 1))
failed=$((failed + skipped))
echo "== what ran"
grep -E '^\[ RUN' "$logs/gpu_test.log" | sed -E 's/^\[ RUN *\] //; s/\/v[0-9_]+_/ /; s/^Gpu\///' | sort | uniq -c
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
