"""Stacks of calls, as the kernel walked them by frame pointers: numbers to functions, each looked up once.

Names are asked for while the process lives; of one that has ended addresses remain.
"""

import sys
from typing import Any

from glassstack.collectors.bpf import records
from glassstack.collectors.bpf.records import RECORD

FULL = "missing: another stack has its place in the kernel's table"
_PID, _STACK = 6, 13


class Stacks:
    """Those that were not told yet.

    Args:
        tables: the BPF object of calls.bpf.c.
    """

    def __init__(self, tables: Any) -> None:
        self._stacks = tables["stacks"]
        self._told: set[int] = set()

    def new_in(self, block: bytes) -> dict[int, tuple[str, ...]]:
        """The stacks that a block names for the first time, by records.stack_key."""
        found: dict[int, tuple[str, ...]] = {}
        for record in RECORD.iter_unpack(block):
            number = record[_STACK]
            if not record[0] or not number:
                continue
            key = records.stack_key(record[_PID], number)
            if key not in self._told:
                self._told.add(key)
                found[key] = self._functions(record[_PID], number)
        return found

    def _functions(self, pid: int, number: int) -> tuple[str, ...]:
        if number == records.NO_STACK:
            return (FULL,)
        return tuple(_name(address, pid) for address in self._stacks.walk(number - 1))


def _name(address: int, pid: int) -> str:
    """``fcu_ioctl+0x1b [libfakecuda.so.1]``, or the address."""
    bpf: Any = sys.modules["bcc"].BPF
    text: bytes = bpf.sym(address, pid, show_module=True, show_offset=True)
    name = text.decode("utf-8", "replace")
    return hex(address) if name.startswith("[unknown]") else name
