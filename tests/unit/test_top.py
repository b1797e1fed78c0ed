"""Rows of top: rates between two looks, the busiest first, dashes for what is not known."""

from __future__ import annotations

from glassstack.cli.top_rows import HEADER, Looks
from glassstack.model.entities import Tally
from glassstack.model.events import Tallies
from glassstack.model.values import Source
from tests.unit import events as make

SECOND = make.SECOND


def tally(name: str, calls: int, library: str = "syscall", **more: int) -> Tally:
    buckets = (0,) * 10 + (calls,)
    device = "/dev/fakegpu0" if library == "syscall" else ""
    return Tally(name, library, calls, timed=calls, max_ns=1900, buckets=buckets, device=device, **more)


def tallies(ts: int, *counted: Tally, pid: int = 7, functions: str = "") -> Tallies:
    return Tallies(ts, Source.EBPF, pid, 0, counted, "train --fast", functions)


def rows(looks: Looks) -> list[dict[str, str]]:
    return [dict(zip(HEADER, row, strict=True)) for row in looks.rows()]


def test_rates_are_what_came_between_two_looks() -> None:
    before = (tally("WAIT", 100, errors=10), tally("fcuLaunchKernel", 1000, "umd"))
    after = (tally("WAIT", 150, errors=20), tally("close", 900), tally("fcuLaunchKernel", 3000, "umd"))
    looks = Looks([tallies(SECOND, *before), make.channels(SECOND, make.channel(10, 20))])
    looks.add([tallies(3 * SECOND, *after), make.channels(3 * SECOND, make.channel(30, 24))])
    (row,) = rows(looks)
    assert (row["IOCTL/S"], row["ERR/S"], row["LAUNCH/S"]) == ("25", "5", "1k")
    assert (row["BELL/S"], row["JOB/S"], row["LAG"]) == ("10", "2", "0")
    assert row["P50"] == row["P99"] == "≤1.9 µs"
    assert (row["DEVICE"], row["COMMAND"]) == ("fakegpu0", "train --fast")


def test_runtime_and_umd_count_a_launch_once() -> None:
    looks = Looks()
    counted = (tally("fcudaLaunchKernel", 500, "runtime"), tally("fcuLaunchKernel", 500, "umd"))
    looks.add([tallies(SECOND, *counted)])
    assert rows(looks)[0]["LAUNCH/S"] == "500"


def test_lag_is_how_long_a_fence_stood_still_while_work_waits() -> None:
    waiting = make.channel(5, 3, wptr=96, rptr=48, ring_size=4096, done_ns=SECOND)
    looks = Looks([make.channels(3 * SECOND, waiting)])
    assert rows(looks)[0]["LAG"] == "2 s"


def test_the_busiest_is_first_and_who_has_gone_is_gone() -> None:
    looks = Looks()
    looks.add([tallies(SECOND, tally("WAIT", 1), pid=1), tallies(SECOND, tally("WAIT", 9), pid=2)])
    assert [row["PID"] for row in rows(looks)] == ["2", "1"]
    looks.add([tallies(2 * SECOND, tally("WAIT", 1), pid=1)])
    assert [row["PID"] for row in rows(looks)] == ["1"]


def test_what_is_not_counted_is_a_dash() -> None:
    looks = Looks([tallies(SECOND, tally("WAIT", 1), functions="no process has a GPU library mapped")])
    (row,) = rows(looks)
    assert (row["LAUNCH/S"], row["BELL/S"], row["LAG"]) == ("-", "-", "-")
    looks = Looks([make.channels(SECOND, make.channel(1, 1))])
    assert rows(looks)[0]["IOCTL/S"] == "-"
