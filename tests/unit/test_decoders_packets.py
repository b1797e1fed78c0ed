"""Packets, rings and shared pages: what is written as the header says must be read the same."""

from __future__ import annotations

import random
import struct

import pytest

from glassstack.decoders import pages
from glassstack.decoders.packets import INVALID, decode_packets, decode_ring, summary
from glassstack.model.entities import Completion, Packet
from glassstack.model.values import Scalar

FILL = struct.pack("<HHIIIQQ", 1, 32, 0, 3, 0xAB, 64, 128)
FENCE = struct.pack("<HHIQ", 5, 16, 0, 23)
ROWS = [
    (FILL, "FILL", {"handle": 3, "value": 0xAB, "offset": 64, "length": 128}),
    (
        struct.pack("<HHIIIQQQ", 2, 40, 0, 3, 4, 8, 16, 24),
        "COPY",
        {"src": 3, "dst": 4, "src_offset": 8, "dst_offset": 16, "length": 24},
    ),
    (
        struct.pack("<HHIIIIIQQQ", 3, 48, 0, 1, 2, 3, 100, 8, 16, 24),
        "VECADD",
        {"a": 1, "b": 2, "c": 3, "count": 100, "a_offset": 8, "b_offset": 16, "c_offset": 24},
    ),
    (struct.pack("<HHIQ", 4, 16, 0, 5000), "DELAY", {"ns": 5000}),
    (FENCE, "FENCE", {"seqno": 23}),
    (struct.pack("<HHIII", 6, 16, 0, 31, 0), "FAULT", {"xid": 31}),
    (struct.pack("<HHII", 0, 24, 0, 0) + bytes(12), "NOP", {}),
]


@pytest.mark.parametrize(("data", "name", "fields"), ROWS, ids=[row[1] for row in ROWS])
def test_each_packet(data: bytes, name: str, fields: dict[str, Scalar]) -> None:
    assert decode_packets(data) == [Packet(0, name, len(data), fields)]


def test_packets_follow_each_other() -> None:
    found = decode_packets(b"".join(row[0] for row in ROWS))
    assert [packet.name for packet in found] == [row[1] for row in ROWS]
    assert [packet.position for packet in found] == [0, 32, 72, 120, 136, 152, 168]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (struct.pack("<HHI", 1, 0, 0), "size 0"),
        (struct.pack("<HHI", 1, 12, 0) + bytes(8), "size 12"),
        (struct.pack("<HHI", 1, 64, 0), "size 64 goes past the end"),
        (b"abc", "3 bytes are no header"),
    ],
)
def test_what_is_no_packet_ends_the_walk(data: bytes, problem: str) -> None:
    *before, last = decode_packets(FILL + data)
    assert [packet.name for packet in before] == ["FILL"]
    assert (last.name, last.fields["problem"]) == (INVALID, problem)


def test_oddities_are_shown_and_passed() -> None:
    unknown = struct.pack("<HHIQ", 99, 16, 7, 1)
    short = struct.pack("<HHI", 1, 8, 0)
    found = decode_packets(unknown + short + FENCE)
    assert [packet.name for packet in found] == ["op 99", "FILL", "FENCE"]
    assert found[0].fields["flags"] == "0x7 (must be 0)"
    assert found[1].fields == {"problem": "size 8, FILL takes 32"}


def test_a_ring_shows_done_and_pending_packets() -> None:
    ring = (FILL + FENCE) * 4 + bytes(256 - 4 * 48)
    found = decode_ring(ring, wptr=256 * 5 + 192, rptr=256 * 5 + 96)
    assert [(packet.name, packet.state) for packet in found] == [
        *[("FILL", "done"), ("FENCE", "done")] * 2,
        *[("FILL", "pending"), ("FENCE", "pending")] * 2,
    ]
    assert [packet.position for packet in found] == [0, 32, 48, 80, 96, 128, 144, 176]


def test_pending_packets_over_the_rings_end() -> None:
    tail = 256 - 32
    ring = bytearray(256)
    ring[tail:] = FILL
    ring[:16] = FENCE
    found = decode_ring(bytes(ring), wptr=256 + 16, rptr=tail)
    assert [(packet.position, packet.name, packet.state) for packet in found] == [
        (tail, "FILL", "pending"),
        (0, "FENCE", "pending"),
    ]


def test_counters_wrap_at_32_bits() -> None:
    ring = bytes(32) + FENCE + bytes(208)
    (fence,) = [p for p in decode_ring(FILL + ring[32:], 48, 32) if p.state == "pending"]
    assert fence.name == "FENCE"
    (fence,) = [p for p in decode_ring(bytes(240) + FENCE, 0, 2**32 - 16) if p.state == "pending"]
    assert (fence.name, fence.position) == ("FENCE", 240)


def test_a_full_and_an_empty_ring() -> None:
    ring = FENCE * 16
    assert len(decode_ring(ring, wptr=256, rptr=0)) == 16
    assert {packet.state for packet in decode_ring(ring, wptr=256, rptr=0)} == {"pending"}
    assert decode_ring(ring, wptr=256, rptr=256) == ()
    assert decode_ring(b"", wptr=8, rptr=0) == ()


def test_of_many_packets_the_ends_are_kept() -> None:
    ring = FENCE * 1024
    found = decode_ring(ring, wptr=16 * 1000, rptr=16 * 500)
    assert [packet.position for packet in found if packet.state == "done"] == list(range(16 * 484, 8000, 16))
    pending = [packet.position for packet in found if packet.state == "pending"]
    assert (pending[0], pending[-1], len(pending)) == (8000, 16 * 999, 48)


def test_a_wptr_too_far_ahead_is_said() -> None:
    (packet,) = decode_ring(FENCE * 16, wptr=1000, rptr=0)
    assert packet.name == INVALID
    assert packet.fields["problem"] == "wptr is 1000 bytes ahead of rptr in a ring of 256"


def test_random_bytes_never_raise() -> None:
    chance = random.Random(23)
    for _ in range(4000):
        data = chance.randbytes(chance.randrange(300))
        decode_packets(data)
        summary(data, chance.randrange(400))
        decode_ring(data, chance.getrandbits(32), chance.choice((0, chance.getrandbits(32))))
        pages.decode_doorbells(data)
        pages.decode_fences(data)
        pages.decode_completion_head(data)
        pages.decode_completion(data)


def test_shared_pages() -> None:
    doorbells = struct.pack("<I60x", 48) + struct.pack("<I60x", 96)
    assert pages.decode_doorbells(doorbells) == [48, 96]
    page = struct.pack("<QIIQQQ24x", 23, 48, 31, 5, 6, 999) + bytes(64)
    first, second = pages.decode_fences(page)
    assert first == (23, 48, 31, 5, 6, 999)
    assert first.used
    assert not second.used
    assert len(pages.decode_doorbells(bytes(4096))) == 32


def test_completions() -> None:
    head = pages.decode_completion_head(struct.pack("<IIQ48x", 1023, 64, 23))
    assert head == (1023, 64, 23)
    assert head is not None
    assert head.valid
    assert pages.decode_completion_head(b"short") is None
    for entries, size in ((0, 64), (1024, 64), (10, 8), (2**32 - 1, 2**32 - 1)):
        assert not pages.CompletionHead(entries, size, 0).valid
    entry = struct.pack("<QQQQIIQ16x", 23, 1, 2, 3, 4, 0, 4096)
    assert pages.decode_completion(entry) == Completion(23, 4, 1, 2, 3, 0, 4096)
