"""One function per system call that matters: brings the tables up to date, makes the event of a device call.

Pure. What a line does not tell is left out or said in the event, never made up.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from glassstack.decoders import registry
from glassstack.decoders.nodes import node_of
from glassstack.decoders.nvidia import frontend, uvm
from glassstack.decoders.strace.grammar import path_of, unescape
from glassstack.decoders.strace.requests import number_of
from glassstack.decoders.strace.tasks import Task
from glassstack.decoders.syscalls import map_text, open_text, prot_text
from glassstack.model.events import Syscall
from glassstack.model.values import Scalar, Source

_FILE = Source.FILE
_PATH = r"<(?:[^<>]|<[^<>]*>|(?<=-)>)*>(?:\(deleted\))?"
_FD = re.compile(rf"(-?\d{{1,10}})({_PATH})?(?:, |$)")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"(?:\.\.\.)?')
_PASSED = re.compile(rf"[\[ ](\d{{1,10}})({_PATH})?(?=[,\]])")
_O_CLOEXEC = 0o2000000
_KEPT = 8192
_WORD = (1 << 64) - 1
_UNKNOWN = "missing: opened before the log begins"


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


Handler = Callable[[Call], Syscall | None]


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
        ts, _FILE, task.pid, task.tid, syscall, device, name, fields, ret, failed, took, fd, raw
    )  # fmt: skip


def _fd_of(call: Call) -> tuple[int, str | None, str]:
    """First argument as a descriptor, the node behind it (``None``: not known), the rest of the arguments."""
    found = _FD.match(call.args)
    if found is None:
        return -1, "", ""
    fd = int(found[1])
    known = node(found[2])
    if known is None:
        known = call.task.files.nodes.get(fd)
    elif fd >= 0:
        call.task.files.nodes[fd] = known
    return fd, known, call.args[found.end() :]


class Ioctls:
    """The ioctls of a log. By far the most lines are these, and the same texts come again and again."""

    def __init__(self) -> None:
        self._heads: dict[str, tuple[int, str | None, int | None, str]] = {}
        self._names: dict[tuple[str, int], str] = {}
        self.numbers: set[int] = set()
        """Requests that were seen."""
        self.unresolved = 0
        """Events of descriptors that were opened before the log begins."""

    def _head(self, text: str) -> tuple[int, str | None, int | None, str]:
        """Descriptor, node that the text tells, number of the request, its text."""
        found = _FD.match(text)
        fd, path, request = (int(found[1]), found[2], text[found.end() :]) if found else (-1, None, text)
        if len(self._heads) >= _KEPT:
            self._heads.clear()
        number = number_of(request)
        if number is not None and len(self.numbers) < _KEPT:
            self.numbers.add(number)
        known = self._heads[text] = (fd, node(path), number, request)
        return known

    def _name(self, device: str, number: int) -> str:
        if len(self._names) >= _KEPT:
            self._names.clear()
        known = self._names[device, number] = registry.name_ioctl(device, number)
        return known

    def event(
        self, task: Task, args: str, ret: int, failed: str | None, ts: int, took: int | None
    ) -> Syscall | None:
        """An ioctl on a device; also one whose descriptor was never seen but whose number is NVIDIA's."""
        head, _, argument = args.rpartition(", ")
        if argument[:2] != "0x" and (cut := args.find(", {")) > 0:
            # strace took a structure of another driver's apart.
            head, argument = args[:cut], ""
        return self.told(task, head, argument, ret, failed, ts, took)

    def told(
        self,
        task: Task,
        head: str,
        argument: str,
        ret: int,
        failed: str | None,
        ts: int,
        took: int | None,
    ) -> Syscall | None:
        """The same, with the last argument apart from the rest."""
        fd, device, number, text = self._heads.get(head) or self._head(head)
        if device is None:
            device = task.files.nodes.get(fd)
        if device == "":
            return None
        try:
            fields: dict[str, Scalar] = {"arg": 0 if argument == "NULL" else int(argument, 0) & _WORD}
        except ValueError:
            fields = {}
        if device is None:
            guessed = _unresolved(task, fd, number, fields, (ret, failed, ts, took))
            self.unresolved += guessed is not None
            return guessed
        if number is None:
            name = text
        else:
            name = self._names.get((device, number)) or self._name(device, number)
            if name[:6] == "ioctl ":
                fields["unknown"] = _unknown(device, number)
        return Syscall(
            ts, _FILE, task.pid, task.tid, "ioctl", device, name, fields, ret, failed, took, fd, number
        )


