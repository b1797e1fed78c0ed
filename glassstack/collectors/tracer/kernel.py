"""The system calls of the tracer, bound once for speed, and reading a tracee's memory.

Only a thread that traces may use them. Two things make them twice as fast as
ctypes usually is: the library keeps the interpreter lock (the tracer has one
thread), and no argument types are declared. So every argument must be an int
of 31 bits and a sign, or a ctypes object such as ``byref`` gives.
"""

import ctypes
import errno
import os

from ptrace.binding import func as binding

from glassstack.collectors.tracer import abi

_libc = ctypes.PyDLL(None, use_errno=True)

ptrace = _libc.ptrace
"""ptrace(request, tid, address, data): -1 and ``ctypes.get_errno()`` on error."""

wait = _libc.waitpid
"""waitpid(pid, reference to the status word, flags): also returns (-1, EINTR) when a signal comes."""

prctl = _libc.prctl
syscall = _libc.syscall

CONT: int = binding.PTRACE_CONT
SYSCALL: int = binding.PTRACE_SYSCALL
DETACH: int = binding.PTRACE_DETACH
GETEVENTMSG: int = binding.PTRACE_GETEVENTMSG
EVENT_FORK: int = binding.PTRACE_EVENT_FORK
EVENT_VFORK: int = binding.PTRACE_EVENT_VFORK
EVENT_CLONE: int = binding.PTRACE_EVENT_CLONE
EVENT_EXEC: int = binding.PTRACE_EVENT_EXEC

BASE_OPTIONS: int = binding.PTRACE_O_TRACESYSGOOD | binding.PTRACE_O_TRACECLONE | binding.PTRACE_O_TRACEEXEC
FORK_OPTIONS: int = binding.PTRACE_O_TRACEFORK | binding.PTRACE_O_TRACEVFORK
LAUNCH_OPTIONS: int = abi.PTRACE_O_TRACESECCOMP | abi.PTRACE_O_EXITKILL

_message = ctypes.c_ulong()
_message_at = ctypes.byref(_message)


def event_message(tid: int) -> int:
    """What goes with the ptrace event that ``tid`` stopped for, 0 when it died meanwhile."""
    # python-ptrace hands the kernel four bytes where it writes eight.
    return _message.value if ptrace(GETEVENTMSG, tid, 0, _message_at) == 0 else 0


def seize(tid: int, options: int) -> int:
    """Makes this thread the tracer of ``tid``; 0 or the errno."""
    return 0 if ptrace(abi.PTRACE_SEIZE, tid, 0, options) == 0 else ctypes.get_errno()


class _IoVec(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


_BUFFER_SIZE = 1 << 17
_buffer = ctypes.create_string_buffer(_BUFFER_SIZE)
_buffer_at = ctypes.addressof(_buffer)
_local = _IoVec(_buffer_at, 0)
_remote = _IoVec(0, 0)
_local_at, _remote_at = ctypes.byref(_local), ctypes.byref(_remote)
_readv = _libc.process_vm_readv


def read_memory(tid: int, address: int, size: int) -> bytes:
    """Up to ``size`` bytes (at most 128 KiB) of ``tid``'s memory; shorter, or empty, where it ends."""
    size = min(size, _BUFFER_SIZE)
    if size <= 0 or not address:
        return b""
    _local.length = _remote.length = size
    _remote.base = address
    got: int = _readv(tid, _local_at, 1, _remote_at, 1, 0)
    if got > 0:
        return _buffer[:got]  # type: ignore[return-value]  # a slice of a char array is bytes
    if ctypes.get_errno() == errno.ESRCH:
        return b""
    return _read_file(tid, address, size)


def _read_file(tid: int, address: int, size: int) -> bytes:
    """The way that works where process_vm_readv is not allowed or stops at a page it may not read."""
    try:
        fd = os.open(f"/proc/{tid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.pread(fd, size, address)
    except (OSError, OverflowError):
        return b""
    finally:
        os.close(fd)


def read_string(tid: int, address: int, limit: int = 4096) -> str:
    """The NUL-terminated text at ``address``; what can be read of it, at most ``limit`` bytes."""
    text = b""
    while len(text) < limit:
        # Never across a page border at once: the next page may not be there.
        chunk = read_memory(tid, address + len(text), min(256, 4096 - (address + len(text)) % 4096))
        text += chunk
        if not chunk or b"\0" in chunk:
            break
    return os.fsdecode(text.split(b"\0", 1)[0][:limit])
