#!/bin/sh
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
#
# Prolog= of slurm.conf: as root, on every node, before the job.
scope="job-$SLURM_JOB_ID"
hipbrokerctl scope rm "$scope" 2>/dev/null # what a job that was requeued has left here
hipbrokerctl scope add "$scope" --uid "$SLURM_JOB_UID" --quota-bytes "${HIPBROKER_JOB_BYTES:-200G}"
