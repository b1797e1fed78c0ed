"""The system calls of the tracer, bound once for speed, and reading a tracee's memory.

Only a thread that traces may use them. The library is loaded so that calls
keep the interpreter lock: the tracer has one thread, and letting go of the
lock for each of a million calls is what would cost.
"""

import ctypes
import errno
import os

from ptrace.binding import func as binding

from glassstack.collectors.tracer import abi

_libc = ctypes.PyDLL(None, use_errno=True)

ptrace = _libc.ptrace
"""ptrace(request, tid, address, data): -1 and ``ctypes.get_errno()`` on error."""
ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_long, ctypes.c_long)
ptrace.restype = ctypes.c_long

wait = _libc.waitpid
"""waitpid(pid, address of the status word, flags): also returns (-1, EINTR) when a signal comes."""
wait.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
wait.restype = ctypes.c_int

prctl = _libc.prctl
prctl.argtypes = (ctypes.c_int,) + (ctypes.c_ulong,) * 4
syscall = _libc.syscall
syscall.restype = ctypes.c_long

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
_message_at = ctypes.addressof(_message)


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
_local_at, _remote_at = ctypes.addressof(_local), ctypes.addressof(_remote)
_readv = _libc.process_vm_readv
_readv.argtypes = (ctypes.c_int,) + (ctypes.c_void_p, ctypes.c_ulong) * 2 + (ctypes.c_ulong,)
_readv.restype = ctypes.c_ssize_t


def read_memory(tid: int, address: int, size: int) -> bytes:
    """Up to ``size`` bytes (at most 128 KiB) of ``tid``'s memory; shorter, or empty, where it ends."""
    size = min(size, _BUFFER_SIZE)
    if size <= 0 or not address:
        return b""
    _local.length = _remote.length = size
    _remote.base = address
    got: int = _readv(tid, _local_at, 1, _remote_at, 1, 0)
    if got > 0:
        return ctypes.string_at(_buffer_at, got)
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
