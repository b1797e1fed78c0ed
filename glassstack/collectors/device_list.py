"""Reads the device programs of a cgroup back from the kernel: who is attached, and its instructions.

Owns the bpf(2) calls (layouts: linux/bpf.h). What the programs mean is the
decoder's. Keeps the answer of each program, which never changes.
"""

import ctypes
import errno
import os
import platform
import struct
from pathlib import Path

from glassstack.decoders.bpf_device import UndecodableError, rules
from glassstack.decoders.device_list import EVERYTHING, parse
from glassstack.model.entities import DeviceList, DeviceProgram, DeviceRule

_SYSCALL = {"x86_64": 321, "aarch64": 280}
_GET_FD_BY_ID, _GET_INFO, _QUERY = 13, 15, 16
_CGROUP_DEVICE = 6
_EFFECTIVE = 1
_PROGRAMS_MAX = 64
_INFO_SIZE = 224
_libc = ctypes.CDLL(None, use_errno=True)


def _bpf(command: int, attributes: bytearray) -> int:
    number = _SYSCALL.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, "bpf(2) has no known number on this machine")
    raw = (ctypes.c_char * len(attributes)).from_buffer(attributes)
    result: int = _libc.syscall(number, command, raw, len(attributes))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def _query(directory: int, flags: int) -> list[int]:
    """Ids of the device programs attached to a cgroup, or in force there."""
    ids = (ctypes.c_uint32 * _PROGRAMS_MAX)()
    attributes = bytearray(64)
    struct.pack_into(
        "<IIIIQI", attributes, 0, directory, _CGROUP_DEVICE, flags, 0, ctypes.addressof(ids), _PROGRAMS_MAX
    )
    _bpf(_QUERY, attributes)
    return list(ids[: struct.unpack_from("<I", attributes, 24)[0]])


def _info(program: int) -> tuple[str, str, bytes]:
    """Name, tag and instructions of a program."""
    attributes = bytearray(16)
    struct.pack_into("<I", attributes, 0, program)
    fd = _bpf(_GET_FD_BY_ID, attributes)
    try:
        length = struct.unpack_from("<I", _ask(fd), 20)[0]
        code = ctypes.create_string_buffer(length)
        info = _ask(fd, code)
    finally:
        os.close(fd)
    name = bytes(info[64:80]).partition(b"\0")[0].decode("ascii", "replace")
    return name, bytes(info[8:16]).hex(), code.raw


def _ask(fd: int, code: "ctypes.Array[ctypes.c_char] | None" = None) -> bytearray:
    """struct bpf_prog_info, with the instructions put into ``code``."""
    info = bytearray(_INFO_SIZE)
    if code is not None:
        struct.pack_into("<I", info, 20, len(code))
        struct.pack_into("<Q", info, 32, ctypes.addressof(code))
    raw = (ctypes.c_char * len(info)).from_buffer(info)
    attributes = bytearray(16)
    struct.pack_into("<IIQ", attributes, 0, fd, len(info), ctypes.addressof(raw))
    _bpf(_GET_INFO, attributes)
    return info


def v1_list(directory: Path, cgroup: str) -> DeviceList:
    """The device list of a cgroup v1 directory."""
    try:
        return DeviceList(cgroup, (), parse((directory / "devices.list").read_text("ascii", "replace")))
    except OSError as error:
        return DeviceList(cgroup, (), None, f"devices.list: {(error.strerror or 'cannot be read').lower()}")


class DeviceLists:
    """The device lists of cgroups of a hierarchy (v2) mounted at ``mount``."""

    def __init__(self, mount: Path) -> None:
        self._mount = mount
        self._known: dict[int, tuple[str, str, bytes]] = {}
        self._rules: dict[tuple[int, ...], tuple[DeviceRule, ...]] = {}

    def of(self, cgroup: str) -> DeviceList:
        """The list that counts for a cgroup; what can't be read is said in it."""
        try:
            effective = self._ids(cgroup, _EFFECTIVE)
            programs = tuple(self._program(number, cgroup) for number in effective)
        except OSError as error:
            return DeviceList(cgroup, (), None, _why(error))
        try:
            key = tuple(effective)
            if key not in self._rules:
                self._rules[key] = (
                    rules([self._known[number][2] for number in effective]) if key else EVERYTHING
                )
            return DeviceList(cgroup, programs, self._rules[key])
        except UndecodableError as error:
            return DeviceList(cgroup, programs, None, f"the program {error}")

    def _ids(self, cgroup: str, flags: int) -> list[int]:
        directory = os.open(f"{self._mount}{cgroup}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return _query(directory, flags)
        finally:
            os.close(directory)

    def _program(self, number: int, cgroup: str) -> DeviceProgram:
        if number not in self._known:
            self._known[number] = _info(number)
        name, tag, _ = self._known[number]
        return DeviceProgram(number, name, tag, self._attached(number, cgroup))

    def _attached(self, number: int, cgroup: str) -> str:
        """The nearest cgroup, itself or above, that the program is attached to."""
        while True:
            if number in self._ids(cgroup or "/", 0):
                return cgroup or "/"
            if cgroup in ("", "/"):
                return ""
            cgroup = cgroup.rpartition("/")[0]


def _why(error: OSError) -> str:
    if error.errno in (errno.EPERM, errno.EACCES):
        return "only root may ask the kernel for device programs"
    if error.errno == errno.ENOENT:
        return "the cgroup is gone"
    return f"the kernel does not tell device programs: {(error.strerror or str(error)).lower()}"
