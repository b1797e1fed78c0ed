"""The text of ``glassstack fences``: rates between looks, latencies, packets around the pointers."""

from __future__ import annotations

from glassstack.cli.fences import Screen
from glassstack.model.entities import Channel, Completion, Packet
from glassstack.model.events import Channels, Completions, Event, Ring
from glassstack.model.values import Source

GPU0 = "/dev/fakegpu0"
SECOND = 1_000_000_000


def channel(jobs: int, pid: int = 7, **more: int) -> Channel:
    return Channel(pid, GPU0, 1, 0, 96 * jobs + 48, 96 * jobs, jobs, jobs, jobs, ring_size=4096, **more)


def channels(ts: int, *seen: Channel) -> Channels:
    return Channels(ts, Source.POLL, seen[0].pid, seen)


def draw(screen: Screen, *events: Event, width: int = 0) -> str:
    return "\n".join(screen.draw(list(events), width))


def test_rates_are_between_two_looks() -> None:
    screen = Screen()
    assert draw(screen, channels(SECOND, channel(100))).splitlines()[1].split()[2:6] == [
        "100",
        "-",
        "100",
        "-",
    ]
    after = draw(screen, channels(3 * SECOND, channel(2100)))
    assert after.splitlines()[1].split()[2:6] == ["2,100", "1k", "2,100", "1k"]
    assert "48 B" in after


def test_two_processes_are_kept_apart() -> None:
    screen = Screen()
    draw(screen, channels(SECOND, channel(0, pid=7)), channels(SECOND, channel(1000, pid=9)))
    again = draw(screen, channels(2 * SECOND, channel(23, pid=7)), channels(2 * SECOND, channel(1000, pid=9)))
    assert [line.split()[5] for line in again.splitlines()[1:3]] == ["23", "0"]


def test_a_poisoned_channel_says_its_xid() -> None:
    assert "Xid 31" in draw(Screen(), channels(1, channel(1, error=31)))


def test_latencies_leave_out_failed_jobs_and_tell_of_lost_ones() -> None:
    jobs = tuple(Completion(n, 0, 0, 1000 * n, 1000 * n + 500, 31 if n == 99 else 0, 4) for n in range(100))
    text = draw(Screen(), Completions(1, Source.POLL, 7, GPU0, 1, jobs, 100, 23))
    (queued,) = [line for line in text.splitlines() if line.startswith("queued")]
    assert queued.split() == ["queued", "to", "start", "49", "µs", "98", "µs", "98", "µs", "99"]
    assert "23 jobs ended and were written over between two looks" in text


def test_packets_around_the_pointers() -> None:
    packets = [Packet(16 * n, "FENCE", 16, {"seqno": n}, "done" if n < 20 else "pending") for n in range(40)]
    ring = Ring(1, Source.POLL, 7, GPU0, 1, 0, 4096, 640, 320, tuple(packets))
    lines = draw(Screen(), channels(1, channel(1)), ring).splitlines()
    states = [line.split()[2] for line in lines if "FENCE" in line]
    assert states == ["done"] * 4 + ["pending"] * 4
    assert any("320 B queued of 4 KiB" in line for line in lines)


def test_nothing_to_show_says_so_and_fits() -> None:
    assert draw(Screen()) == "no channel: nothing rings a doorbell"
    missing = Channels(1, Source.POLL, 7, (), "doorbells and fences: no permission")
    assert "pid 7: missing: doorbells and fences: no permission" in draw(Screen(), missing)
    assert max(map(len, draw(Screen(), channels(1, channel(10**9)), width=80).splitlines())) <= 80
