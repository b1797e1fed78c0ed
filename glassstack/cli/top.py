"""``glassstack top``: the processes of the whole machine by device ioctls, launches and fence lag.

Owns the rows. ioctls and launches come as counts out of the kernel (eBPF),
fences from the mapped pages. Without eBPF the fences remain, and a line says why.
"""

import argparse
import sys
import time

from glassstack.cli.columns import cut, table
from glassstack.cli.pids import Watched
from glassstack.cli.repeat import add_repeat_arguments, repeat
from glassstack.cli.top_rows import HEADER, NUMBERS, Looks
from glassstack.collectors.bpf.loading import BpfError, check, warning
from glassstack.collectors.bpf.options import Options
from glassstack.collectors.bpf.spawn import Probe
from glassstack.collectors.channels import ChannelPoller
from glassstack.collectors.device import ContextIds
from glassstack.collectors.spaces import Spaces
from glassstack.model.events import Calls, Event, Failed, Tallies

_START_S = 180.0
"""Compiling takes a second or two; under emulation, many."""
_POLL_S = 0.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--once, --json, --interval."""
    add_repeat_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Shows who uses the devices."""
    counts = Counts(args.interval)
    try:
        top = Top(counts, args.interval)
        return repeat(args, top.sample, top.draw)
    finally:
        counts.close()


class Counts:
    """The BPF process, and what it counted.

    Attributes:
        why: why there are no counts, "" as long as there are.
    """

    def __init__(self, interval: float) -> None:
        self.why = ""
        self._probe: Probe | None = None
        try:
            said = warning(check())
            if said:
                print(f"glassstack: {said}", file=sys.stderr)
            options = Options(system=True, count=True, functions=True, period=min(interval, 0.5) / 2)
            self._probe = Probe(options)
        except BpfError as error:
            self._give_up(error.cause, error.remedy)

    def begin(self) -> list[Event]:
        """Waits until it looks; the counts of that moment."""
        deadline = time.monotonic() + _START_S
        found: list[Event] = []
        while self._probe and not any(isinstance(event, Calls) for event in found):
            found += self.read(min(deadline, time.monotonic() + _POLL_S))
            if time.monotonic() >= deadline:
                self._give_up("the BPF process has not begun", "try again when the machine is less busy")
        return found

    def read(self, until: float) -> list[Event]:
        """What comes until then (CLOCK_MONOTONIC s)."""
        found: list[Event] = []
        while (left := until - time.monotonic()) > 0:
            if self._probe is None:
                time.sleep(left)
                break
            batch = self._probe.read(left)
            if batch is None:
                failure = next((event for event in found if isinstance(event, Failed)), None)
                self._give_up(
                    failure.cause if failure else "the BPF process has ended",
                    failure.remedy if failure else "",
                )
                continue
            found += batch
        return found

    def _give_up(self, cause: str, remedy: str) -> None:
        self.why = f"{cause}; {remedy}" if remedy else cause
        self.close()
        print(f"glassstack: no eBPF ({self.why}): ioctls and launches are not counted", file=sys.stderr)

    def close(self) -> None:
        """Ends it."""
        if self._probe is not None:
            self._probe.stop()
            self._probe.close()
            self._probe = None


class Top:
    """Looks at fences and reads counts, an interval apart, so that the first look has rates already."""

    def __init__(self, counts: Counts, interval: float) -> None:
        self._counts = counts
        self._interval = interval
        self._looks: Looks | None = None
        self._spaces, self._watched = Spaces(id_of=ContextIds()), Watched([])
        self._pids: list[int] = []
        self._channels = ChannelPoller(lambda: self._pids, self._spaces, rings=False)

    def sample(self) -> list[Event]:
        """Counts and channels now, after having watched for the interval."""
        if self._looks is None:
            self._looks = Looks([*self._counts.begin(), *self._fences()])
        found = self._counts.read(time.monotonic() + self._interval)
        events: list[Event] = [*found, *self._fences()]
        self._looks.add(events)
        return [*self._looks.tallies(), *(event for event in events if not isinstance(event, Tallies))]

    def _fences(self) -> list[Event]:
        self._pids = self._watched.look(self._spaces.of)
        return self._channels.sample()

    def draw(self, events: list[Event], width: int) -> list[str]:
        """The table: busiest first."""
        rows = self._looks.rows() if self._looks else []
        lines = table(HEADER, rows, width, right=NUMBERS) if rows else ["no process uses a GPU"]
        if self._counts.why:
            lines += ["", f"ioctls and launches: missing: {self._counts.why}"]
        lines += self._watched.note()
        return [cut(line, width) for line in lines] if width else lines