def _unknown(device: str, number: int) -> str:
    if device.startswith("/dev/nvidia-uvm"):
        return f"uvm {number}"
    return f"escape 0x{number & 0xFF:02x} type 0x{number >> 8 & 0xFF:02x}"


def _unresolved(
    task: Task,
    fd: int,
    number: int | None,
    fields: dict[str, Scalar],
    end: tuple[int, str | None, int, int | None],
) -> Syscall | None:
    if number is None:
        return None
    name = frontend.name_of(number)
    if number >> 30 != 3 or name.startswith("ioctl ") or name.endswith("?"):
        # Of UVM's numbers only two are like no other driver's.
        if number >> 4 != 0x3000000:
            return None
        name = uvm.name_of(number)
    ret, failed, ts, took = end
    fields["device"] = _UNKNOWN
    return Syscall(
        ts, _FILE, task.pid, task.tid, "ioctl", "", f"{name}?", fields, ret, failed, took, fd, number
    )


def _open(path_at: int) -> Handler:
    def opened(call: Call) -> Syscall | None:
        found = STRING.search(call.args)
        path = unescape(found[1]) if found else ""
        rest = call.args[found.end() :] if found else ""
        device = call.made if call.made is not None else node_of(path)
        if call.ret >= 0:
            call.task.files.put(call.ret, device, "O_CLOEXEC" in rest or _numeric(rest) & _O_CLOEXEC != 0)
        elif not device:
            device = node_of(path)
        if not device:
            return None
        flags = rest.strip(", ").split(", ")[0].removeprefix("{flags=").rstrip("}")
        fields: dict[str, Scalar] = {"path": path}
        if flags and call.name != "creat":
            fields["flags"] = open_text(int(flags.split(" ")[0], 0)) if flags[0].isdigit() else flags
        fd = call.ret if call.ret >= 0 else None
        return event(call, device, "open", fields, fd)

    return opened


def _numeric(text: str) -> int:
    word = text.strip(", ").split(",")[0].split(" ")[0]
    try:
        return int(word, 0) & _WORD
    except ValueError:
        return 0


def close(call: Call) -> Syscall | None:
    """A close; what it closed is not known any more, also where it failed."""
    fd, device, _ = _fd_of(call)
    if call.errno != "EBADF":
        call.task.files.drop(fd)
    return event(call, device, "close", {}, fd) if device else None


def close_range(call: Call) -> Syscall | None:
    """A close of many."""
    words = call.args.split(", ")
    try:
        first, last = (int(word, 0) & 0xFFFFFFFF for word in words[:2])
    except ValueError:
        return None
    nodes = call.task.files.nodes
    inside = [fd for fd in nodes if first <= fd <= last]
    device = next((nodes[fd] for fd in inside if nodes[fd]), "")
    flags = words[2] if len(words) > 2 else "0"
    marked = "CLOEXEC" in flags or _numeric(flags) & 4 != 0
    for fd in inside if call.ret == 0 else ():
        if marked:
            call.task.files.cloexec.add(fd)
        else:
            call.task.files.drop(fd)
    fields: dict[str, Scalar] = {"first": first, "last": last, "flags": 4 if marked else 0}
    return event(call, device, "close_range", fields) if device else None


def duplicate(call: Call) -> Syscall | None:
    """dup, dup2, dup3."""
    fd, device, rest = _fd_of(call)
    files = call.task.files
    target = _FD.match(rest)
    replaced = files.nodes.get(int(target[1]), "") if target else ""
    fields: dict[str, Scalar] = {"new": int(target[1])} if target else {}
    if call.name == "dup3":
        fields["flags"] = "O_CLOEXEC" if "CLOEXEC" in rest or _numeric(rest.rpartition(", ")[2]) else "0"
    if call.ret >= 0 and call.ret != fd:
        _made(call, device, fields.get("flags") == "O_CLOEXEC")
    return event(call, device or replaced, call.name, fields, fd) if device or replaced else None


def _made(call: Call, device: str | None, cloexec: bool) -> None:
    known = device if call.made is None else call.made
    if known is None:
        call.task.files.drop(call.ret)
    else:
        call.task.files.put(call.ret, known, cloexec)


_COMMANDS = {
    "0": "F_DUPFD",
    "0x406": "F_DUPFD_CLOEXEC",
    "1030": "F_DUPFD_CLOEXEC",
    "2": "F_SETFD",
    "0x2": "F_SETFD",
}


