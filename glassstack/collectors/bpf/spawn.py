"""Starts a BPF process and holds the other end of its wire. Does not import bcc."""

from typing import IO

import msgspec

from glassstack.collectors.bpf import records
from glassstack.collectors.bpf.answers import Answers
from glassstack.collectors.bpf.options import Options
from glassstack.collectors.bpf.records import Item
from glassstack.collectors.helper import Helper
from glassstack.collectors.witness import Witness
from glassstack.model.events import Event, Syscall

_AGAIN_S = 0.02


def _words(options: Options) -> list[str]:
    words = [f"--pid={pid}" for pid in options.pids]
    words += [f"--runner={word}" for word in options.runner]
    words += [f"--library={path}" for path in options.libraries]
    words += [f"--period={options.period}", f"--ring-mib={options.ring_mib}"]
    if options.witness_fd >= 0:
        words.append(f"--witness-fd={options.witness_fd}")
    if options.cgroup:
        words.append(f"--cgroup={options.cgroup}")
    flags = {
        "--system": options.system,
        "--no-follow": not options.follow,
        "--any-node": options.any_node,
        "--count": options.count,
        "--functions": options.functions,
        "--stack": options.stack,
    }
    words += [flag for flag, given in flags.items() if given]
    return [*words, "--", *options.command] if options.command else words


class Probe(Helper[Item]):
    """A running BPF process.

    Args:
        options: what it does.
        stdin, stdout, stderr: for the launched program, as subprocess.Popen takes them.

    Attributes:
        process: the process itself; its exit code is 0, or why it could not begin: 1 no such process,
            4 BPF can't be used here, 125/126/127 as launchers do.
    """

    def __init__(
        self,
        options: Options,
        stdin: int | IO[bytes] | None = None,
        stdout: int | IO[bytes] | None = None,
        stderr: int | IO[bytes] | None = None,
    ) -> None:
        self._witness = Witness() if options.runner and options.command and not options.count else None
        fds = (self._witness.fd,) if self._witness else ()
        if self._witness:
            options = msgspec.structs.replace(options, witness_fd=self._witness.fd)
        super().__init__(
            "glassstack.collectors.bpf.__main__", _words(options), records.decode, stdin, stdout, stderr, fds
        )
        self._nodes = dict(records.NODES)
        self._stacks: dict[int, tuple[str, ...]] = {}
        self._answers = Answers()
        self._held: list[Event] = []
        """From the first call on whose answer the device had not told of yet."""

    def read(self, timeout: float) -> list[Event] | None:
        """Next events, waiting at most ``timeout`` seconds; ``[]`` nothing yet, ``None`` it is over."""
        batch = self.read_raw(min(timeout, _AGAIN_S) if self._held else timeout)
        if batch is None:
            rest, self._held = self._held, []
            return [self._answers.timed(event) for event in rest] or None
        events: list[Event] = []
        for item in batch:
            if isinstance(item, records.Block):
                self._nodes.update(item.nodes)
                self._stacks.update(item.stacks)
                events += records.calls_of(item.data, self._nodes, self._stacks)
            else:
                events.append(item)
        return self._with_answers(events) if self._witness else events

    def _with_answers(self, events: list[Event]) -> list[Event]:
        """What the device tells of itself, and of the calls it answered when and for how long."""
        if self._witness is None or self._witness.fd < 0:
            return events
        witnessed = self._answers.learn(self._witness.read())
        again = len(self._held)
        events, self._held = self._held + events, []
        told: list[Event] = []
        for number, event in enumerate(events):
            timed = self._answers.timed(event)
            # It writes a call down just after it was answered: the next look has it, or none will.
            if number >= again and isinstance(timed, Syscall) and timed.dur_ns is None:
                self._held = events[number:]
                break
            told.append(timed)
        return [*told, *witnessed]

    def close(self) -> int:
        """Lets go of the wire and waits for its end, which then is near; returns its exit code."""
        code = super().close()
        if self._witness:
            self._witness.close()
        return code
