"""``glassstack fences [PID…]``: doorbells, fences, rings and ended jobs, seen from outside the process.

Owns the text; reading is the collectors'.
"""

import argparse
from collections import deque

from glassstack.cli.columns import cut, table
from glassstack.cli.pids import Watched, add_pids_argument
from glassstack.cli.repeat import add_repeat_arguments, repeat
from glassstack.collectors.channels import ChannelPoller
from glassstack.collectors.completions import CompletionPoller
from glassstack.collectors.device import ContextIds
from glassstack.collectors.spaces import Spaces
from glassstack.format import fields, units
from glassstack.model.entities import Channel, Completion
from glassstack.model.events import Channels, Completions, Event, Ring

CHANNELS = (
    "PID",
    "CH",
    "DOORBELLS",
    "/S",
    "JOBS",
    "/S",
    "SEQNO",
    "QUEUED",
    "LAST END",
    "STATE",
    "DEVICE",
    "CTX",
)
JOBS = ("LATENCY", "P50", "P99", "MAX", "JOBS")
PACKETS_SHOWN = 8
_KEPT = 4096

Key = tuple[int, str, int, int]
"""Two devices may both call a context by the same number: the process tells them apart."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """PID…, --once, --json, --interval."""
    add_pids_argument(parser)
    add_repeat_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Shows the channels of the named processes, or of all that map a GPU."""
    spaces, watched, screen = Spaces(id_of=ContextIds()), Watched(args.pids), Screen()
    pids: list[int] = []
    channels, completions = ChannelPoller(lambda: pids, spaces), CompletionPoller(lambda: pids, spaces)

    def sample() -> list[Event]:
        pids[:] = watched.look(spaces.of)
        return [*channels.sample(), *completions.sample()]

    return repeat(args, sample, lambda events, width: [*screen.draw(events, width), *watched.note()])


class Screen:
    """Draws looks; remembers the last one for the rates, and the newest jobs."""

    def __init__(self) -> None:
        self._last: dict[Key, tuple[int, Channel]] = {}
        self._jobs: deque[Completion] = deque(maxlen=_KEPT)
        self._rings: dict[Key, Ring] = {}
        self._lost = 0

    def draw(self, events: list[Event], width: int) -> list[str]:
        """Channels, latencies, then the packets around each ring's pointers."""
        for event in events:
            if isinstance(event, Completions):
                self._jobs.extend(event.entries)
                self._lost += event.lost
            elif isinstance(event, Ring):
                self._rings[(event.pid, event.device, event.context, event.channel)] = event
        seen = [event for event in events if isinstance(event, Channels)]
        rows = [self._row(event.ts, channel) for event in seen for channel in event.channels]
        lines = (
            table(CHANNELS, rows, width, right=range(9)) if rows else ["no channel: nothing rings a doorbell"]
        )
        lines += [f"pid {event.pid}: missing: {event.missing}" for event in seen if event.missing]
        self._last = {_key(c): (event.ts, c) for event in seen for c in event.channels}
        lines += self._latencies(width)
        for key in self._last:
            lines += _ring(self._rings[key], width) if key in self._rings else []
        return [cut(line, width) for line in lines] if width else lines

    def _row(self, ts: int, c: Channel) -> tuple[str, ...]:
        then, before = self._last.get(_key(c), (ts, c))
        seconds = (ts - then) / 1e9
        rates = ("-", "-")
        if seconds > 0:
            rates = (
                units.rate((c.doorbells - before.doorbells) / seconds),
                units.rate((c.jobs - before.jobs) / seconds),
            )
        return (
            str(c.pid),
            str(c.index),
            units.grouped(c.doorbells),
            rates[0],
            units.grouped(c.jobs),
            rates[1],
            units.grouped(c.seqno),
            units.size((c.wptr - c.rptr) % 2**32) if c.ring_size else "-",
            f"{units.duration(max(0, ts - c.done_ns))} ago" if c.done_ns else "-",
            f"Xid {c.error}" if c.error else "ok",
            c.device.removeprefix("/dev/"),
            str(c.context),
        )

    def _latencies(self, width: int) -> list[str]:
        good = [job for job in self._jobs if not job.status]
        if not good:
            return []
        rows = [
            _spread("queued to start", [job.start_ns - job.queued_ns for job in good]),
            _spread("start to done", [job.done_ns - job.start_ns for job in good]),
        ]
        lost = [f"{self._lost} jobs ended and were written over between two looks"] if self._lost else []
        return ["", *table(JOBS, rows, width, right=range(1, 5)), *lost]


def _key(channel: Channel) -> Key:
    return channel.pid, channel.device, channel.context, channel.index


def _spread(name: str, values: list[int]) -> tuple[str, ...]:
    values.sort()
    marks = (values[len(values) // 2], values[min(len(values) - 1, len(values) * 99 // 100)], values[-1])
    return name, *(units.duration(value) for value in marks), str(len(values))


def _ring(ring: Ring, width: int) -> list[str]:
    """The newest done packets and the oldest pending ones."""
    done = [packet for packet in ring.packets if packet.state == "done"]
    pending = [packet for packet in ring.packets if packet.state != "done"]
    shown = [*done[-max(PACKETS_SHOWN // 2, PACKETS_SHOWN - len(pending)) :], *pending][:PACKETS_SHOWN]
    rows = [(str(p.position), p.name, p.state, fields.line(p.fields)) for p in shown]
    queued = units.size((ring.wptr - ring.rptr) % 2**32)
    title = f"ring {ring.channel} of pid {ring.pid}: {queued} queued of {units.size(ring.size)}"
    numbers = f"wptr {ring.wptr} rptr {ring.rptr}"
    return ["", f"{title}, {numbers}", *table(("AT", "PACKET", "STATE", "FIELDS"), rows, width, right=(0,))]
