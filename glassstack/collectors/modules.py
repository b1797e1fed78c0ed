"""Modules of the kernel that keep another one loaded, as /proc/modules tells.

Owns which modules matter; a kernel without modules has no such file, and no holders.
"""

import re
from collections.abc import Iterator

from glassstack.collectors.identity import read_bytes
from glassstack.model.entities import Holder

_OURS = re.compile(r"(?:fakegpu|nvidia|amdgpu|amdkfd)(?:_\w+)?")


def module_holders(proc: str = "/proc") -> list[Holder]:
    """A holder for each module that needs a GPU's module; by name."""
    try:
        text = read_bytes(f"{proc}/modules").decode("ascii", "replace")
    except OSError:
        return []
    return sorted(_holders(text), key=lambda one: (one.device, one.command))


def _holders(text: str) -> Iterator[Holder]:
    """A line is: name, size, references, users with commas after each or "-", state, address."""
    for line in text.splitlines():
        fields = line.split()
        if len(fields) < 4 or not _OURS.fullmatch(fields[0]) or fields[3] == "-":
            continue
        for user in filter(None, fields[3].split(",")):
            if user == "[permanent]":
                detail = "it has no way to be unloaded"
            else:
                detail = f"needs it; rmmod {user} first"
            yield Holder(
                pid=0, command=user, user="", device=f"module {fields[0]}", how="module", detail=detail
            )
