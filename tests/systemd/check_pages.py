#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the hipbroker authors
"""check_pages.py HIPBROKERD: what the program can do stands in its pages, and each message of the journal in the
catalog, with what to do. One function a thing that is compared; every difference is told."""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAN = ROOT / "docs/man"


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


def page(name):
    return (MAN / name).read_text(encoding="utf-8").replace("\\-", "-")


def missing(what, wanted, there):
    return [f"{what}: {name}" for name in sorted(set(wanted) - set(there))]


def options(daemon):
    helped = subprocess.run([daemon, "--help"], capture_output=True, text=True, check=True).stdout
    found = set(re.findall(r"--[a-z][a-z-]*", helped))
    assert len(found) > 5, helped
    return missing("hipbrokerd.8 lacks option", found, re.findall(r"--[a-z][a-z-]*", page("hipbrokerd.8")))


def keys():
    arrays = re.findall(r"std::array<std::string_view, \d+> k\w+\{(.*?)\}", text("daemon/app/config_toml.cc"), re.DOTALL)
    known = {key for array in arrays for key in re.findall(r'"(\w+)"', array)}
    assert "socket" in known and "allow_driver" in known
    example = re.findall(r"^#? ?(\w+) =|^\[(\w+)\]", text("systemd/hipbrokerd.toml"), re.MULTILINE)
    return (missing("hipbrokerd.toml.5 lacks key", known, re.findall(r"^\.(?:B|SS) \[?(\w+)", page("hipbrokerd.toml.5"),
                                                                     re.MULTILINE))
            + missing("systemd/hipbrokerd.toml lacks key", known, {a or b for a, b in example}))


def example(daemon):
    """What the page shows is a configuration."""
    lines = page("hipbrokerd.toml.5").split(".EX\n")[1].split(".EE")[0].splitlines()
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write("\n".join(line.lstrip("\\&") for line in lines) + "\n")
        file.flush()
        checked = subprocess.run([daemon, "--check", "--config", file.name], capture_output=True, text=True, check=False)
    said = checked.stdout + checked.stderr
    return [] if checked.returncode == 0 else [f"the example of hipbrokerd.toml.5 is refused: {said.strip()}"]


def functions():
    exported = text("tests/abi/symbols.txt").split()
    named = re.findall(r"^\.BR (hb_\w+) \(\)", page("hipbroker.3").split(".SH FUNCTIONS")[1], re.MULTILINE)
    double = [name for name in set(named) if named.count(name) > 1]
    return (missing("hipbroker.3 lacks function", exported, named) + missing("hipbroker.3 invents function", named, exported)
            + [f"hipbroker.3 has twice: {name}" for name in double])


def headers():
    shipped = {path.name for path in (ROOT / "client/include/hipbroker").glob("*.h")}
    installed = re.findall(r"include/hipbroker/(\w+\.h)\b", text("client/CMakeLists.txt"))
    return missing("client/CMakeLists.txt does not install", shipped, installed) + missing("hipbroker.3 lacks header", shipped, re.findall(r"<hipbroker/(\w+\.h)>", page("hipbroker.3")))


def messages():
    pair = re.compile(r'"([a-z-]+)", "([0-9a-f]{32})"')
    log = dict(pair.findall(text("daemon/observe/message.cc")))
    audit = dict(pair.findall(text("daemon/observe/audit_record.cc")))
    ids = {**log, **audit}
    assert len(log) > 10 and len(audit) > 5 and len(set(ids.values())) == len(log) + len(audit)
    entries = re.split(r"^-- ([0-9a-f]{32})$", text("systemd/hipbroker.catalog"), flags=re.MULTILINE)
    catalog = dict(zip(entries[1::2], entries[2::2]))
    wrong = [f"hipbroker.catalog has twice: {entry}" for entry in set(entries[1::2]) if entries[1::2].count(entry) > 1]
    wrong += missing("hipbroker.catalog lacks", ids.values(), catalog) + missing("hipbroker.catalog invents", catalog, ids.values())
    for entry, body in catalog.items():
        header, _, said = body.strip().partition("\n\n")
        if not re.match(r"Subject: \S.*\nDefined-By: hipbroker\n", header) or len(said.split("\n\n")) < 2:
            wrong.append(f"hipbroker.catalog: {entry} says not both what it means and what to do")
    for name, path, table in (("audit", "docs/audit.md", audit), ("log", "docs/hipbrokerd.md", log)):
        told = dict(re.findall(r"^\| `([a-z-]+)` \|.*\| `([0-9a-f]{32})` \|$", text(path), re.MULTILINE))
        wrong += [f"{path} tells another id of {name} {key}" for key in table if told.get(key) != table[key]]
        wrong += missing(f"{path} invents", told, table)
    return wrong


def used():
    """An id that nothing is logged under is no message, and a warning without one says not what to do."""
    named = re.findall(r"Message::(k\w+),", text("daemon/observe/message.cc"))
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "daemon").rglob("*.cc")
                      if path.name != "message.cc")
    nameless = re.findall(r"observe::log\(\s*observe::Level::k(?:Warning|Error),(?!\s*observe::Message::)\s*(.{1,60})", sources)
    return ([f"nothing is logged as {name}" for name in named if f"Message::{name}" not in sources]
            + [f"a warning without an id: {words}" for words in nameless])


def clean():
    wrong = []
    for path in sorted(MAN.iterdir()):
        for command in (["groff", "-ww", "-man", "-Tutf8", path], ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", path]):
            done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
            if done.returncode or done.stderr:
                wrong.append(f"{path.name}: {command[0]}: {done.stderr.strip() or done.returncode}")
    return wrong


def main():
    wrong = options(sys.argv[1]) + example(sys.argv[1]) + keys() + functions() + headers() + messages() + used() + clean()
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
