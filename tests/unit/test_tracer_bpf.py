"""The seccomp filter, run by an interpreter of its own: what is stopped at, what is let through."""

from __future__ import annotations

import struct

import pytest

from glassstack.collectors.tracer.abi import SECCOMP_RET_ALLOW, SECCOMP_RET_TRACE, TRACED, machine
from glassstack.collectors.tracer.bpf import device_filter
from glassstack.decoders.syscalls import NUMBERS

MACHINES = ("x86_64", "aarch64")


def run(program: bytes, nr: int, arch: int, args: tuple[int, ...] = ()) -> int:
    """Classic BPF over a struct seccomp_data, as the kernel does it."""
    data = struct.pack("=IIQ6Q", nr, arch, 0, *(args + (0,) * (6 - len(args))))
    steps = list(struct.iter_unpack("=HBBI", program))
    at, accumulator = 0, 0
    while True:
        code, yes, no, operand = steps[at]
        at += 1
        if code == 0x06:
            return int(operand)
        if code == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, operand)
            continue
        taken = {
            0x15: accumulator == operand,
            0x35: accumulator >= operand,
            0x45: bool(accumulator & operand),
        }[code]
        at += yes if taken else no


@pytest.fixture(params=MACHINES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def verdict(name: str, call: str, *args: int, arch: int | None = None) -> int:
    known = machine(name)
    assert known is not None
    return run(device_filter(known), NUMBERS[name][call], known.audit_arch if arch is None else arch, args)


def test_every_device_call_stops(name: str) -> None:
    for call in set(TRACED) & set(NUMBERS[name]) - {"fcntl"}:
        assert verdict(name, call) == SECCOMP_RET_TRACE, call


def test_other_calls_run(name: str) -> None:
    for call in set(NUMBERS[name]) - set(TRACED):
        assert verdict(name, call) == SECCOMP_RET_ALLOW, call


@pytest.mark.parametrize(
    ("flags", "fd", "stops"),
    [(0x1, 3, True), (0x2, 0, True), (0x22, 3, False), (0x22, 2**64 - 1, False), (0x1, 2**32 - 1, False)],
)
def test_mmap_stops_only_with_a_file(name: str, flags: int, fd: int, stops: bool) -> None:
    expected = SECCOMP_RET_TRACE if stops else SECCOMP_RET_ALLOW
    assert verdict(name, "mmap", 0, 4096, 3, flags, fd, 0) == expected


@pytest.mark.parametrize(("command", "stops"), [(0, True), (1030, True), (1, False), (3, False)])
def test_fcntl_stops_only_to_duplicate(name: str, command: int, stops: bool) -> None:
    assert verdict(name, "fcntl", 3, command) == (SECCOMP_RET_TRACE if stops else SECCOMP_RET_ALLOW)


def test_another_architecture_runs(name: str) -> None:
    assert verdict(name, "ioctl", arch=0x40000003) == SECCOMP_RET_ALLOW


def test_x32_runs() -> None:
    known = machine("x86_64")
    assert known is not None
    assert run(device_filter(known), 0x40000000 + 514, known.audit_arch) == SECCOMP_RET_ALLOW


def test_unknown_machine() -> None:
    assert machine("vax") is None
