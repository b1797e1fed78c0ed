"""Calls that the embedded device answered: eBPF's return and the device's account made one."""

from __future__ import annotations

from typing import Any

from glassstack.collectors.bpf.answers import Answers
from glassstack.model.events import Process, Syscall
from glassstack.model.values import Source
from tests.unit.events import call, channel, channels


def seen(left: int, **more: Any) -> Syscall:
    """A call as eBPF sees it: its time is that of the return."""
    return call(left, source=Source.EBPF, dur_ns=None, fields={"size": 1}, **more)


def test_times_and_fields_come_from_the_device_and_each_answer_is_used_once() -> None:
    answers = Answers()
    assert answers.learn([call(100, dur_ns=50), call(200, dur_ns=50)]) == []
    # The device looks at its clock after the thread was let go: 150 is later than the return was.
    first, second, third = (answers.timed(seen(left)) for left in (140, 240, 300))
    assert isinstance(first, Syscall)
    assert (first.ts, first.dur_ns, first.fields, first.source) == (100, 40, {"size": 4096}, Source.EBPF)
    assert isinstance(second, Syscall)
    assert (second.ts, second.dur_ns) == (200, 40)
    assert isinstance(third, Syscall)
    assert third.dur_ns is None


def test_another_thread_call_or_result_is_no_answer() -> None:
    answers = Answers()
    answers.learn([call(100, tid=9), call(100, ret=-22), call(100, raw=5)])
    unknown = seen(140)
    assert answers.timed(unknown) is unknown


def test_what_was_lost_on_one_side_does_not_shift_the_rest() -> None:
    answers = Answers()
    answers.learn([call(100, ret=1), call(200, ret=2), call(300, ret=3)])
    found = answers.timed(seen(350, ret=3))
    assert isinstance(found, Syscall)
    assert found.ts == 300


def test_other_events_pass_and_an_ended_thread_is_forgotten() -> None:
    answers = Answers()
    progress = channels(1, channel(1, 1))
    assert answers.learn([call(100), progress]) == [progress]
    end = Process(150, Source.EBPF, 7, 7, "exit")
    assert answers.timed(end) is end
    late = seen(160)
    assert answers.timed(late) is late
    known = call(5, source=Source.EBPF, dur_ns=3)
    assert answers.timed(known) is known
