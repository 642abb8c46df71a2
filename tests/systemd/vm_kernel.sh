#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
#
# vm_kernel.sh DIR: puts a kernel with /dev/udmabuf at DIR/vmlinuz, once: that of Debian's backports, 34 MB, from the
# mirror that apt uses already. Nothing of it is installed, and apt's own lists are left alone.
set -euo pipefail
directory=$(realpath -m "$1")
if [[ -e $directory/vmlinuz ]]; then exit 0; fi
cannot() {
  cat >&2 <<TEXT
vm_kernel.sh: no kernel with /dev/udmabuf can be had here: $1
The tests over real dma-bufs boot Debian's linux-image-cloud-amd64 of bookworm-backports. Put such a kernel at
  $directory/vmlinuz
by hand, or let this machine reach a Debian mirror.
TEXT
  exit 125
}
[[ $(dpkg --print-architecture) == amd64 ]] || cannot 'it is made for amd64'
mkdir -p "$directory"
work=$(mktemp -d "$directory/fetch.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
# shellcheck disable=SC2016 # apt's own placeholder
mirror=$({ apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null || true; } |
  grep -E '/debian/?$' | sort -u | head -n 1) || true
[[ -n $mirror ]] || cannot 'apt has no mirror of Debian (apt-get update)'
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror bookworm-backports main" >"$work/sources.list"
apt=(-o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$work/lists"
  -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root)
apt-get "${apt[@]}" -qq update >"$work/log" 2>&1 || cannot "$(tail -n 1 "$work/log")"
package=$(apt-cache "${apt[@]}" depends linux-image-cloud-amd64 | awk '/Depends: linux-image-/ { print $2; exit }')
[[ -n $package ]] || cannot 'bookworm-backports has no linux-image-cloud-amd64'
cd "$work"
apt-get "${apt[@]}" -qq download "$package" >"$work/log" 2>&1 || cannot "$(tail -n 1 "$work/log")"
dpkg-deb -x linux-image-*.deb tree
grep -q '^CONFIG_UDMABUF=y' tree/boot/config-* || cannot "$package was built without CONFIG_UDMABUF"
# Last and in one step: who finds it can use it.
mv tree/boot/vmlinuz-* "$directory/vmlinuz"
