#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
#
# vm.sh -k DIR [-t SECONDS] -- COMMAND [ARGUMENT...]
# As box.sh, on a kernel of its own under qemu's emulation, for what this machine's kernel may lack: real dma-bufs
# (/dev/udmabuf), every controller of cgroup v2, any number of descriptors. Exit status as of box.sh;
# 71: something is missing here, 125: a kernel cannot be had.
# The kernel is DIR/vmlinuz, fetched by vm_kernel.sh where it is not there yet.
# A kernel that dies in the emulator is tried once more, and said so.
#
# shellcheck disable=SC2317 # functions that a trap and another shell call
set -euo pipefail

seconds=120 kernel=
while getopts k:t: option; do
  case $option in
    k) kernel=$OPTARG ;;
    t) seconds=$OPTARG ;;
    *) exit 64 ;;
  esac
done
shift $((OPTIND - 1))
[[ -n $kernel ]] || exit 64
cannot() {
  echo "vm.sh: $1" >&2
  exit 71
}
((EUID == 0)) || cannot 'not root: the machine gets an overlay of / as its root, run this as root'
command -v qemu-system-x86_64 >/dev/null || cannot 'no qemu-system-x86_64: apt-get install qemu-system-x86'
[[ -x /usr/lib/qemu/virtiofsd ]] || cannot 'no /usr/lib/qemu/virtiofsd: it comes with qemu-system-x86 of Debian 12'

"$(dirname "$0")/vm_kernel.sh" "$kernel"
kernel=$(realpath -e "$kernel/vmlinuz")

out=$(mktemp -d)
work=$(mktemp -d)
leave() {
  rmdir "$work"
  rm -rf -- "$out"
} 2>/dev/null
trap leave EXIT

# In mount and process namespaces of its own, which end everything that is left of it.
inside() {
  set -euo pipefail
  mount -t tmpfs tmpfs "$VM_WORK"
  local root=$VM_WORK/root unit
  mkdir "$VM_WORK/upper" "$VM_WORK/work" "$root"
  mount -t overlay overlay -o "lowerdir=/,upperdir=$VM_WORK/upper,workdir=$VM_WORK/work" "$root"
  local units=$root/etc/systemd/system
  mkdir -p "$units" "$root/out" "$root/etc/tmpfiles.d"
  # With it systemd believes to be in a container, and does not read the kernel's command line.
  rm -f "$root/.dockerenv" "$root/usr/sbin/policy-rc.d"
  rm -rf "$units"/*.wants "$units"/*.requires
  : >"$root/etc/machine-id"
  : >"$root/etc/fstab"
  ln -sf /dev/null "$root/etc/tmpfiles.d/tmp.conf"
  for unit in tmp.mount systemd-udevd.service systemd-udev-trigger.service systemd-udevd-control.socket \
    systemd-udevd-kernel.socket timers.target systemd-sysctl.service systemd-journal-flush.service \
    systemd-remount-fs.service systemd-random-seed.service systemd-modules-load.service modprobe@.service \
    systemd-timesyncd.service systemd-update-utmp.service systemd-machine-id-commit.service dev-hugepages.mount \
    proc-sys-fs-binfmt_misc.automount; do
    ln -sf /dev/null "$units/$unit"
  done
  {
    echo '#!/bin/bash'
    printf 'cd %q && (' "$PWD"
    printf ' %q' "$@"
    printf ' ) >/out/output 2>&1\necho $? >/out/status\nsync\n'
  } >"$root/etc/vm-command"
  chmod 755 "$root/etc/vm-command"
  cat >"$units/vm.service" <<'UNIT'
[Unit]
Description=The command under test
After=multi-user.target
SuccessAction=poweroff-immediate
FailureAction=poweroff-immediate
[Service]
Type=oneshot
ExecStart=/etc/vm-command
Environment=HOME=/root LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 DEBIAN_FRONTEND=noninteractive
TimeoutStartSec=infinity
LimitNOFILE=infinity
UNIT
  printf '[Unit]\nRequires=basic.target\nWants=vm.service sockets.target multi-user.target\nAllowIsolate=yes\n' >"$units/vm.target"

  /usr/lib/qemu/virtiofsd --socket-path="$VM_WORK/socket" -o "source=$root" -o cache=always >"$VM_WORK/virtiofsd.log" 2>&1 &
  for ((tries = 0; tries < 200; ++tries)); do
    if [[ -S $VM_WORK/socket ]]; then break; fi
    read -rt 0.05 <> <(:) || true
  done
  # Without cx16: qemu 7.2 emulates cmpxchg16b wrongly now and then, which kills kernels.
  timeout -k 5 "$VM_SECONDS" qemu-system-x86_64 -M q35 -accel tcg,thread=multi -cpu qemu64,-cx16 -smp 1 -m 1024 \
    -object memory-backend-memfd,id=memory,size=1024M,share=on -machine memory-backend=memory \
    -chardev socket,id=files,path="$VM_WORK/socket" -device vhost-user-fs-pci,chardev=files,tag=root \
    -nographic -nodefaults -serial stdio -no-reboot -kernel "$VM_KERNEL" \
    -append 'console=ttyS0 quiet panic=-1 rootfstype=virtiofs root=root rw init=/lib/systemd/systemd systemd.unit=vm.target systemd.show_status=no systemd.log_target=null' \
    </dev/null >"$VM_OUT/console" 2>&1 || echo "qemu: status $?" >>"$VM_OUT/console"
  cp "$root"/out/* "$VM_OUT/" 2>/dev/null || true
}
export -f inside

attempt() {
  rm -f "$out"/*
  VM_OUT=$out VM_WORK=$work VM_SECONDS=$seconds VM_KERNEL=$kernel unshare --mount --pid --fork --kill-child --mount-proc \
    --propagation private bash -c 'inside "$@"' vm "$@"
}
attempt "$@"
if [[ ! -e $out/status ]] && grep -qE 'Kernel panic|Oops|BUG:|general protection' "$out/console"; then
  echo 'vm.sh: the kernel died in the emulator; once more' >&2
  attempt "$@"
fi
if [[ -e $out/output ]]; then cat "$out/output"; fi
if [[ -e $out/status ]]; then exit "$(<"$out/status")"; fi
echo "vm.sh: no answer within $seconds s" >&2
tail -c 2000 "$out/console" | tr -d '\r' >&2
exit 124
