"""A strace log as events: lines in, events out, in one pass and with bounded memory. Pure.

Owns what spans lines: unfinished calls, who forked whom, the clock. What one
call means is in calls.py.
"""

import re
from collections.abc import Sequence

from glassstack.decoders.nvidia.objects import Objects
from glassstack.decoders.strace import call, calls, grammar
from glassstack.decoders.strace.grammar import duration
from glassstack.decoders.strace.ioctls import Ioctls
from glassstack.decoders.strace.notes import Notes
from glassstack.decoders.strace.processes import BIRTHS, EXECS, Processes
from glassstack.decoders.strace.tasks import Task
from glassstack.model.entities import InFlight
from glassstack.model.events import Calls, Event, Syscall
from glassstack.model.values import Source

_DEVICE_CALLS = frozenset(calls.HANDLERS) | {"ioctl"}
_HANDLED = _DEVICE_CALLS | BIRTHS | EXECS
_PENDING_MOST = 65_536
_LINE_MOST = 32_768
_ARGS_MOST = 200
_NO_STYLE = grammar.Style(*(re.compile("(?!)") for _ in grammar.Style._fields))
_FILE = Source.FILE


def _boring(name: str, line: str, task: Task | None) -> bool:
    """Whether a line of a frequent call surely concerns no device."""
    if name in calls.LOOKS:
        return "/dev/" not in line
    if name not in ("mmap", "munmap") or task is None or task.memory.ranges:
        return False
    return name == "munmap" or ", -1, 0) = 0x" in line


