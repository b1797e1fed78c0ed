"""What to do when a call is entered: whether it concerns a device, and what must be read before it runs.

One function per syscall: ``(thread, arguments) -> Call``, or ``None`` when it
concerns no device and its return does not matter.
"""

from collections.abc import Callable

from glassstack.collectors.tracer import abi
from glassstack.collectors.tracer.kernel import read_memory, read_string
from glassstack.collectors.tracer.nodes import may_be_node, node_of
from glassstack.collectors.tracer.tracees import Call, Thread
from glassstack.decoders.registry import reads
from glassstack.decoders.syscalls import as_int

Args = tuple[int, ...]
Handler = Callable[[Thread, Args], Call | None]


def ioctl(thread: Thread, args: Args) -> Call | None:
    """An ioctl: on a device, or any where all are wanted."""
    process = thread.process
    fd = args[0] & 0xFFFFFFFF
    device = process.fds.get(fd)
    if device is None:
        device = process.device(thread.tid, fd)
    if not device and not process.any_node:
        return None
    wanted = reads(device, args[1] & 0xFFFFFFFF)
    if wanted is None:
        return ("ioctl", device, fd, args, None, 0, b"", None)
    size, after, nested = wanted
    before = read_memory(thread.tid, args[2], size) if size else b""
    more = nested(before) if nested is not None else None
    if more is None:
        return ("ioctl", device, fd, args, before, after, b"", None)
    payload = read_memory(thread.tid, more.address, more.length)
    thread.again = (more.address, more.length) if more.again else None
    return ("ioctl", device, fd, args, before, after, payload, None)


def mmap(thread: Thread, args: Args) -> Call | None:
    """A mapping of a device."""
    fd = as_int(args[4])
    device = "" if args[3] & abi.MAP_ANONYMOUS else thread.process.device(thread.tid, fd)
    return ("mmap", device, fd, args, None, 0, b"", _mapped) if device else None


def _mapped(thread: Thread, call: Call, ret: int) -> str:
    if ret > 0:
        thread.process.add_range(ret, ret + (call[3][1] + 4095) // 4096 * 4096, call[1])
    return call[1]


def munmap(thread: Thread, args: Args) -> Call | None:
    """An unmapping of a range in which a device is mapped."""
    device = thread.process.mapped(thread.tid, args[0], args[0] + args[1])
    return ("munmap", device, None, args, None, 0, b"", _unmapped) if device else None


def _unmapped(thread: Thread, call: Call, ret: int) -> str:
    if ret == 0:
        start, length = call[3][:2]
        thread.process.remove_range(start, start + (length + 4095) // 4096 * 4096)
    return call[1]


def close(thread: Thread, args: Args) -> Call | None:
    """A close of a device's descriptor."""
    fd = as_int(args[0])
    device = thread.process.device(thread.tid, fd)
    thread.process.fds.pop(fd, None)
    return ("close", device, fd, args, None, 0, b"", _forget_fd) if device else None


def _forget_fd(thread: Thread, call: Call, ret: int) -> str:
    # Another thread may have asked about it between entry and return.
    if call[2] is not None:
        thread.process.fds.pop(call[2], None)
    return call[1]


def close_range(thread: Thread, args: Args) -> Call | None:
    """A close of many, with a device's descriptor among them."""
    first, last = args[0] & 0xFFFFFFFF, args[1] & 0xFFFFFFFF
    process = thread.process
    fds = process.open_fds(thread.tid, first, last)
    device = next(filter(None, (process.device(thread.tid, fd) for fd in fds)), "")
    if not args[2] & abi.CLOSE_RANGE_CLOEXEC:
        for fd in [fd for fd in process.fds if first <= fd <= last]:
            del process.fds[fd]
    return ("close_range", device, None, args, None, 0, b"", None) if device else None


def _duplicate(name: str) -> Handler:
    def enter(thread: Thread, args: Args) -> Call | None:
        fd = as_int(args[0])
        device = thread.process.device(thread.tid, fd)
        return (name, device, fd, args, None, 0, b"", _duplicated) if device else None

    return enter


def _duplicate_onto(name: str) -> Handler:
    def enter(thread: Thread, args: Args) -> Call | None:
        fd, target = as_int(args[0]), as_int(args[1])
        process = thread.process
        device = process.device(thread.tid, fd) or process.device(thread.tid, target)
        if fd != target:
            process.fds.pop(target, None)
        return (name, device, fd, args, None, 0, b"", _duplicated) if device else None

    return enter


def _duplicated(thread: Thread, call: Call, ret: int) -> str:
    if ret >= 0:
        thread.process.fds.pop(ret, None)
    return call[1]


def fcntl(thread: Thread, args: Args) -> Call | None:
    """A duplication of a device's descriptor by fcntl."""
    if args[1] not in (abi.F_DUPFD, abi.F_DUPFD_CLOEXEC):
        return None
    fd = as_int(args[0])
    device = thread.process.device(thread.tid, fd)
    return ("fcntl", device, fd, args, None, 0, b"", _duplicated) if device else None


def _open(name: str, path_at: int) -> Handler:
    def enter(thread: Thread, args: Args) -> Call | None:
        path = read_string(thread.tid, args[path_at])
        if not may_be_node(path):
            return None
        flags = read_memory(thread.tid, args[2], 8) if name == "openat2" else b""
        text = path.encode("utf-8", "surrogateescape")
        return (name, "", None, args, text, 0, flags, _opened)

    return enter


def _opened(thread: Thread, call: Call, ret: int) -> str:
    process = thread.process
    if ret < 0:
        # Nothing to ask: the path says whether a device was meant.
        return node_of((call[4] or b"").decode("utf-8", "surrogateescape"), process.any_node)
    process.fds.pop(ret, None)
    return process.device(thread.tid, ret)


HANDLERS: dict[str, Handler] = {
    "ioctl": ioctl,
    "mmap": mmap,
    "munmap": munmap,
    "close": close,
    "close_range": close_range,
    "dup": _duplicate("dup"),
    "dup2": _duplicate_onto("dup2"),
    "dup3": _duplicate_onto("dup3"),
    "fcntl": fcntl,
    "open": _open("open", 0),
    "creat": _open("creat", 0),
    "openat": _open("openat", 1),
    "openat2": _open("openat2", 1),
}
"""By syscall name."""


def handlers(machine: abi.Machine) -> dict[int, Handler]:
    """By syscall number of ``machine``."""
    return {nr: HANDLERS[name] for name, nr in machine.calls.items()}
