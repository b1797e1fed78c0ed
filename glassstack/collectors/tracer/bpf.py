"""The seccomp filter of a launched program: stop at calls that can concern a device, let the rest run.

Pure: numbers in, the bytes of a ``struct sock_filter[]`` out. It must work on
any input the kernel hands it: calls of another architecture run untraced.
"""

import struct

from glassstack.collectors.tracer.abi import (
    F_DUPFD,
    F_DUPFD_CLOEXEC,
    MAP_ANONYMOUS,
    SECCOMP_RET_ALLOW,
    SECCOMP_RET_TRACE,
    Machine,
)

_LOAD, _JUMP_EQUAL, _JUMP_FROM, _JUMP_BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NR, _ARCH, _ARGS = 0, 4, 16  # offsets in struct seccomp_data
_INSTRUCTION = struct.Struct("=HBBI")

Step = tuple[int, int, str | None, str | None]
"""Opcode, operand, label if true, label if false (``None``: the next step)."""


def _arg(index: int) -> int:
    return _ARGS + 8 * index  # the low half, on a little-endian machine


def _steps(machine: Machine) -> list[tuple[str, Step]]:
    """Labelled steps; a label names the step it stands beside."""
    plain = [nr for name, nr in machine.calls.items() if name not in ("mmap", "fcntl")]
    steps: list[tuple[str, Step]] = [
        ("", (_LOAD, _ARCH, None, None)),
        ("", (_JUMP_EQUAL, machine.audit_arch, None, "allow")),
        ("", (_LOAD, _NR, None, None)),
    ]
    if machine.first_foreign is not None:
        steps.append(("", (_JUMP_FROM, machine.first_foreign, "allow", None)))
    steps += [("", (_JUMP_EQUAL, nr, "trace", None)) for nr in plain]
    steps += [
        ("", (_JUMP_EQUAL, machine.calls["mmap"], "mmap", None)),
        ("", (_JUMP_EQUAL, machine.calls["fcntl"], "fcntl", "allow")),
        ("mmap", (_LOAD, _arg(3), None, None)),
        ("", (_JUMP_BITS, MAP_ANONYMOUS, "allow", None)),
        ("", (_LOAD, _arg(4), None, None)),
        ("", (_JUMP_EQUAL, 0xFFFFFFFF, "allow", "trace")),
        ("fcntl", (_LOAD, _arg(1), None, None)),
        ("", (_JUMP_EQUAL, F_DUPFD, "trace", None)),
        ("", (_JUMP_EQUAL, F_DUPFD_CLOEXEC, "trace", None)),
        ("allow", (_RETURN, SECCOMP_RET_ALLOW, None, None)),
        ("trace", (_RETURN, SECCOMP_RET_TRACE, None, None)),
    ]
    return steps


def device_filter(machine: Machine) -> bytes:
    """The filter's instructions for ``machine``."""
    steps = _steps(machine)
    labels = {label: index for index, (label, _) in enumerate(steps) if label}

    def distance(index: int, label: str | None) -> int:
        return 0 if label is None else labels[label] - index - 1

    return b"".join(
        _INSTRUCTION.pack(code, distance(index, yes), distance(index, no), operand)
        for index, (_, (code, operand, yes, no)) in enumerate(steps)
    )
