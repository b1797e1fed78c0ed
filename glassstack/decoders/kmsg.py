"""Kernel-log lines: the Xid in them. Pure.

Reads the lines of the real driver ("NVRM: Xid (PCI:0000:01:00): 31, pid=7,
name=x, Ch 00000001, …") and of the stand-in ("FGPU: Xid …"), of any age.
"""

import re
from typing import NamedTuple

_XID = re.compile(
    r"(?P<prefix>NVRM|FGPU): (?:GPU at .*?: )?Xid \((?:PCI:)?(?P<pci>[0-9a-fA-F:.]+)[^)]*\): (?P<xid>\d{1,5})"
    r"(?:, (?P<rest>.*))?",
)
_PID = re.compile(r"pid='?(\d+)'?")
_NAME = re.compile(r"name=([^,]*)")
_BUS = re.compile(r"(?:[0-9a-fA-F]{4,8}:)?([0-9a-fA-F]{2}):")


class Xid(NamedTuple):
    """An Xid line: which GPU, what, whose. ``pid`` is ``None`` where the driver did not know it."""

    xid: int
    pci: str
    pid: int | None
    name: str
    text: str
    fake: bool


def parse_xid(line: str) -> Xid | None:
    """The Xid that a line carries, ``None`` when it carries none."""
    found = _XID.search(line)
    if found is None:
        return None
    rest = found["rest"] or ""
    pid = _PID.match(rest)
    name = _NAME.search(rest)
    words = [part for part in rest.split(", ") if not part.startswith(("pid=", "name="))]
    return Xid(
        xid=int(found["xid"]),
        pci=found["pci"],
        pid=int(pid[1]) if pid else None,
        name=name[1] if name else "",
        text=", ".join(words),
        fake=found["prefix"] == "FGPU",
    )


def fakegpu_node(pci: str) -> str:
    """The node of a stand-in GPU by its address (device 0 sits on bus 01), "" for another bus."""
    found = _BUS.match(pci)
    index = int(found[1], 16) - 1 if found else -1
    return f"/dev/fakegpu{index}" if 0 <= index < 8 else ""
