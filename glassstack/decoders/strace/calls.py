"""One function per system call that makes, copies or drops a descriptor, and the table of all that matter.

Each brings the tables up to date and makes the event of a device call. Pure.
What a line does not tell is left out or said in the event, never made up.
"""

import re
from collections.abc import Callable

from glassstack.decoders.nodes import node_of
from glassstack.decoders.strace.call import FD, STRING, Call, event, fd_of, node, numeric
from glassstack.decoders.strace.grammar import PATH, unescape
from glassstack.decoders.strace.mappings import mmap, munmap
from glassstack.decoders.syscalls import open_text
from glassstack.model.events import Syscall
from glassstack.model.values import Scalar

Handler = Callable[[Call], Syscall | None]

_PASSED = re.compile(rf"[\[ ](\d{{1,10}})({PATH})?(?=[,\]])")
_O_CLOEXEC = 0o2000000


def _open(path_at: int) -> Handler:
    def opened(call: Call) -> Syscall | None:
        found = STRING.search(call.args)
        path = unescape(found[1]) if found else ""
        rest = call.args[found.end() :] if found else ""
        device = call.made if call.made is not None else node_of(path)
        if call.ret >= 0:
            call.task.files.put(call.ret, device, "O_CLOEXEC" in rest or numeric(rest) & _O_CLOEXEC != 0)
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


def close(call: Call) -> Syscall | None:
    """A close; what it closed is not known any more, also where it failed."""
    fd, device, _ = fd_of(call)
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
    marked = "CLOEXEC" in flags or numeric(flags) & 4 != 0
    for fd in inside if call.ret == 0 else ():
        if marked:
            call.task.files.cloexec.add(fd)
        else:
            call.task.files.drop(fd)
    fields: dict[str, Scalar] = {"first": first, "last": last, "flags": 4 if marked else 0}
    return event(call, device, "close_range", fields) if device else None


def duplicate(call: Call) -> Syscall | None:
    """dup, dup2, dup3."""
    fd, device, rest = fd_of(call)
    files = call.task.files
    target = FD.match(rest)
    replaced = files.nodes.get(int(target[1]), "") if target else ""
    fields: dict[str, Scalar] = {"new": int(target[1])} if target else {}
    if call.name == "dup3":
        fields["flags"] = "O_CLOEXEC" if "CLOEXEC" in rest or numeric(rest.rpartition(", ")[2]) else "0"
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
    fd, device, rest = fd_of(call)
    command, _, argument = rest.partition(", ")
    command = command.split(" ")[0]
    command = _COMMANDS.get(command, command)
    if command == "F_SETFD" and call.ret == 0:
        marked = "FD_CLOEXEC" in argument or numeric(argument) & 1
        (call.task.files.cloexec.add if marked else call.task.files.cloexec.discard)(fd)
        return None
    if not command.startswith("F_DUPFD"):
        return None
    if call.ret >= 0:
        _made(call, device, command == "F_DUPFD_CLOEXEC")
    fields: dict[str, Scalar] = {"command": command, "from": numeric(argument)}
    return event(call, device, "fcntl", fields, fd) if device else None


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
