"""The ``devices.list`` of cgroup v1 as rules. Pure.

The format: Documentation/admin-guide/cgroup-v1/devices.rst of the kernel.
"""

import re

from glassstack.model.entities import DeviceRule

EVERYTHING = (DeviceRule("c", None, None, "rwm"), DeviceRule("b", None, None, "rwm"))
_LINE = re.compile(r"([abc]) (\d+|\*):(\d+|\*) ([rwm]+)")


def parse(text: str) -> tuple[DeviceRule, ...]:
    """Rules of a list such as ``c 1:3 rwm`` or ``a *:* rwm``; other lines are left out."""
    found: list[DeviceRule] = []
    for line in filter(None, map(_LINE.fullmatch, text.splitlines())):
        kind, access = line[1], line[4]
        major, minor = (None if part == "*" else int(part) for part in (line[2], line[3]))
        found += [DeviceRule(one, major, minor, access) for one in ("cb" if kind == "a" else kind)]
    return tuple(found)
