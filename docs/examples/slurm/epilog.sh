#!/bin/sh
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
#
# Epilog= of slurm.conf: as root, on every node, after the job. A scope that is not there (status 1) is as well
# as one that was removed; anything else drains the node, as Slurm does with an epilog that fails.
hipbrokerctl scope rm "job-$SLURM_JOB_ID"
status=$?
[ "$status" -le 1 ] || exit "$status"
