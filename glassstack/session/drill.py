"""The session of a drill: its node's device, the programs on it, and what the device tells.

Owns which parts there are. The drill itself is drills/'s; nothing here changes it.
Nobody is traced: strace and gdb stay the person's who solves the drill.
"""

import os
import re
import threading
import time
from pathlib import Path

import psutil

from glassstack.collectors.base import Sink
from glassstack.collectors.control import Control, ControlError
from glassstack.collectors.witness import NAME, Witness
from glassstack.model.events import Event, Log, Process, Syscall
from glassstack.model.values import Source
from glassstack.session import Session
from glassstack.session.compose import watch

_LOOK_S = 0.05
_ASK_S = 0.5
_PORT = re.compile(rf"/memfd:{NAME}(?: \(deleted\))?")


class NodePrograms:
    """Programs that have a context on a device come and go; what the device tells is handed on.

    Args:
        sink: takes the events.
        device: name of the device's control socket; it may end and come back.
    """

    def __init__(self, sink: Sink, device: str) -> None:
        self._sink = sink
        self._control = Control(device)
        self._known: set[int] = set()
        self._device_pid = 0
        self._ask_at = 0.0
        self._witness: Witness | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="node", daemon=True)

    def start(self) -> None:
        """Looks for the first time, so that the session begins with what is oldest; then goes on."""
        self._sink(self._look())
        self._thread.start()

    def stop(self) -> None:
        """Ends."""
        self._stop.set()
        self._thread.join(2)
        if self._witness:
            self._witness.close()

    def _run(self) -> None:
        while not self._stop.wait(_LOOK_S):
            if events := self._look():
                self._sink(events)

    def _look(self) -> list[Event]:
        now, events = time.monotonic(), list[Event]()
        if now >= self._ask_at:
            self._ask_at = now + _ASK_S
            events += self._follow()
        if self._witness:
            events = self._told(self._witness.read()) + events
        return events

    def _told(self, batch: list[Event]) -> list[Event]:
        """The device's account with a start for each newcomer; its log is the poller's to tell."""
        events: list[Event] = []
        for event in batch:
            if isinstance(event, Syscall) and event.pid not in self._known:
                self._known.add(event.pid)
                events.append(_process(event.ts, event.pid, "start"))
            if not isinstance(event, Log):
                events.append(event)
        return events

    def _follow(self) -> list[Event]:
        try:
            status = self._control.status()
        except ControlError:
            now: set[int] = set()  # the device is gone, and no context is left
        else:
            now = {context.pid for one in status.devices for context in one.contexts}
            self._read_from(status.pid)
        ts = time.monotonic_ns()
        events: list[Event] = [_process(ts, pid, "start") for pid in sorted(now - self._known)]
        events += [_process(ts, pid, "detach") for pid in sorted(self._known - now)]
        self._known = now
        return events

    def _read_from(self, pid: int) -> None:
        """Reads the account of the device that is there now."""
        if pid == self._device_pid:
            return
        self._device_pid = pid
        if self._witness:
            self._witness.close()
        self._witness = _adopted(pid)


def _adopted(pid: int) -> Witness | None:
    """The account that a device keeps, ``None`` where it keeps none or may not be looked at."""
    try:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            if _PORT.fullmatch(os.readlink(entry)):
                return Witness.adopt(os.open(entry, os.O_RDWR | os.O_CLOEXEC))
    except OSError:
        pass
    return None


def _process(ts: int, pid: int, what: str) -> Process:
    command, ppid = "", 0
    if what == "start":
        try:
            process = psutil.Process(pid)
            command, ppid = " ".join(process.cmdline()), process.ppid()
        except psutil.Error:
            pass  # it has just ended: the number is what is left
    return Process(ts, Source.DEVICE, pid, pid, what, ppid, command)


def drill_session(device: str, title: str, record: Path | None = None) -> Session:
    """What happens on a drill's node. Raises OSError, RecordingError when ``record`` can't be written."""
    session = Session(title, record)
    session.add(lambda sink: NodePrograms(sink, device))
    watch(session, lambda: (Control(device).name,), log=True, drill=True)
    return session
