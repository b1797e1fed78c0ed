"""Records of calls.bpf.c to events. Pure; the layout is that file's ``struct call`` and ``struct wide``."""

import struct
from collections.abc import Mapping

import msgspec

from glassstack.collectors.tracer.calls import fields_of, is_decoded
from glassstack.decoders.syscalls import NUMBERS, OPENS, as_int, errno_name
from glassstack.model.events import Event, Syscall
from glassstack.model.values import Scalar, Source

RECORD = struct.Struct("<IIQQqQIIIiIBBHQ128s")
"""Length (0: goes on from the record before), page; entered, left, return, cgroup, pid, tid, word, fd,
request, sizes before and after, stack, argument, data."""
STRIDE = RECORD.size
WORD = 8 + 40
"""Offset of ``word`` in a record."""
_REQUEST = WORD + 8
ARGUMENTS = struct.Struct("<6Q")
_DATA = STRIDE - 128
_SHORT = 64
_STACK = 13
NO_STACK = 0xFFFF
_READ = 1 << 31
_PART = STRIDE - 8
_LENGTH = struct.Struct("<I").unpack_from
_HELD = struct.Struct("<4xI").unpack_from
_SUBMIT_IN = struct.Struct("<4xI8xII").unpack_from
"""flags, length and padding of a SUBMIT."""
_SUBMIT_MOST = 65536

WIDE, PACKETS, LOOK = 1 << 24, 1 << 25, 1 << 31
BIRTH, EXEC, EXIT = 0xFFF0, 0xFFF1, 0xFFF2
GPU, CTL, UVM, NAMED, ASK, UNKNOWN, OTHER, MAPPED, NOT = 1, 9, 10, 16, 120, 121, 122, 123, 126
CLOEXEC = 0x80

NODES: dict[int, str] = {
    **{GPU + index: f"/dev/fakegpu{index}" for index in range(8)},
    CTL: "/dev/fakegpuctl",
    UVM: "/dev/fakegpu-uvm",
}
"""Devices that every reader knows."""

_NAMES = {nr: name for name, nr in NUMBERS["x86_64"].items()}


class Block(msgspec.Struct, frozen=True, tag_field="kind", tag="block"):
    """Records as the kernel wrote them. ``nodes`` are names given to devices since the last block,
    ``stacks`` those that it is the first to have, by ``stack_key``."""

    data: bytes
    nodes: dict[int, str] = {}
    stacks: dict[int, tuple[str, ...]] = {}


Item = Event | Block
"""What crosses the wire: making events of records costs more than seeing the calls, so the reader does it."""

encode = msgspec.msgpack.Encoder().encode
"""list[Item] → bytes."""
decode = msgspec.msgpack.Decoder(list[Item]).decode
"""bytes → list[Item]; msgspec.DecodeError on anything else."""


def count_ioctls(block: bytes, request: int) -> int:
    """How many records of one ioctl a block holds; the number must not occur in arguments."""
    return memoryview(block).cast("I")[_REQUEST // 4 :: STRIDE // 4].tolist().count(request)


def wide(block: bytes | bytearray, at: int) -> tuple[bytes, bytes]:
    """What the second and third part of the record at offset ``at`` hold."""
    second = at + STRIDE + 8
    third = second + STRIDE
    return bytes(block[second : second + _PART]), bytes(block[third : third + _PART])


def packets(block: bytes | bytearray, at: int) -> bytes:
    """The packets of the SUBMIT at offset ``at``: in the parts behind it, each saying how much it holds."""
    (length,) = _LENGTH(block, at)
    parts = range(at + STRIDE, at + length + 8, STRIDE)
    return b"".join(bytes(block[part + 8 : part + 8 + _HELD(block, part)[0]]) for part in parts)


def stack_key(pid: int, number: int) -> int:
    """What names a stack of a process."""
    return pid << 16 | number


def calls_of(
    block: bytes, nodes: Mapping[int, str], stacks: Mapping[int, tuple[str, ...]] | None = None
) -> list[Event]:
    """The calls in a block; ``nodes`` names the devices, ``stacks`` has what Blocks said."""
    events: list[Event] = []
    for index, record in enumerate(RECORD.iter_unpack(block)):
        if record[0]:
            call = _call(record, block, index * STRIDE, nodes)
            if call is not None:
                if record[_STACK] and stacks is not None:
                    stack = stacks.get(stack_key(record[6], record[_STACK]), ())
                    call = msgspec.structs.replace(call, stack=stack)
                events.append(call)
    return events


def _call(
    record: tuple[int, int, int, int, int, int, int, int, int, int, int, int, int, int, int, bytes],
    block: bytes,
    at: int,
    nodes: Mapping[int, str],
) -> Syscall | None:
    _, _, entered, left, ret, cgroup, pid, tid, word, fd, request, size_before, size_after, _, arg, data = (
        record
    )
    name = _NAMES.get(word & 0xFFFF)
    if name is None:
        return None
    device = nodes.get(word >> 16 & 0x7F, "")
    raw = None
    number: int | None = fd
    if name == "ioctl":
        raw = request
        args: tuple[int, ...] = (fd, request, arg)
        before, after = wide(block, at) if word & WIDE else (data[:_SHORT], data[_SHORT:])
        payload = packets(block, at) if word & PACKETS else b""
        sides = before[:size_before], after[:size_after], payload
        label, fields = _ioctl(device, args, *sides, ret, entered != 0)
    else:
        args = ARGUMENTS.unpack_from(data)
        path, how = wide(block, at) if word & WIDE else (b"", b"")
        label, fields = fields_of(
            name, device, args, path[: max(0, size_before - 1)], how[:size_after], b"", ret
        )
        number = _descriptor(name, args, ret)
    failed = errno_name(ret) if -4095 <= ret < 0 else None
    return Syscall(
        entered or left,
        Source.EBPF,
        pid,
        tid,
        name,
        device,
        label,
        fields,
        ret,
        failed,
        left - entered if entered else None,
        number,
        raw,
        cgroup,
    )


def _ioctl(
    device: str,
    args: tuple[int, ...],
    before: bytes,
    after: bytes,
    payload: bytes,
    ret: int,
    entry_seen: bool,
) -> tuple[str, dict[str, Scalar]]:
    request = args[1]
    if not is_decoded(device, request):
        return fields_of("ioctl", device, args, None, b"", b"", ret)
    if entry_seen:
        return fields_of("ioctl", device, args, before, payload, after, ret)
    if payload and not _fetched(after):
        payload = b""
    # Only the argument after the call is known; what it said before is still there where nothing was written.
    answer = after if request & _READ else b""
    label, fields = fields_of("ioctl", device, args, after, payload, answer, ret)
    if label == "CHECK_VERSION" and ret >= 0:
        fields["version"] = "missing: the call had written over it when it was seen"
    return label, fields


def _fetched(submit: bytes) -> bool:
    """Whether the embedded device fetches the packets of a SUBMIT; else there is nothing to show of them."""
    flags, length, pad = _SUBMIT_IN(submit) if len(submit) >= 24 else (1, 0, 0)
    return not flags and not pad and 0 < length <= _SUBMIT_MOST and length % 8 == 0


def _descriptor(name: str, args: tuple[int, ...], ret: int) -> int | None:
    if name in OPENS:
        return ret if ret >= 0 else None
    if name == "mmap":
        return as_int(args[4])
    return None if name in ("munmap", "close_range") else as_int(args[0])


def name_of(number: int) -> str:
    """The system call of that number, "" where it is none."""
    return _NAMES.get(number, "")
