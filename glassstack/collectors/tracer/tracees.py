"""The processes and threads that are traced, and what is known of their descriptors and mappings.

A cache, never the truth: what is not known is asked from /proc, and forgotten
whenever a call could change it.
"""

import os
from collections.abc import Callable
from typing import NamedTuple

from glassstack.collectors.tracer.nodes import node_of

Effect = Callable[["Thread", "Call", int], str]
"""Brings the tables up to date with a return value; gives the device, "" = no device call after all."""

Call = tuple[str, str, int | None, tuple[int, ...], bytes | None, int, bytes, Effect | None]
"""A call that was entered: syscall, device, fd, arguments, what they point to (``None``: not read), bytes
of it to read again after the call, payload, effect."""


class Process:
    """A thread group."""

    __slots__ = ("any_node", "each_call", "fds", "launched", "pid", "ranges", "threads")

    def __init__(self, pid: int, launched: bool, any_node: bool, each_call: bool = True) -> None:
        self.pid = pid
        self.launched = launched
        """It began with us and ends with us."""
        self.each_call = each_call
        """Nothing filters its calls: it stops at the entry and return of each."""
        self.any_node = any_node
        """Calls on every node of /dev count, and every ioctl."""
        self.threads: dict[int, Thread] = {}
        self.fds: dict[int, str] = {}
        """Device behind a descriptor, "" = none; a missing one has not been asked for."""
        self.ranges: list[tuple[int, int, str]] | None = None
        """Start, end and device of the device mappings; ``None`` = read them when needed."""

    def device(self, tid: int, fd: int) -> str:
        """The node behind ``fd``, "" for anything else."""
        known = self.fds.get(fd)
        if known is not None:
            return known
        try:
            link = os.readlink(f"/proc/{tid}/fd/{fd}")
        except OSError:
            return ""
        node = self.fds[fd] = node_of(link, self.any_node)
        return node

    def open_fds(self, tid: int, first: int, last: int) -> list[int]:
        """Descriptors in that range which are open now."""
        try:
            names = os.listdir(f"/proc/{tid}/fd")
        except OSError:
            return []
        return sorted(fd for fd in map(int, names) if first <= fd <= last)

    def mapped(self, tid: int, start: int, end: int) -> str:
        """The device that has a mapping in that range, "" for none."""
        if self.ranges is None:
            self.ranges = _device_ranges(tid, self.any_node)
        return next((node for low, high, node in self.ranges if low < end and start < high), "")

    def add_range(self, start: int, end: int, node: str) -> None:
        """A mapping was made."""
        if self.ranges is not None:
            self.remove_range(start, end)
            self.ranges.append((start, end, node))

    def remove_range(self, start: int, end: int) -> None:
        """A mapping went away, or part of one."""
        if self.ranges is None:
            return
        left: list[tuple[int, int, str]] = []
        for low, high, node in self.ranges:
            left += [(a, b, node) for a, b in ((low, min(high, start)), (max(low, end), high)) if a < b]
        self.ranges = left

    def executed(self) -> None:
        """It runs another program: mappings are gone, close-on-exec descriptors too."""
        self.fds.clear()
        self.ranges = []


class Thread:
    """A task that is traced."""

    __slots__ = ("again", "call", "each_stop", "process", "since", "tid")

    def __init__(self, tid: int, process: Process) -> None:
        self.tid = tid
        self.process = process
        self.each_stop = process.each_call
        process.threads[tid] = self
        self.call: Call | None = None
        """Entered and not returned."""
        self.since = 0
        """CLOCK_MONOTONIC ns of that entry."""
        self.again: tuple[int, int] | None = None
        """Address and length of what its argument points to and has to be read again after the call."""


def _device_ranges(tid: int, any_node: bool) -> list[tuple[int, int, str]]:
    ranges = []
    try:
        with open(f"/proc/{tid}/maps", errors="surrogateescape") as maps:
            for line in maps:
                words = line.rstrip("\n").split(maxsplit=5)
                node = node_of(words[5], any_node) if len(words) > 5 else ""
                if node:
                    start, end = words[0].split("-")
                    ranges.append((int(start, 16), int(end, 16), node))
    except OSError:
        return []
    return ranges


class Kin(NamedTuple):
    """Where a task belongs."""

    group: int
    parent: int
    alive: bool


def kin(tid: int) -> Kin | None:
    """Thread group and parent process of ``tid``; ``None`` when it is gone altogether."""
    found = {"Tgid": 0, "PPid": 0}
    alive = True
    try:
        with open(f"/proc/{tid}/status", errors="replace") as status:
            for line in status:
                key, _, value = line.partition(":")
                if key == "State":
                    alive = value.strip()[:1] not in ("Z", "X")
                elif key in found:
                    found[key] = int(value)
                    if key == "PPid":
                        break
    except OSError:
        return None
    return Kin(found["Tgid"], found["PPid"], alive) if found["Tgid"] else None


def command_line(pid: int) -> str:
    """The command line of ``pid``, words joined by spaces; its name where that is empty, "" when gone."""
    for name in ("cmdline", "comm"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                text = file.read(4096)
        except OSError:
            return ""
        if text:
            return os.fsdecode(text.rstrip(b"\0\n").replace(b"\0", b" ")).encode("utf-8", "replace").decode()
    return ""
