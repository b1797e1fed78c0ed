"""A finished call as its line has it, and the event made of it. Pure."""

import re
from typing import NamedTuple

from glassstack.decoders.nodes import node_of
from glassstack.decoders.strace.grammar import PATH, path_of
from glassstack.decoders.strace.tasks import Task
from glassstack.model.events import Syscall
from glassstack.model.values import Scalar, Source

FD = re.compile(rf"(-?\d{{1,10}})({PATH})?(?:, |$)")
"""A descriptor as an argument, and what -y wrote behind it."""
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"(?:\.\.\.)?')
WORD = (1 << 64) - 1


def numeric(text: str) -> int:
    """The number that an argument begins with, 0 where it is a name."""
    word = text.strip(", ").split(",")[0].split(" ")[0]
    try:
        return int(word, 0) & WORD
    except ValueError:
        return 0


class Call(NamedTuple):
    """A finished call as its line has it. ``ret`` is negative on error, ``made`` the node that it returned.

    ``made`` is ``None`` where the line does not say what the new descriptor is.
    """

    task: Task
    name: str
    args: str
    ret: int
    made: str | None
    errno: str | None
    ts: int
    took: int | None


def node(text: str | None) -> str | None:
    """The node in what -y wrote behind a descriptor; "" = no device, ``None`` = nothing was written."""
    path = path_of(text)
    return None if path is None else node_of(path)


def event(
    call: Call,
    device: str,
    name: str,
    fields: dict[str, Scalar],
    fd: int | None = None,
    raw: int | None = None,
) -> Syscall:
    """The event of a device call."""
    task, syscall, _, ret, _, failed, ts, took = call
    return Syscall(
        ts, Source.FILE, task.pid, task.tid, syscall, device, name, fields, ret, failed, took, fd, raw
    )  # fmt: skip


def fd_of(call: Call) -> tuple[int, str | None, str]:
    """First argument as a descriptor, the node behind it (``None``: not known), the rest of the arguments."""
    found = FD.match(call.args)
    if found is None:
        return -1, "", ""
    fd = int(found[1])
    known = node(found[2])
    if known is None:
        known = call.task.files.nodes.get(fd)
    elif fd >= 0:
        call.task.files.seen(fd, known)
    return fd, known, call.args[found.end() :]
