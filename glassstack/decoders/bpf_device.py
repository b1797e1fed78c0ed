"""What a cgroup's device program allows, found out by running it. Pure.

Owns a small interpreter for BPF_PROG_TYPE_CGROUP_DEVICE programs. Whoever
built the program (minirt, crun, runc, systemd) and however, asking it is
right where matching its instructions would guess. Numbers: linux/bpf.h.
"""

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from glassstack.model.entities import DeviceRule

CHAR, BLOCK = "c", "b"
_TYPES = {BLOCK: 1, CHAR: 2}
_ACCESS = {"r": 2, "w": 4, "m": 1}
_STEPS_MAX = 4096
_OTHER = 4094
"""A major and minor that no rule names: it stands for all others."""
_WORD = 0xFFFF_FFFF
_QUAD = 0xFFFF_FFFF_FFFF_FFFF
_CONTEXT = 1 << 32
"""Where the context lies for the program; nothing else can be read."""


class UndecodableError(ValueError):
    """The program does what this interpreter does not know; the text says what."""


class _Insn(NamedTuple):
    op: int
    dst: int
    src: int
    off: int
    imm: int


def _insns(code: bytes) -> list[_Insn]:
    return [
        _Insn(op, regs & 15, regs >> 4, off, imm) for op, regs, off, imm in struct.iter_unpack("<BBhi", code)
    ]


def allows(code: bytes, kind: str, major: int, minor: int, access: str) -> bool:
    """The verdict of a program on one access ("r", "w" or "m") to one device. Raises UndecodableError."""
    return _run(_insns(code), kind, major, minor, access)


def _run(insns: Sequence[_Insn], kind: str, major: int, minor: int, access: str) -> bool:
    context = struct.pack("<III", _ACCESS[access] << 16 | _TYPES[kind], major, minor)
    regs = [0] * 11
    regs[1] = _CONTEXT
    at = 0
    for _ in range(_STEPS_MAX):
        if not 0 <= at < len(insns):
            raise UndecodableError(f"jumps out of the program, to {at}")
        insn = insns[at]
        at += 1
        group = insn.op & 7
        if insn.op == 0x95:  # exit
            return bool(regs[0] & _WORD)
        if group in (4, 7):  # ALU, ALU64
            _alu(insn, regs)
        elif group in (5, 6):  # JMP, JMP32
            at += insn.off if _jumps(insn, regs) else 0
        elif insn.op & 0xE7 == 0x61:  # LDX MEM
            regs[insn.dst] = _load(insn, regs, context)
        elif insn.op == 0x18 and insn.src == 0 and at < len(insns):  # a constant of two slots
            regs[insn.dst] = (insn.imm & _WORD) | (insns[at].imm & _WORD) << 32
            at += 1
        else:
            raise UndecodableError(f"instruction {insn.op:#04x}")
    raise UndecodableError("does not end")


def _load(insn: _Insn, regs: Sequence[int], context: bytes) -> int:
    size = {0x00: 4, 0x08: 2, 0x10: 1, 0x18: 8}[insn.op & 0x18]
    offset = regs[insn.src] + insn.off - _CONTEXT
    if not 0 <= offset <= len(context) - size:
        raise UndecodableError("reads outside its context")
    return int.from_bytes(context[offset : offset + size], "little")


def _operand(insn: _Insn, regs: Sequence[int], mask: int) -> int:
    return (regs[insn.src] if insn.op & 8 else insn.imm) & mask


def _alu(insn: _Insn, regs: list[int]) -> None:
    mask, bits = (_QUAD, 64) if insn.op & 7 == 7 else (_WORD, 32)
    left, right = regs[insn.dst] & mask, _operand(insn, regs, mask)
    match insn.op & 0xF0:
        case 0x00:
            value = left + right
        case 0x10:
            value = left - right
        case 0x40:
            value = left | right
        case 0x50:
            value = left & right
        case 0x60:
            value = left << right % bits
        case 0x70:
            value = left >> right % bits
        case 0xA0:
            value = left ^ right
        case 0xB0:
            value = right
        case other:
            raise UndecodableError(f"arithmetic {other:#04x}")
    regs[insn.dst] = value & mask


def _signed(value: int, mask: int) -> int:
    return value - mask - 1 if value > mask >> 1 else value


def _jumps(insn: _Insn, regs: Sequence[int]) -> bool:
    mask = _QUAD if insn.op & 7 == 5 else _WORD
    left, right = regs[insn.dst] & mask, _operand(insn, regs, mask)
    match insn.op & 0xF0:
        case 0x00:
            return True
        case 0x10:
            return left == right
        case 0x20:
            return left > right
        case 0x30:
            return left >= right
        case 0x40:
            return bool(left & right)
        case 0x50:
            return left != right
        case 0x60:
            return _signed(left, mask) > _signed(right, mask)
        case 0x70:
            return _signed(left, mask) >= _signed(right, mask)
        case 0xA0:
            return left < right
        case 0xB0:
            return left <= right
        case 0xC0:
            return _signed(left, mask) < _signed(right, mask)
        case 0xD0:
            return _signed(left, mask) <= _signed(right, mask)
        case other:
            raise UndecodableError(f"jump {other:#04x}")


def _compared(programs: Iterable[Sequence[_Insn]], field: int) -> set[int]:
    """The constants that the programs compare a field of the context (4: major, 8: minor) with."""
    found: set[int] = set()
    for insns in programs:
        holding: set[int] = set()
        for insn in insns:
            if insn.op & 0xE7 == 0x61:
                (holding.add if insn.off == field else holding.discard)(insn.dst)
            elif insn.op & 0xF7 in (0xB4, 0xB7):  # a move, of a register or a constant
                (holding.add if insn.op & 8 and insn.src in holding else holding.discard)(insn.dst)
            elif insn.op & 7 in (5, 6) and not insn.op & 8 and insn.dst in holding:
                found |= {insn.imm & _WORD, (insn.imm + 1) & _WORD, (insn.imm - 1) & _WORD}
    return found


def rules(codes: Sequence[bytes]) -> tuple[DeviceRule, ...]:
    """What all of the programs together allow, the widest statements first; nothing listed = denied.

    A cgroup's effective programs must all agree. Raises UndecodableError.
    """
    programs = [_insns(code) for code in codes]
    majors = sorted(_compared(programs, 4) | {_OTHER})
    minors = sorted(_compared(programs, 8) | {_OTHER})

    def access(kind: str, major: int, minor: int) -> str:
        return "".join(a for a in _ACCESS if all(_run(p, kind, major, minor, a) for p in programs))

    found: list[DeviceRule] = []
    for kind in (CHAR, BLOCK):
        everywhere = access(kind, _OTHER, _OTHER)
        if everywhere:
            found.append(DeviceRule(kind, None, None, everywhere))
        for major in majors:
            wide = access(kind, major, _OTHER)
            if wide != everywhere:
                found.append(DeviceRule(kind, major, None, wide))
            for minor in minors:
                narrow = access(kind, major, minor)
                if narrow != wide:
                    found.append(DeviceRule(kind, None if major == _OTHER else major, minor, narrow))
    return tuple(rule for rule in found if rule.access or _narrows(rule, found))


def _narrows(rule: DeviceRule, found: Sequence[DeviceRule]) -> bool:
    """Whether a denial takes something from a wider statement: else it only repeats the default."""
    return any(
        other.access and other.kind == rule.kind and other.major in (None, rule.major) and other is not rule
        for other in found
        if other.minor is None
    )
