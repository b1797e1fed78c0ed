"""Another process's memory, read from outside: two ways in, and a reason when both are shut.

Owns reading only; what lies where is maps.py's, what it means the decoders'.
Never stops the process, never opens a device node.
"""

import ctypes
import errno
import os
import stat
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)


class _IoVec(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


_readv = _libc.process_vm_readv
_readv.argtypes = (ctypes.c_int,) + (ctypes.c_void_p, ctypes.c_ulong) * 2 + (ctypes.c_ulong,)
_readv.restype = ctypes.c_ssize_t


class UnreadableError(Exception):
    """The memory can't be read; the text is the reason, fit for "missing: …"."""


class GoneError(UnreadableError):
    """The process has ended."""


def reason(error: OSError) -> str:
    """Why a look into a process failed, in plain words."""
    if error.errno in (errno.EPERM, errno.EACCES):
        return "no permission to look into the process: be its user (under Yama its parent), or root"
    if error.errno in (errno.ESRCH, errno.ENOENT):
        return "the process has ended"
    if error.errno in (errno.EIO, errno.EFAULT):
        return "nothing readable is mapped there"
    return os.strerror(error.errno or 0)


def failure(error: OSError) -> UnreadableError:
    """The exception that says it."""
    gone = error.errno in (errno.ESRCH, errno.ENOENT)
    return GoneError(reason(error)) if gone else UnreadableError(reason(error))


class Memory:
    """The memory of a process, by process_vm_readv(2) or, where that can't, /proc/PID/mem.

    The second also reaches mappings whose driver has its own access method.
    """

    def __init__(self, pid: int, proc: Path = Path("/proc")) -> None:
        self._pid = pid
        self._file = f"{proc}/{pid}/mem"

    def read(self, address: int, size: int) -> bytes:
        """All of the range.

        Raises:
            UnreadableError: with the reason; GoneError when the process has ended.
        """
        buffer = ctypes.create_string_buffer(size)
        local = _IoVec(ctypes.addressof(buffer), size)
        remote = _IoVec(address, size)
        if _readv(self._pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0) == size:
            return buffer.raw
        return self._read_file(address, size)

    def _read_file(self, address: int, size: int) -> bytes:
        try:
            descriptor = os.open(self._file, os.O_RDONLY | os.O_CLOEXEC)
            try:
                data = os.pread(descriptor, size, address)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise failure(error) from error
        except OverflowError as error:
            raise UnreadableError("no such address") from error
        if not data:
            raise GoneError("the process has ended")  # its address space is: pread gives nothing
        if len(data) < size:
            raise UnreadableError(f"only {len(data)} of {size} bytes are mapped there")
        return data


class DeviceFile:
    """The file behind an embedded device's mapping, found among the process's descriptors.

    Needs less permission than reading memory: Yama does not restrict it. The
    file is opened for reading only, which its device does not take for a user.
    A real node is never opened: that would make a context.
    """

    def __init__(self, pid: int, inode: int, proc: Path = Path("/proc")) -> None:
        self._directory = f"{proc}/{pid}/fd"
        self._inode = inode

    def read(self, offset: int, size: int) -> bytes:
        """All of the range.

        Raises:
            UnreadableError: with the reason; GoneError when the process has ended.
        """
        try:
            descriptor = self._open()
            try:
                data = os.pread(descriptor, size, offset)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise failure(error) from error
        if len(data) < size:
            raise UnreadableError(f"the device's file ends {size - len(data)} bytes early")
        return data

    def _open(self) -> int:
        for name in os.listdir(self._directory):
            path = f"{self._directory}/{name}"
            try:
                if not os.readlink(path).startswith("/memfd:"):
                    continue
                # Only a handle, which no driver hears of, until it is known to be the right file.
                handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            try:
                found = os.fstat(handle)
                if found.st_ino == self._inode and stat.S_ISREG(found.st_mode):
                    return os.open(f"/proc/self/fd/{handle}", os.O_RDONLY | os.O_CLOEXEC)
            finally:
                os.close(handle)
        raise UnreadableError("the process has closed its descriptor of the device")