def fcntl(call: Call) -> Syscall | None:
    """A duplication by fcntl, or a change of close-on-exec."""
    fd, device, rest = _fd_of(call)
    command, _, argument = rest.partition(", ")
    command = command.split(" ")[0]
    command = _COMMANDS.get(command, command)
    if command == "F_SETFD" and call.ret == 0:
        marked = "FD_CLOEXEC" in argument or _numeric(argument) & 1
        (call.task.files.cloexec.add if marked else call.task.files.cloexec.discard)(fd)
        return None
    if not command.startswith("F_DUPFD"):
        return None
    if call.ret >= 0:
        _made(call, device, command == "F_DUPFD_CLOEXEC")
    fields: dict[str, Scalar] = {"command": command, "from": _numeric(argument)}
    return event(call, device, "fcntl", fields, fd) if device else None


_NUMBER = r"0x[0-9a-f]{1,16}|\d{1,18}"
_MMAP = re.compile(rf"(NULL|{_NUMBER}), ({_NUMBER}), ([^,]+), ([^,]+), (-?\d{{1,10}})({_PATH})?, ({_NUMBER})")


def mmap(call: Call) -> Syscall | None:
    """A mapping of a device; whatever was there before is gone."""
    found = _MMAP.match(call.args)
    if found is None:
        return None
    address, length, prot, flags, descriptor, path, offset = found.groups()
    fd, size = int(descriptor), int(length, 0)
    device = node(path)
    if device is None:
        device = call.task.files.nodes.get(fd, "")
    if fd < 0 or "ANONYMOUS" in flags:
        device = ""
    if call.errno is None:
        if device:
            call.task.memory.add(call.ret, size, device)
        else:
            call.task.memory.remove(call.ret, size)
    if not device:
        return None
    prot, flags = prot.split(" ")[0], flags.split(" ")[0]
    fields: dict[str, Scalar] = {
        "address": 0 if address == "NULL" else int(address, 0),
        "length": size,
        "prot": prot_text(int(prot, 0)) if prot[0].isdigit() else prot,
        "flags": map_text(int(flags, 0)) if flags[0].isdigit() else flags,
        "offset": int(offset, 0),
    }
    return event(call, device, "mmap", fields, fd)


def munmap(call: Call) -> Syscall | None:
    """An unmapping of a range in which a device is mapped."""
    memory = call.task.memory
    if not memory.ranges:
        return None
    words = call.args.split(", ")
    try:
        start, length = int(words[0], 0) & _WORD, int(words[1], 0) & _WORD
    except (ValueError, IndexError):
        return None
    device = memory.node(start, length)
    if not device:
        return None
    if call.ret == 0:
        memory.remove(start, length)
    return event(call, device, "munmap", {"address": start, "length": length})


_LOOKS = "stat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat"
LOOKS = frozenset(_LOOKS.split())
"""Calls that look at a path without opening it."""


def look(call: Call) -> Syscall | None:
    """A look at a node's path: stat, access and their kin."""
    found = STRING.search(call.args)
    path = unescape(found[1]) if found else ""
    device = node_of(path)
    return event(call, device, call.name, {"path": path}) if device else None


def passed(call: Call) -> None:
    """A message that may carry descriptors: only -y tells what they are."""
    if "SCM_RIGHTS" not in call.args or call.ret < 0:
        return
    for found in _PASSED.finditer(call.args[call.args.index("SCM_RIGHTS") :]):
        known = node(found[2])
        if known is None:
            call.task.files.drop(int(found[1]))
        else:
            call.task.files.put(int(found[1]), known, "MSG_CMSG_CLOEXEC" in call.args)


def gives_unknown(call: Call) -> None:
    """A call that returns a descriptor of which only -y tells what it is."""
    if call.ret >= 0:
        _made(call, None, True)


HANDLERS: dict[str, Callable[[Call], Syscall | None]] = {
    "open": _open(0),
    "creat": _open(0),
    "openat": _open(1),
    "openat2": _open(1),
    "close": close,
    "close_range": close_range,
    **dict.fromkeys(("dup", "dup2", "dup3"), duplicate),
    **dict.fromkeys(("fcntl", "fcntl64"), fcntl),
    **dict.fromkeys(("mmap", "mmap2"), mmap),
    "munmap": munmap,
    **dict.fromkeys(LOOKS, look),
    **dict.fromkeys(("recvmsg", "recvmmsg"), passed),
    "pidfd_getfd": gives_unknown,
}
"""By name."""
