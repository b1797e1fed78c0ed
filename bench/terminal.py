"""A program in a pseudo-terminal: counts what it writes, types keys, waits for bytes.

Reads raw bytes on a thread of its own and draws nothing: drawing would cost
more than what is measured.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from types import TracebackType

from harness import ROOT, MissingError

#: What a good terminal says of itself; SSH_CONNECTION is taken away unless given.
TERMINAL = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
_KEPT = 1 << 20


class Terminal:
    """Starts ``command`` in a terminal of ``columns`` × ``lines``; leaving ends it."""

    def __init__(
        self, command: Sequence[str], columns: int, lines: int, environ: Mapping[str, str] | None = None
    ) -> None:
        environment = {k: v for k, v in os.environ.items() if k not in ("SSH_CONNECTION", "NO_COLOR")}
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.process = subprocess.Popen(
            list(command),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment | TERMINAL | dict(environ or {}),
            cwd=ROOT,
            start_new_session=True,
        )
        os.close(slave)
        self.total = 0
        """Bytes written so far."""
        self._tail = bytearray()
        self._changed = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._drain, daemon=True)
        self._thread.start()

    def _drain(self) -> None:
        while True:
            select.select([self._master], [], [])
            try:
                data = os.read(self._master, 1 << 16)
            except OSError:
                data = b""
            with self._changed:
                self.total += len(data)
                self._tail += data
                del self._tail[:-_KEPT]
                self._ended = not data
                self._changed.notify_all()
            if not data:
                return

    def send(self, keys: bytes) -> None:
        """Sends keys; what came before is forgotten, so that wait_for sees the answer only."""
        with self._changed:
            self._tail.clear()
        os.write(self._master, keys)

    def wait_for(self, text: bytes, timeout: float = 5.0) -> float:
        """Waits until ``text`` was written; returns the moment (perf_counter). Raises MissingError."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while text not in self._tail:
                left = deadline - time.monotonic()
                if left <= 0 or self._ended:
                    why = "ended" if self._ended else f"did not write {text!r} in {timeout:g} s"
                    raise MissingError(f"the program in the terminal {why}: {bytes(self._tail[-300:])!r}")
                self._changed.wait(left)
            return time.perf_counter()

    def settle(self, seconds: float) -> None:
        """Lets it run; raises MissingError when it ends meanwhile."""
        with self._changed:
            if self._changed.wait_for(lambda: self._ended, seconds):
                raise MissingError(f"the program in the terminal ended: {bytes(self._tail[-300:])!r}")

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, number)
            try:
                self.process.wait(timeout=5)
                break
            except subprocess.TimeoutExpired:
                continue
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self._thread.join(timeout=1)
        os.close(self._master)
