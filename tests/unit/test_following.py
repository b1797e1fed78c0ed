"""A launch and the job whose fence covers it: found by numbers and times, and never guessed."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from glassstack.collectors.bpf import following
from glassstack.collectors.bpf.following import SAID, Follower, Made, Place, last_fence
from glassstack.model.entities import Completion, Launch

PLACE = Place(7, "/dev/fakegpu0", 1, 2)
RING = 4096


def launch(called: int = 1000, returned: int = 1100, wptr: int | None = 512) -> Launch:
    return Launch(8, "fcuLaunchKernel", called, returned, wptr=wptr)


def by_ring(after: int | None = 4, drained: bool = True, **more: int) -> Made:
    return Made(7, launch(**more), PLACE, after, drained)


def completion(
    seqno: int, queued: int, start: int, done: int, channel: int = 2, status: int = 0
) -> Completion:
    return Completion(seqno, channel, queued, start, done, status, 0)


def told(follower: Follower, now: int = 5000) -> list[Launch]:
    return [one for _, one in follower.take(now)]


def complete(follower: Follower, *entries: Completion, pid: int = 7) -> None:
    follower.completed(pid, "/dev/fakegpu0", 1, entries)


def test_the_first_fence_behind_its_packet_is_its_own() -> None:
    follower = Follower()
    follower.made(by_ring(after=4))
    complete(
        follower, completion(4, 900, 950, 1050), completion(5, 1200, 1300, 1400), completion(6, 1, 1, 9999)
    )
    (found,) = told(follower)
    assert (found.via, found.seqno, found.channel) == ("ring", 5, 2)
    assert (found.doorbell_ns, found.start_ns, found.done_ns) == (1200, 1300, 1400)
    assert found.by == "completion ring"
    assert not found.note
    assert not follower.waiting


def test_another_channel_context_or_process_is_not_its_own() -> None:
    follower = Follower()
    follower.made(by_ring())
    complete(follower, completion(5, 1200, 1300, 1400, channel=1))
    complete(follower, completion(5, 1200, 1300, 1400), pid=9)
    follower.completed(7, "/dev/fakegpu0", 99, [completion(5, 1200, 1300, 1400)])
    assert not told(follower)
    assert len(follower.waiting) == 1


def test_a_launch_that_joins_a_job_has_a_start_before_it_and_no_doorbell_of_its_own() -> None:
    follower = Follower()
    follower.made(by_ring())
    complete(follower, completion(5, 700, 800, 1400))
    (found,) = told(follower)
    assert (found.doorbell_ns, found.start_ns, found.done_ns) == (None, 800, 1400)


@pytest.mark.parametrize(
    ("drained", "queued", "seen"), [(True, 1050, 1050), (False, 1050, None), (False, 1100, 1100)]
)
def test_a_doorbell_seen_while_the_call_lasted_is_its_own_only_where_nothing_was_queued(
    drained: bool, queued: int, seen: int | None
) -> None:
    follower = Follower()
    follower.made(by_ring(drained=drained))
    complete(follower, completion(5, queued, 1150, 1400))
    assert told(follower)[0].doorbell_ns == seen


def test_a_fence_that_escaped_is_not_replaced_by_the_next() -> None:
    follower = Follower()
    follower.made(by_ring(after=4))
    complete(follower, completion(9, 1200, 1300, 1400))
    (found,) = told(follower)
    assert found.done_ns is None
    assert "overwritten" in found.note


def test_without_a_fence_it_is_told_when_patience_ends_with_the_reason() -> None:
    follower = Follower()
    follower.made(by_ring())
    follower.made(Made(7, launch(wptr=None)))
    assert not told(follower, 1100 + following.PATIENCE_NS)
    found = told(follower, 1101 + following.PATIENCE_NS)
    assert [one.done_ns for one in found] == [None, None]
    assert found[0].note == "no fence within 1000 ms"
    assert found[1].note == "no doorbell moved and no job was queued by it"


def test_a_submit_is_the_job_that_was_queued_while_the_call_lasted() -> None:
    follower = Follower()
    follower.made(Made(7, launch(1000, 1100, None)))
    follower.made(Made(7, launch(2000, 2100, None)))
    complete(follower, completion(1, 1050, 1060, 1500), completion(2, 2050, 2060, 2500))
    first, second = told(follower)
    assert (first.via, first.seqno, first.doorbell_ns) == ("submit", 1, 1050)
    assert (second.via, second.seqno, second.done_ns) == ("submit", 2, 2500)


def test_a_launch_whose_channel_was_not_known_is_not_taken_for_a_submit() -> None:
    follower = Follower()
    unknown = Launch(8, "fcuLaunchKernel", 1000, 1100, note="its channel was not known yet")
    follower.made(Made(7, unknown))
    complete(follower, completion(1, 1050, 1060, 1500))
    assert not told(follower)
    assert len(follower.waiting) == 1


def test_tracepoints_give_each_stage() -> None:
    follower = Follower()
    follower.made(by_ring(wptr=512))
    follower.doorbell(PLACE, 900, 512)  # before the call: another lap's
    follower.doorbell(PLACE, 1150, 480)  # not as far as its packet
    follower.doorbell(PLACE, 1200, 544)
    follower.started(PLACE, 1300, 5)
    follower.signalled(PLACE, 1400, 5)
    (found,) = told(follower)
    assert (found.doorbell_ns, found.start_ns, found.done_ns, found.seqno) == (1200, 1300, 1400, 5)
    assert found.by == "tracepoints"


def test_tracepoints_name_the_submit_by_its_thread() -> None:
    follower = Follower()
    follower.made(Made(7, launch(1000, 1100, None)))
    follower.submitted(8, 1020, Place(7, "/dev/fakegpu0", 1, 77), 3)
    follower.submitted(9, 1030, Place(7, "/dev/fakegpu0", 1, 77), 4)
    follower.signalled(PLACE, 1300, 4)
    assert not told(follower)
    follower.signalled(PLACE, 1400, 3)
    (found,) = told(follower)
    assert (found.via, found.seqno, found.doorbell_ns, found.channel) == ("submit", 3, 1020, 2)


def test_a_fault_ends_every_launch_of_its_context() -> None:
    follower = Follower()
    follower.made(by_ring())
    follower.made(Made(7, launch(), PLACE._replace(context=2), 4))
    follower.faulted(PLACE._replace(channel=0), 1300, 31)
    (found,) = told(follower)
    assert found.status == 31
    assert "Xid 31" in found.note
    assert len(follower.waiting) == 1


def fence(seqno: int) -> bytes:
    return struct.pack("=HHIQ", 5, 16, 0, seqno)


def nop(size: int) -> bytes:
    return struct.pack("=HHI", 0, size, 0).ljust(size, b"\0")


def test_the_last_fence_queued_is_found_over_the_end_of_the_ring() -> None:
    ring = bytearray(RING)
    rptr = 3 * RING - 32
    packets = [nop(16), fence(8), nop(24), fence(9), nop(8)]
    at = rptr
    for packet in packets:
        ring[at % RING : at % RING + len(packet)] = packet
        at += len(packet)
    assert last_fence(bytes(ring), rptr, at) == 9
    assert last_fence(bytes(ring), rptr, rptr) is None
    assert last_fence(bytes(ring), rptr, rptr + 16) is None
    with pytest.raises(ValueError, match="no packets"):
        last_fence(bytes(ring), rptr, at + 8)


def test_positions_are_compared_modulo_the_pointers_width() -> None:
    assert following.covers(0x10, 0xFFFFFFF0)
    assert not following.covers(0xFFFFFFF0, 0x10)
    assert following.covers(64, 64)


def test_the_record_is_that_of_the_program() -> None:
    source = (Path(following.__file__).parent / "uprobes.bpf.c").read_text()
    body = source.split("struct said {")[1].split("}")[0]
    names = [line.split()[1].rstrip(";") for line in body.splitlines() if line.strip().startswith("u")]
    assert tuple(names) == following.Said._fields
    words = {"u64": "Q", "u32": "I"}
    layout = "".join(words[line.split()[0]] for line in body.splitlines() if line.strip().startswith("u"))
    assert struct.calcsize("<8x" + layout) == SAID.size
