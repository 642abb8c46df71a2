#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
#
# build.sh BUILD_DIR OUT_DIR [VERSION]: four .deb files from what is built in BUILD_DIR, which is installed as it is;
# nothing is compiled again. VERSION: another than the project's.
set -euo pipefail
umask 022
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
root=$(cd -- "$here/../.." && pwd -P)
build=$(realpath -- "$1")
mkdir -p "$2"
out=$(realpath -- "$2")
version=${3:-$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")}
architecture=$(dpkg --print-architecture)
# All files get this time, so that the same sources make the same packages.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || stat -c %Y "$root/CMakeLists.txt")}
export SOURCE_DATE_EPOCH

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
mkdir "$work/debian"
sed "s/\${binary:Version}/$version/" "$here/control.in" >"$work/debian/control"

stage() { # stage PACKAGE COMPONENT...: a tree of what the components install
  local package=$1 component
  shift
  for component in "$@"; do
    DESTDIR=$work/$package cmake --install "$build" --prefix /usr --component "$component" >"$work/install.log" 2>&1 ||
      { cat "$work/install.log" >&2; exit 1; }
  done
}
stage hipbrokerd daemon service
stage libhipbroker0 runtime
stage libhipbroker-dev dev
stage hipbroker-tools tools

install -D -m 0644 "$root/systemd/hipbrokerd.toml" "$work/hipbrokerd/etc/hipbroker/hipbrokerd.toml"
install -D -m 0644 "$root/systemd/policy.toml" "$work/hipbrokerd/etc/hipbroker/policy.toml"
mkdir -p "$work/hipbrokerd/DEBIAN" "$work/libhipbroker0/DEBIAN"
printf '/etc/hipbroker/%s\n' hipbrokerd.toml policy.toml >"$work/hipbrokerd/DEBIAN/conffiles"
for script in postinst prerm postrm; do
  install -m 0755 "$here/hipbrokerd.$script" "$work/hipbrokerd/DEBIAN/$script"
done
echo "libhipbroker 0 libhipbroker0 (>= $version)" >"$work/libhipbroker0/DEBIAN/shlibs"
echo 'activate-noawait ldconfig' >"$work/libhipbroker0/DEBIAN/triggers"

programs() { find "$work/$1" -type f -exec sh -c 'head -c 4 "$1" | grep -q ELF' sh {} \; -print; }

finish() { # finish PACKAGE: control file, documents, checksums, the package
  local package=$1 tree=$work/$1 file
  local documents=$tree/usr/share/doc/$package
  mkdir -p "$documents" "$tree/DEBIAN"
  install -m 0644 "$here/copyright" "$documents/copyright"
  printf '%s (%s) unstable; urgency=medium\n\n  * See the changes of the project.\n\n -- %s  %s\n' hipbroker "$version" \
    'the hipbroker authors <hipbroker@example.org>' "$(date -u -R -d "@$SOURCE_DATE_EPOCH")" | gzip -9n >"$documents/changelog.gz"
  if [[ -d $tree/usr/share/man ]]; then find "$tree/usr/share/man" -type f -exec gzip -9n {} +; fi

  local -a elf=()
  mapfile -t elf < <(programs "$package")
  local depends=''
  if ((${#elf[@]} > 0)); then
    for file in "${elf[@]}"; do
      strip --strip-unneeded --remove-section=.comment --remove-section=.note "$file"
      # /usr/lib is looked at anyway.
      chrpath -d "$file" >/dev/null 2>&1 || true
    done
    depends=$(cd "$work" && dpkg-shlibdeps -O --warnings=0 -l"$work/libhipbroker0/usr/lib" \
      -S"$work/libhipbroker0" "${elf[@]/#/-e}")
    depends=${depends#shlibs:Depends=}
  fi
  (cd "$tree" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | LC_ALL=C sort -z | xargs -0 -r md5sum) >"$tree/DEBIAN/md5sums"
  awk -v package="$package" -v version="$version" -v architecture="$architecture" -v depends="$depends" \
    -v size="$(du -k -s --apparent-size "$tree" | cut -f 1)" '
    BEGIN { RS = ""; FS = "\n" }
    NR == 1 { source = $1; sub(/^Source: /, "", source); section = $2; maintainer = $4; next }
    $1 == "Package: " package {
      print $1; print "Source: " source; print "Version: " version; print maintainer
      print "Priority: optional"; print "Installed-Size: " size
      if ($0 !~ /\nSection:/) print section
      for (i = 2; i <= NF; ++i) {
        line = $i
        if (line ~ /^Architecture:/) line = "Architecture: " architecture
        gsub(/\$\{shlibs:Depends\}/, depends, line)
        print line
      }
    }' "$work/debian/control" >"$tree/DEBIAN/control"
  find "$tree" -newermt "@$SOURCE_DATE_EPOCH" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  dpkg-deb --root-owner-group -Zxz -z1 --build "$tree" "$out/${package}_${version}_${architecture}.deb" >/dev/null
}

# The library first: the tools are looked at against it.
for package in libhipbroker0 libhipbroker-dev hipbrokerd hipbroker-tools; do
  finish "$package"
  echo "$out/${package}_${version}_${architecture}.deb"
done