class Parser:
    """A log, or one of the files of ``-ff``; feed it lines in order.

    Args:
        pid: whose calls those lines are that name nobody (0: not known).
        also: calls that are told whether they concern a device or not, with the text of their arguments.

    Attributes:
        notes: what was seen, and what such a log can't show.
    """

    def __init__(self, pid: int = 0, also: frozenset[str] = frozenset()) -> None:
        self.notes = Notes()
        self._own = pid
        self._also = also
        self._wanted = _HANDLED | also
        self._clock = grammar.Clock()
        self._objects = Objects()
        self._ioctls = Ioctls()
        self._style: grammar.Style | None = None
        self._out: list[Event] = []
        self._processes = Processes(self._out)
        self._pending: dict[int, tuple[str, str, int]] = {}
        """Unfinished calls by thread: name, arguments so far, time."""

    def feed(self, lines: Sequence[str], pid: int = 0) -> list[Event]:
        """The events of some lines. ``pid`` as in the constructor, for these lines."""
        own = pid or self._own
        notes, tasks, task_of, out = self.notes, self._processes.tasks, self._processes.task, self._out
        at, told, see = self._clock.at, self._ioctls.told, self._objects.see
        style = self._style or _NO_STYLE
        quick, begin, handled = style.ioctl.match, style.call.match, self._wanted
        plain = found_here = 0
        for line in lines:
            # By far the most calls of a CUDA program are ioctls that return 0; most others do not matter.
            found = quick(line) if "ioctl(" in line else None
            if found is None:
                found = begin(line)
                if found is not None and found[3] not in handled:
                    plain += 1
                else:
                    self._any_line(line, own)
                continue
            tid, time, head, argument, took = found.groups()
            now = at(time, None)
            task = tasks.get(int(tid or own)) or task_of(int(tid or own), now)
            made = told(task, head, argument, 0, None, now, duration(took) if took else None)
            plain += 1
            if made is not None:
                found_here += 1
                out.append(see(made) if made.name[:13] == "RM_MAP_MEMORY" else made)
        notes.lines += len(lines)
        notes.calls += plain
        notes.device_calls += found_here
        return self._taken()

    def _taken(self) -> list[Event]:
        """What was found since the last time."""
        taken = self._out.copy()
        self._out.clear()
        return taken

    def _any_line(self, line: str, own: int) -> None:
        style, notes, clock = self._style, self.notes, self._clock
        if len(line) > _LINE_MOST:
            line = line[:_LINE_MOST]  # a long write, whose name is at its beginning
        found = (style.line.match(line) if style else None) or grammar.LINE.match(line)
        if found is None:
            notes.odd(line)
            return
        pid1, pid2, time, since, name, resumed, mark = found.groups()
        if style is None:
            self._style = grammar.style_of(found)
        # Where a time stands for itself, only the lines that matter need theirs.
        now = 0 if clock.absolute else clock.at(time, since)
        tid = int(pid1 or pid2 or own)
        if name is not None and name not in self._also and self._surely_nothing(name, line, tid):
            notes.calls += 1
            return
        try:
            now = now or clock.at(time, since)
            self._rare(tid, name, resumed, mark, line[found.end() :], now)
        except (ValueError, IndexError, OverflowError):
            # It began as a line of strace's and then was none.
            notes.strange += 1

    def _surely_nothing(self, name: str, line: str, tid: int) -> bool:
        return name not in _HANDLED or _boring(name, line, self._processes.tasks.get(tid))

    def finish(self) -> list[Event]:
        """What is left at the end: calls that never returned."""
        waiting = []
        for tid, (name, args, since) in self._pending.items():
            task = self._processes.task(tid, since)
            made = (
                self._make(task, name, args, -1, None, None, since, None) if name in _DEVICE_CALLS else None
            )
            if made is not None:
                waiting.append(
                    InFlight(made.pid, tid, since, made.syscall, made.device, made.name, made.fields)
                )
        self._pending.clear()
        out = self._taken()
        if waiting:
            out.append(Calls(max(call.since for call in waiting), _FILE, tuple(waiting)))
        self.notes.clock = self._clock.kind
        self.notes.numbers = self._ioctls.numbers
        self.notes.unresolved = self._ioctls.unresolved
        return out

    # --- lines ------------------------------------------------------------

    def _call(self, tid: int, name: str, text: str, now: int, began: int) -> None:
        """A line with a call, whole or begun."""
        self.notes.calls += 1
        args, result = grammar.split(text)
        if result is None:
            self._begun(tid, name, text, began)
            return
        ret, path, failed, took = result
        if ret is None:
            return  # the thread ended in it
        if took is None and now > began:
            took = now - began
        task = self._processes.task(tid, began)
        if name in self._also:
            whole = call.Call(task, name, args, ret, None, failed, began, took)
            self._out.append(call.event(whole, "", name, {"args": args[:_ARGS_MOST]}))
        if name in _DEVICE_CALLS:
            made = self._make(task, name, args, ret, path, failed, began, took)
            if made is not None:
                self.notes.device_calls += 1
                self._out.append(made)
        elif failed is None and name in EXECS:
            self._processes.executed(task, args, began)
        elif ret > 0 and name in BIRTHS:
            self._processes.forked(task, args, ret, began)

    def _make(
        self,
        task: Task,
        name: str,
        args: str,
        ret: int,
        path: str | None,
        failed: str | None,
        ts: int,
        took: int | None,
    ) -> Syscall | None:
        if name == "ioctl":
            made = self._ioctls.event(task, args, ret, failed, ts, took)
        else:
            what = call.node(path) if path else None
            made = calls.HANDLERS[name](call.Call(task, name, args, ret, what, failed, ts, took))
            if name in ("openat", "open"):
                self.notes.opened(args, path)
        return None if made is None else self._objects.see(made)

    def _begun(self, tid: int, name: str, text: str, now: int) -> None:
        cut = grammar.UNFINISHED.search(text)
        if cut is None:
            self.notes.odd(f"{name}({text}")
            return
        if len(self._pending) >= _PENDING_MOST:
            self._pending.clear()
        args = text[: cut.start()]
        self._pending[tid] = (name, args, now)
        if name in BIRTHS:
            self._processes.begins(tid, args)

    def _rare(
        self, tid: int, name: str | None, resumed: str | None, mark: str | None, text: str, now: int
    ) -> None:
        """Any line but an ioctl's: a call, the rest of one, or a mark of strace's."""
        if name is not None:
            self._call(tid, name, text, now, now)
        elif resumed is not None:
            self._resumed(tid, resumed, text, now)
        elif mark == "+++ ":
            self._pending.pop(tid, None)
            self._processes.ended(tid, text, now)

    def _resumed(self, tid: int, name: str, text: str, now: int) -> None:
        pending = self._pending.pop(tid, None)
        self._processes.returned(tid)
        if pending is None or pending[0] != name:
            return
        _, begun, since = pending
        if text.endswith("<unfinished ...>"):
            self._pending[tid] = (name, begun + text.removesuffix("<unfinished ...>").rstrip(), since)
            return
        self.notes.calls -= 1  # its first half was counted
        if begun.endswith(","):
            begun += " "  # as strace before 5 broke its lines
        self._call(tid, name, begun + text, now, since)


def convert(parser: Parser, lines: Sequence[str]) -> list[Event]:
    """A whole small log at once."""
    return [*parser.feed(lines), *parser.finish()]
