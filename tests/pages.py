"""Outputs on the pages of docs/, kept true: a block behind ``<!-- shown by: COMMAND -->`` is what it prints.

A block is fenced, or ends at ``<!-- end -->``.

With GLASSSTACK_UPDATE=1 a page that is not true any more is rewritten. What
differs from run to run (times, numbers of processes and programs, folders) is
replaced on both sides.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from tests.support import ROOT

VARYING = (
    (re.compile(r"\+\d+\.\d+ s, [\d.]+ [nµm]?s"), "+… s, …"),
    (re.compile(r"\d+ paths (of the kernel masked|made read-only): .*"), r"… paths \1: …"),
    (re.compile(r"\bchild=\d+"), "child=…"),
    (re.compile(r"\bprogram[ =]\d+(?: \([0-9a-f]{16}\))?"), "program …"),
    (re.compile(r"\binsns=\d+"), "insns=…"),
    (re.compile(r"0x[0-9a-f]{6,}"), "0x…"),
    (re.compile(r"[\w./-]*/(?=(?:minirt-)?gpu\b)"), "…/"),
)


def settled(text: str, folders: dict[Path, str]) -> str:
    """``text`` without what varies; ``folders`` get a name."""
    for folder, name in folders.items():
        text = text.replace(str(folder), name)
    for pattern, replacement in VARYING:
        text = pattern.sub(replacement, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def block(page: str, command: str) -> re.Match[str]:
    """The block of a command on a page."""
    mark = rf"<!-- shown by: {re.escape(command)} -->\n+"
    found = re.search(rf"{mark}(?:```\w*\n(.*?)\n```|(.*?)\n\n<!-- end -->)", page, re.DOTALL)
    assert found, f"the page has no block of {command!r}"
    return found


def check(name: str, command: str, output: str, folders: dict[Path, str]) -> None:
    """Fails when the page shows something else than ``output``; rewrites it when asked to."""
    path = ROOT / "docs" / name
    page = path.read_text()
    found, now = block(page, command), settled(output, folders)
    which = 1 if found[1] is not None else 2
    if found[which] != now and os.environ.get("GLASSSTACK_UPDATE"):
        path.write_text(page[: found.start(which)] + now + page[found.end(which) :])
        return
    assert found[which] == now, f"docs/{name} is not true any more: run the test with GLASSSTACK_UPDATE=1"
