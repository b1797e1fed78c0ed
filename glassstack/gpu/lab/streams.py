"""The caller's end of a VM: bytes between its ports and the caller's files, until the job ends.

Owns no process and no terminal mode; the caller puts its terminal into raw mode.
"""

import contextlib
import os
import select
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from glassstack.gpu.lab.machine import Machine

ESCAPE = b"\x1d"
"""Ctrl-], three times in a row: ends the VM from a terminal whose guest does not answer."""
_ESCAPES = 3
_CHUNK = 1 << 16
_LINES_KEPT = 40


class VmEndedError(Exception):
    """The VM ended, or never came up, before the job did; one line."""


class EscapedError(Exception):
    """The caller left by the escape key."""


@dataclass(frozen=True)
class Files:
    """The caller's descriptors; ``stderr`` is not used by a job on a terminal."""

    stdin: int
    stdout: int
    stderr: int


class Streams:
    """Carries a job.

    Args:
        machine: the VM.
        files: where its input comes from and its output goes.
        terminal: whether the job has the console.
        note: called with what the guest's session says, a line each.
        boot: called for each chunk of the console before the job starts.
        ready: called with the seconds the boot took.
    """

    def __init__(
        self,
        machine: Machine,
        files: Files,
        terminal: bool,
        note: Callable[[str], None],
        ready: Callable[[float], None] = lambda _: None,
        boot: Callable[[bytes], None] = lambda _: None,
    ) -> None:
        self._machine = machine
        self._files = files
        self._note, self._told_ready, self._boot = note, ready, boot
        self._lines: deque[bytes] = deque(maxlen=_LINES_KEPT)
        self._control = b""
        self._started = time.monotonic()
        self._up = False
        self._status: int | None = None
        self._escaped = False
        self._feeder: threading.Thread | None = None
        self._over, self._end = os.pipe()
        self._input = "console" if terminal else "stdin"
        self._handlers: dict[str, Callable[[bytes], None]] = {
            "control": self._hear,
            "console": self._console_terminal if terminal else self._log,
            "stdout": lambda data: _write_all(files.stdout, data),
            "stderr": lambda data: _write_all(files.stderr, data),
        }

    def run(self, boot_s: float) -> int:
        """Carries until the job ends; its exit status.

        Args:
            boot_s: how long the boot may take.

        Raises:
            VmEndedError: the VM ended first, or did not come up in time.
            EscapedError: the caller's escape.
        """
        try:
            return self._carry(boot_s)
        finally:
            os.close(self._end)  # the feeder must not read from descriptors that are somebody else's by then
            if self._feeder:
                self._feeder.join()
            os.close(self._over)

    def _carry(self, boot_s: float) -> int:
        with selectors.DefaultSelector() as selector:
            for name, handle in self._handlers.items():
                selector.register(self._machine.ports[name], selectors.EVENT_READ, handle)
            selector.register(self._machine.errors, selectors.EVENT_READ, self._log)
            while self._status is None:
                self._step(selector, 0.2)
                if self._escaped:
                    raise EscapedError
                if not self._up and time.monotonic() > self._started + boot_s:
                    raise VmEndedError(f"the VM did not come up in {boot_s:g} s{self._last()}")
            while self._step(selector, 0):
                pass
        return self._status

    def _step(self, selector: selectors.BaseSelector, timeout: float) -> bool:
        """Moves what is there; whether there was any."""
        moved = False
        for key, _ in selector.select(timeout):
            data = _read(key.fileobj)  # type: ignore[arg-type]
            if data:
                key.data(data)
                moved = True
                continue
            selector.unregister(key.fileobj)
            if key.data == self._hear and self._status is None:
                self._drain_log(selector)
                raise VmEndedError(
                    f"the VM ended before the {'command' if self._up else 'boot'} did{self._last()}"
                )
        return moved

    def _drain_log(self, selector: selectors.BaseSelector) -> None:
        for key, _ in selector.select(0):
            if key.data == self._log:
                self._log(_read(key.fileobj))  # type: ignore[arg-type]

    def _hear(self, data: bytes) -> None:
        *lines, self._control = (self._control + data).split(b"\n")
        for line in lines:
            word, _, rest = line.decode("utf-8", "replace").partition(" ")
            if word == "ready":
                self._up = True
                self._told_ready(time.monotonic() - self._started)
                self._feeder = threading.Thread(target=self._feed, daemon=True)
                self._feeder.start()
            elif word == "note":
                self._note(rest)
            elif word == "exit":
                self._status = int(rest)

    def _console_terminal(self, data: bytes) -> None:
        if self._up:
            _write_all(self._files.stdout, data)
        else:
            self._log(data)

    def _log(self, data: bytes) -> None:
        self._boot(data)
        head, *rest = data.split(b"\n")
        if self._lines:
            self._lines[-1] += head
        else:
            self._lines.append(head)
        self._lines.extend(rest)

    def _last(self) -> str:
        """The last line that anybody said, as the end of a message; a panic's first line if there is one."""
        lines = [line.decode("utf-8", "replace").strip() for line in self._lines]
        lines = [line for line in lines if line]
        panics = [line for line in lines if "Kernel panic" in line]
        said = (panics or lines[-1:] or [""])[0]
        return f": {said[:200]}" if said else ""

    def _feed(self) -> None:
        """Input, in a thread of its own: the guest may never read it."""
        port = self._machine.ports[self._input]
        escapes = 0
        with contextlib.suppress(OSError):
            while data := self._typed():
                if self._input == "console":
                    escapes = escapes + 1 if data == ESCAPE else 0
                    if escapes == _ESCAPES or ESCAPE * _ESCAPES in data:
                        self._escaped = True
                        return
                self._send(port, data)
            port.shutdown(socket.SHUT_WR)

    def _typed(self) -> bytes:
        """What comes in next; b"" at its end, or at the job's."""
        ready, _, _ = select.select([self._files.stdin, self._over], [], [])
        return b"" if self._over in ready else os.read(self._files.stdin, _CHUNK)

    def _send(self, port: socket.socket, data: bytes) -> None:
        """All of it, unless the job ends first."""
        view = memoryview(data)
        while view:
            ready, writable, _ = select.select([self._over], [port], [])
            if ready:
                return
            if writable:
                view = view[port.send(view, socket.MSG_DONTWAIT) :]


def _read(source: socket.socket | IO[bytes]) -> bytes:
    try:
        return os.read(source.fileno(), _CHUNK)
    except ConnectionResetError:
        return b""


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
