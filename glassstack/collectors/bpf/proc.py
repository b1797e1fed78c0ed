"""What /proc tells of a process that the BPF program can't: open devices, and whether it lives."""

import os
from collections.abc import Iterator

from glassstack.collectors.tracer.nodes import node_of
from glassstack.collectors.tracer.tracees import kin

FDS = 1024
"""Descriptors that calls_files.bpf.c keeps track of."""
_O_CLOEXEC = 0o2000000


def is_process(pid: int) -> bool:
    """Whether this is a process and not another thread of one."""
    relations = kin(pid)
    return relations is not None and relations.group == pid


def lives(pid: int) -> bool:
    """Whether a process has a thread left."""
    relations = kin(pid)
    if relations is None or relations.alive:
        return relations is not None
    try:
        return len(os.listdir(f"/proc/{pid}/task")) > 1
    except OSError:
        return False


def descriptors(pid: int, any_node: bool) -> Iterator[tuple[int, str]]:
    """The descriptors of a process that are devices, with their nodes."""
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return
    for name in names:
        try:
            node = node_of(os.readlink(f"/proc/{pid}/fd/{name}"), any_node)
        except OSError:
            continue
        if node and int(name) < FDS:
            yield int(name), node


def closes_on_exec(pid: int, fd: int) -> bool:
    """Whether an exec closes this descriptor."""
    try:
        with open(f"/proc/{pid}/fdinfo/{fd}") as file:
            flags = next((line.split()[1] for line in file if line.startswith("flags:")), "0")
    except OSError:
        return False
    return bool(int(flags, 8) & _O_CLOEXEC)


def contexts(pid: int) -> list[tuple[int, int]]:
    """(device, context) of each descriptor of fakegpu.ko that a process has open, as fdinfo tells."""
    found = []
    try:
        names = os.listdir(f"/proc/{pid}/fdinfo")
    except OSError:
        return []
    for name in names:
        try:
            with open(f"/proc/{pid}/fdinfo/{name}") as file:
                fields = dict(line.split(":", 1) for line in file if line.startswith("fakegpu-"))
        except (OSError, ValueError):
            continue
        if "fakegpu-device" in fields:
            found.append((int(fields["fakegpu-device"]), int(fields["fakegpu-context"])))
    return found
