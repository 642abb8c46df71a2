#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
"""The binary interface of the library against the one that was recorded.

check_abi.py LIBRARY           programs linked against the recorded interface run with this library
check_abi.py LIBRARY --seen    changes that break programs are found, and those that do not are let through
check_abi.py LIBRARY --renew   records the interface, after a change that is meant

Functions may come, and members at the end of structs that begin with their own size, or that the library makes and shows
one at a time; anything else is a change that breaks programs. Needs abidw and abidiff, and a library with debug information."""

import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BASELINE = HERE / "baseline/libhipbroker.so.0.abi"
HEADERS = [ROOT / "client/include", ROOT / "proto/include"]
SIZED = re.compile(r"typedef struct (hb_\w+) \{\s*size_t size;")
# Made by the library alone and shown one at a time: no program has an array of them, or one of its own.
SHOWN = re.compile(r"^HB_API const (hb_\w+)\* hb_\w+_(?:at|runtime|export)\(", re.MULTILINE)


def record(library):
    """Without what depends on where it was built."""
    folders = [part for folder in HEADERS for part in ("--headers-dir", folder)]
    text = subprocess.run(["abidw", "--exported-interfaces-only", "--drop-private-types", "--drop-undefined-syms",
                           "--no-show-locs", "--no-comp-dir-path", "--no-corpus-path", "--no-architecture",
                           "--no-elf-needed", "--type-id-style", "hash", *folders, library],
                          check=True, capture_output=True, text=True).stdout
    return re.sub(r"(<abi-instr [^>]*path=')[^']*?([^/']*')", r"\1\2", text)


def growing_structs():
    """These may grow at the end: programs give the size they know, or see them by a pointer alone."""
    names = set()
    for folder in HEADERS:
        for header in sorted(folder.rglob("*.h")):
            text = header.read_text(encoding="utf-8")
            names |= set(SIZED.findall(text)) | set(SHOWN.findall(text))
    return sorted(names)


def compare(old, new):
    """Exit status and words of abidiff; 0: nothing that breaks a program."""
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder) / name for name in ("old.abi", "new.abi", "may.ini")]
        files[0].write_text(old, encoding="utf-8")
        files[1].write_text(new, encoding="utf-8")
        files[2].write_text("".join(f"[suppress_type]\n  name = {name}\n  has_data_member_inserted_at = end\n"
                                    for name in growing_structs()), encoding="utf-8")
        done = subprocess.run(["abidiff", "--suppressions", files[2], "--no-added-syms", files[0], files[1]],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


def without_last_member(text, struct):
    """As if that struct had been recorded before its last member came."""
    whole = re.search(rf"<class-decl name='{struct}' size-in-bits='(\d+)'.*?</class-decl>", text, re.DOTALL)
    members = re.findall(r"\s*<data-member access='public' layout-offset-in-bits='(\d+)'>.*?</data-member>", whole[0],
                         re.DOTALL)
    last = re.findall(r"\s*<data-member .*?</data-member>", whole[0], re.DOTALL)[-1]
    shorter = whole[0].replace(last, "").replace(f"size-in-bits='{whole[1]}'", f"size-in-bits='{members[-1]}'")
    return text.replace(whole[0], shorter)


def seen(library):
    """The recorded interface is altered, and the library is what came after."""
    now = record(library)
    cases = {
        "nothing": (now, True),
        "a function that is gone": (now.replace("hb_ping", "hb_pong"), False),
        "a function with other parameters": (re.sub(r"(<function-decl name='hb_client_close'.*?)<parameter [^>]*/>", r"\1", now,
                                                    count=1, flags=re.DOTALL), False),
        "a member at the end of a struct that tells its size": (without_last_member(now, "hb_client_options"), True),
        "a member at the end of a struct that is shown": (without_last_member(now, "hb_listed"), True),
        "a member at the end of a struct that does not": (without_last_member(now, "hb_acl_entry"), False),
        "a new function": (re.sub(r"\s*<elf-symbol name='hb_ping'[^>]*/>", "",
                                  re.sub(r"\s*<function-decl name='hb_ping'.*?</function-decl>", "", now, flags=re.DOTALL)),
                           True),
    }
    wrong = 0
    for name, (old, may) in cases.items():
        status, said = compare(old, now)
        if (status == 0) != may or (old == now) != (name == "nothing"):
            print(f"{name}: abidiff ended with {status}\n{said}")
            wrong += 1
    return wrong


def main():
    library = sys.argv[1]
    mode = sys.argv[2] if len(sys.argv) > 2 else ""
    if mode == "--renew":
        BASELINE.write_text(record(library), encoding="utf-8")
        return 0
    if mode == "--seen":
        return 1 if seen(library) else 0
    status, said = compare(BASELINE.read_text(encoding="utf-8"), record(library))
    if status:
        print(said)
        print("Programs that were linked before would break. If that is meant: another SOVERSION, a line under Breaking in "
              "docs/CHANGELOG.md, and tests/abi/check_abi.py LIBRARY --renew.")
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main())
