#!/bin/sh
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
#
# TaskProlog= of slurm.conf: as the user, before each task. What it prints as `export NAME=VALUE` the task gets.
echo "export HIPBROKER_SOCKET=${HIPBROKER_RUN:-/run/hipbroker}/scopes/job-$SLURM_JOB_ID/broker.sock"
