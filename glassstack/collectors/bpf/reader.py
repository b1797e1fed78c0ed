"""Moves what the kernel saw to the wire: records in bulk, counts now and then, and what was lost.

Owns the three BPF objects while they run. Knows nothing of launching and ending.
"""

import os
import time

import msgspec

from glassstack.collectors.bpf import records
from glassstack.collectors.bpf.calls import Calls
from glassstack.collectors.bpf.functions import Functions
from glassstack.collectors.bpf.launches import Following
from glassstack.collectors.bpf.options import Options
from glassstack.collectors.bpf.records import Item
from glassstack.collectors.bpf.sleeping import Sleeping
from glassstack.collectors.bpf.stacks import Stacks
from glassstack.collectors.bpf.watch import Watch
from glassstack.collectors.tracer.tracees import command_line
from glassstack.collectors.wire import WireWriter
from glassstack.model.entities import Tally
from glassstack.model.events import Calls as CallsEvent
from glassstack.model.events import Dropped, Process, Tallies
from glassstack.model.values import Source

WHERE = "the BPF ring buffer was full"
_SLOW_S, _SLOW_SYSTEM_S = 0.2, 1.0


class Reader:
    """Reads for as long as it is asked to.

    Args:
        wire: where all of it goes.
        calls, watch, functions: what is read; ``functions`` is ``None`` where none are counted.
        launched: a process whose end is told by whoever waits for it, 0 for none.
    """

    def __init__(
        self,
        options: Options,
        wire: WireWriter[Item],
        calls: Calls,
        watch: Watch,
        launched: int = 0,
    ) -> None:
        self.calls = calls
        self.watch = watch
        self.functions: Functions | None = None
        self._following: Following | None = None
        self._sleeping = Sleeping()
        self._stacks = Stacks(calls.tables) if options.stack else None
        self._options = options
        self._wire = wire
        self._launched = launched
        self._since = time.monotonic_ns()
        self._next_slow = self._next_count = 0.0
        self._in_flight: frozenset[tuple[int, int]] = frozenset()
        self._nodes = dict(records.NODES)
        self._commands: dict[int, str] = {}
        self._watched = {launched}
        """Processes of ours, those too that ended since they were last counted."""

    def count_functions(self, functions: Functions) -> None:
        """From now on functions are counted too."""
        self.functions = functions
        if not self._options.count:
            self._following = Following(functions.tables, functions.name_of, self._is_watched)
        self._since = time.monotonic_ns()

    def _is_watched(self, pid: int) -> bool:
        return self._options.system or pid in self._watched or pid in self.watch.processes

    def begun(self) -> None:
        """Says that from now on it looks: no call is in flight yet."""
        self._wire.write([CallsEvent(time.monotonic_ns(), Source.EBPF, ())])

    def turn(self) -> int:
        """Does what is due; how many bytes of records there were."""
        size = self.pump()
        self._follow()
        now = time.monotonic()
        if now >= self._next_slow:
            self._next_slow = now + (_SLOW_SYSTEM_S if self._options.system else _SLOW_S)
            self._look_around()
        if now >= self._next_count:
            self._next_count = now + self._options.period
            self._count()
        return size

    def drain(self) -> None:
        """Everything there is, for the last time."""
        while self.pump():
            pass
        self._follow()
        self._look_around()
        self._count()

    def _follow(self) -> None:
        if self._following is not None:
            events = self._following.turn()
            if events:
                self._wire.write([*events])

    def pump(self) -> int:
        """Moves one chunk from the kernel to the wire; how many bytes it was."""
        block = self.calls.read()
        if not block:
            return 0
        size = len(block)
        items = [item for item in self.watch.take(block) if self._goes_on(item)]
        self._wire.write([self._with_stacks(item) for item in items] if self._stacks else items)
        return size

    def _with_stacks(self, item: Item) -> Item:
        if self._stacks is None or not isinstance(item, records.Block):
            return item
        return msgspec.structs.replace(item, stacks=self._stacks.new_in(item.data))

    def _goes_on(self, item: Item) -> bool:
        if isinstance(item, records.Block):
            self._nodes.update(item.nodes)
            return True
        if isinstance(item, Process):
            self._watched.add(item.pid)
        return not (isinstance(item, Process) and item.what == "exit" and item.tid == self._launched)

    def _look_around(self) -> None:
        """Tells of losses and of long calls; brings the processes up to date."""
        lost = self.calls.lost() + (self.functions.lost() if self.functions else 0)
        if lost:
            self._wire.write([Dropped(time.monotonic_ns(), Source.EBPF, WHERE, lost)])
        calls = self.calls.in_flight(self._nodes)
        calls += self._sleeping.look(self.watch.processes, {call.tid for call in calls})
        keys = frozenset((call.tid, call.since) for call in calls)
        if keys != self._in_flight:
            self._in_flight = keys
            self._wire.write([CallsEvent(time.monotonic_ns(), Source.EBPF, calls)])
        self._wire.write([end for end in self.watch.sweep() if self._goes_on(end)])
        if self._options.count:
            self.watch.answer(self.calls.tables["asked"])
            self._nodes.update(self.watch.new_nodes)
        if self.functions:
            self.functions.look(sorted(self.watch.processes))

    def _count(self) -> None:
        found = self.calls.tallies(self._nodes) if self._options.count else {}
        if self.functions:
            for pid, tallies in self.functions.tallies().items():
                if self._is_watched(pid) or pid in found or pid in self._commands:
                    found.setdefault(pid, []).extend(tallies)
        self._wire.write([self._tallies(pid, tallies) for pid, tallies in sorted(found.items())])
        for pid in [pid for pid in found if not os.path.exists(f"/proc/{pid}")]:
            self._forget(pid)
        self._watched &= self.watch.processes.keys() | {self._launched}

    def _tallies(self, pid: int, tallies: list[Tally]) -> Tallies:
        """Of one process; its name is kept, for the last ones come after its end."""
        command = self._commands[pid] = command_line(pid) or self._commands.get(pid, "")
        why = self.functions.missing if self.functions else "not asked for"
        cost = self.functions.cost_ns if self.functions else 0
        now = time.monotonic_ns()
        return Tallies(now, Source.EBPF, pid, self._since, tuple(tallies), command, why, cost)

    def _forget(self, pid: int) -> None:
        self._commands.pop(pid, None)
        self._watched.discard(pid)
        if self._options.count:
            self.calls.forget(pid)
        if self.functions:
            self.functions.forget(pid)
        if self._following:
            self._following.forget(pid)

    def close(self) -> None:
        """Frees the BPF objects."""
        if self._following:
            self._following.close()
        self.calls.close()
