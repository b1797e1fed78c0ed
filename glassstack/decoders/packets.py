"""fakegpu's packets: the bytes of a ring or of a SUBMIT to packets of the model.

Pure, and at ease with garbage: a packet that can't be one ends the walk with
an entry that says why.
"""

import struct
from collections import deque
from collections.abc import Iterator

from glassstack.decoders import fakegpu_uapi as uapi
from glassstack.model.entities import Packet
from glassstack.model.values import Scalar

_HEAD = struct.Struct("=HHI").unpack_from
_HEAD_SIZE = 8
_BODIES = {
    op: (name, uapi.layout(kind), [field.name for field in uapi.STRUCTS[kind]][3:])
    for op, (name, kind) in uapi.OPS.items()
}
INVALID = "INVALID"
_DONE_KEPT = 16
_PENDING_KEPT = 48


def _invalid(data: bytes, at: int, why: str, state: str) -> Packet:
    rest = data[at : at + 16]
    return Packet(at, INVALID, len(rest), {"problem": why, "raw": rest.hex(" ", 4)}, state)


def _one(data: bytes, at: int, state: str) -> Packet:
    """The packet at ``at``; INVALID where the walk can't go on."""
    if len(data) - at < _HEAD_SIZE:
        return _invalid(data, at, f"{len(data) - at} bytes are no header", state)
    op, size, flags = _HEAD(data, at)
    if size < _HEAD_SIZE or size % 8:
        return _invalid(data, at, f"size {size}", state)
    if at + size > len(data):
        return _invalid(data, at, f"size {size} goes past the end", state)
    known = _BODIES.get(op)
    fields: dict[str, Scalar] = {}
    if known is None:
        name = f"op {op}"
        fields["raw"] = data[at + _HEAD_SIZE : at + min(size, 24)].hex(" ", 4)
    else:
        name, layout, names = known
        if size == layout.size:
            fields.update(zip(names, layout.unpack_from(data, at)[3:], strict=True))
            if not fields.get("pad", 1):
                del fields["pad"]
        elif op:
            fields["problem"] = f"size {size}, {name} takes {layout.size}"
    if flags:
        fields["flags"] = f"0x{flags:x} (must be 0)"
    return Packet(at, name, size, fields, state)


def walk(data: bytes, start: int = 0, end: int | None = None, state: str = "pending") -> Iterator[Packet]:
    """Packets of ``data`` from ``start`` on, up to ``end``; the first INVALID one is the last."""
    data = data if end is None else data[:end]
    at = start
    while at < len(data):
        packet = _one(data, at, state)
        yield packet
        if packet.name == INVALID:
            return
        at += packet.size


def decode_packets(data: bytes) -> list[Packet]:
    """All packets of a buffer, such as a SUBMIT's."""
    return list(walk(data))


def summary(payload: bytes, length: int) -> str:
    """The ops of a SUBMIT on one line: "FILL ×2, COPY"; "…" where ``payload`` ends before ``length``."""
    runs: list[tuple[str, int]] = []
    at = 0
    cut = len(payload) < length
    while at < len(payload):
        if len(payload) - at < _HEAD_SIZE:
            break
        op, size, _ = _HEAD(payload, at)
        if size < _HEAD_SIZE or size % 8 or (at + size > len(payload) and not cut):
            runs.append((INVALID, 1))
            cut = False
            break
        name = _BODIES[op][0] if op in _BODIES else f"op {op}"
        if runs and runs[-1][0] == name:
            runs[-1] = (name, runs[-1][1] + 1)
        else:
            runs.append((name, 1))
        at += size
    words = [name if count == 1 else f"{name} ×{count}" for name, count in runs]
    return ", ".join([*words, *(["…"] if cut else [])])


def _starts(data: bytes, end: int) -> deque[int]:
    """Where packets begin from 0 up to ``end``: the last _DONE_KEPT, by headers alone (a lap can be long)."""
    found: deque[int] = deque(maxlen=_DONE_KEPT)
    at = 0
    while at + _HEAD_SIZE <= end:
        found.append(at)
        size = _HEAD(data, at)[1]
        if size < _HEAD_SIZE or size % 8:
            break
        at += size
    return found


def decode_ring(ring: bytes, wptr: int, rptr: int, with_done: bool = True) -> tuple[Packet, ...]:
    """Packets around rptr and wptr of a whole ring, oldest first.

    Pending ones are walked from rptr on; of many the oldest and the newest are
    kept. Done ones can be told only from the start of the lap, a place where a
    packet always begins: none, once wptr has come around and written over it, or
    ``with_done`` is false.
    """
    size = len(ring)
    if not size:
        return ()
    behind = (wptr - rptr) % 2**32
    if behind > size:
        why = f"wptr is {behind} bytes ahead of rptr in a ring of {size}"
        return (Packet(rptr % size, INVALID, 0, {"problem": why}, "pending"),)
    start, end = rptr % size, rptr % size + behind
    done: list[Packet] = []
    if with_done and end <= size:
        done = [_one(ring[:start], at, "done") for at in _starts(ring, start)]
    pending = list(walk(ring, start, min(end, size)))
    if end > size and not (pending and pending[-1].name == INVALID):
        pending += walk(ring, 0, end - size)
    if len(pending) > _PENDING_KEPT:
        pending = pending[: _PENDING_KEPT // 2] + pending[-_PENDING_KEPT // 2 :]
    return (*done, *pending)
