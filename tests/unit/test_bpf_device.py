"""Device programs of cgroups, read by asking them."""

from __future__ import annotations

import struct

import pytest

from glassstack.decoders.bpf_device import UndecodableError, allows, rules
from glassstack.model.entities import DeviceRule

LOAD, AND, RSH, MOV, MOV64, JNE, EXIT = 0x61, 0x54, 0x74, 0xB4, 0xB7, 0x55, 0x95


def insn(op: int, dst: int = 0, src: int = 0, off: int = 0, imm: int = 0) -> bytes:
    return struct.pack("<BBhi", op, dst | src << 4, off, imm)


# As runtimes begin: r2 type, r3 access, r4 major, r5 minor.
PROLOGUE = b"".join(
    (
        insn(LOAD, 2, 1, 0),
        insn(AND, 2, imm=0xFFFF),
        insn(LOAD, 3, 1, 0),
        insn(RSH, 3, imm=16),
        insn(LOAD, 4, 1, 4),
        insn(LOAD, 5, 1, 8),
    )
)


def rule(kind: int, major: int, minor: int | None, access: int, verdict: int) -> bytes:
    """One rule: unless all matches, go on behind it."""
    tail = insn(MOV64, 0, imm=verdict) + insn(EXIT)
    # (~access & asked) must be 0
    check = insn(0xBC, 1, 3) + insn(AND, 1, imm=~access & 7) + insn(JNE, 1, off=2, imm=0)
    body = check + tail
    if minor is not None:
        body = insn(JNE, 5, off=len(body) // 8, imm=minor) + body
    body = insn(JNE, 4, off=len(body) // 8, imm=major) + body
    return insn(JNE, 2, off=len(body) // 8, imm=kind) + body


def program(*parts: bytes, otherwise: int = 0) -> bytes:
    return PROLOGUE + b"".join(parts) + insn(MOV64, 0, imm=otherwise) + insn(EXIT)


NULL_AND_PTS = program(rule(2, 1, 3, 7, 1), rule(2, 136, None, 6, 1))


@pytest.mark.parametrize(
    ("kind", "major", "minor", "access", "verdict"),
    [
        ("c", 1, 3, "r", True),
        ("c", 1, 3, "m", True),
        ("b", 1, 3, "r", False),
        ("c", 1, 5, "r", False),
        ("c", 136, 7, "w", True),
        ("c", 136, 7, "m", False),
        ("c", 120, 0, "r", False),
    ],
)
def test_a_program_is_asked(kind: str, major: int, minor: int, access: str, verdict: bool) -> None:
    assert allows(NULL_AND_PTS, kind, major, minor, access) is verdict


def test_rules_are_found_again() -> None:
    assert rules([NULL_AND_PTS]) == (
        DeviceRule("c", 1, 3, "rwm"),
        DeviceRule("c", 136, None, "rw"),
    )


def test_what_is_taken_from_a_wide_permission_is_said() -> None:
    code = program(rule(2, 120, 1, 7, 0), rule(2, 120, None, 7, 1))
    assert rules([code]) == (DeviceRule("c", 120, None, "rwm"), DeviceRule("c", 120, 1, ""))


def test_a_program_that_allows_everything() -> None:
    assert rules([program(otherwise=1)]) == (
        DeviceRule("c", None, None, "rwm"),
        DeviceRule("b", None, None, "rwm"),
    )


def test_several_programs_must_agree() -> None:
    only_read = program(rule(2, 1, 3, 2, 1))
    assert rules([NULL_AND_PTS, only_read]) == (DeviceRule("c", 1, 3, "r"),)
    assert rules([NULL_AND_PTS, program()]) == ()


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        (insn(0x85, imm=1) + insn(EXIT), "jump 0x80"),
        (insn(LOAD, 0, 1, 12) + insn(EXIT), "outside its context"),
        (insn(0x05, off=-1), "does not end"),
        (insn(0x05, off=9), "jumps out"),
        (b"", "jumps out"),
    ],
)
def test_what_is_not_known_is_no_verdict(code: bytes, cause: str) -> None:
    with pytest.raises(UndecodableError, match=cause):
        allows(code, "c", 1, 3, "r")
