"""A program on a terminal of its own (a pty): its output is handed on, its input queued.

Owns the pty, the process and the thread that moves bytes between them. Knows
nothing of what the bytes mean. A flood of output is slowed down, by the pty
itself, to a share of one core; a program that does not read makes nobody wait.
"""

import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence

_CHUNK = 8 << 10
_SHARE = 0.3  # of one core, for whoever takes the output
_BURST_S = 0.01
_END_S = 1.0


class Console:
    """Runs a command on a pty.

    Args:
        words, environ: the command and its environment.
        size: columns and lines of the terminal.
        output: takes what the program writes, in a thread of this class.
        ended: told in that thread, once, how the program ended.

    Raises:
        OSError: there is no pty, or the program can't be started.
    """

    def __init__(
        self,
        words: Sequence[str],
        environ: Mapping[str, str],
        size: tuple[int, int],
        output: Callable[[bytes], None],
        ended: Callable[[str], None],
    ) -> None:
        self._output, self._ended = output, ended
        self._master, slave = os.openpty()
        try:
            self.resize(*size)
            self._process = subprocess.Popen(
                # A terminal that controls: ctrl-C and hang-up reach the program as signals.
                ["setsid", "--ctty", *words],
                stdin=slave,
                stdout=slave,
                stderr=slave,
                env=environ,
            )
        except BaseException:
            os.close(self._master)
            raise
        finally:
            os.close(slave)
        os.set_blocking(self._master, False)
        self._end = os.pidfd_open(self._process.pid)
        self._wake = os.eventfd(0)
        self._lock = threading.Lock()
        self._typed = bytearray()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="console", daemon=True)
        self._thread.start()

    def write(self, data: bytes) -> None:
        """Types; returns at once."""
        with self._lock:
            self._typed += data
        self._nudge()

    def resize(self, columns: int, lines: int) -> None:
        """Another size of the terminal; the program is told by the kernel."""
        with contextlib.suppress(OSError, ValueError):  # it has ended
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("4H", lines, columns, 0, 0))

    def close(self) -> None:
        """Hangs up, and ends what does not end by that. Idempotent."""
        if self._closing:
            return
        self._closing = True
        self._nudge()
        self._thread.join(3)

    def _nudge(self) -> None:
        with contextlib.suppress(OSError):
            os.eventfd_write(self._wake, 1)

    def _run(self) -> None:
        while not self._closing:
            with self._lock:
                writing = [self._master] if self._typed else []
            ready, room, _ = select.select([self._master, self._wake, self._end], writing, [])
            if self._wake in ready:
                os.eventfd_read(self._wake)
            if room:
                self._type()
            if self._master in ready and self._hand_on():
                continue
            if self._end in ready or self._master in ready:
                break
        self._finish()

    def _type(self) -> None:
        with self._lock, contextlib.suppress(OSError):
            del self._typed[: os.write(self._master, self._typed)]

    def _hand_on(self) -> bool:
        """Passes on some output; false when there is none any more."""
        try:
            data = os.read(self._master, _CHUNK)
        except BlockingIOError:
            return True
        except OSError:  # EIO: nobody has the terminal open
            return False
        began = time.monotonic()
        self._output(data)
        busy = time.monotonic() - began
        if busy > _BURST_S:
            select.select([self._wake], [], [], busy * (1 / _SHARE - 1))
        return bool(data)

    def _finish(self) -> None:
        master, self._master = self._master, -1
        os.close(master)
        status = self._reap()
        os.close(self._end)
        if not self._closing:
            self._ended(_words(status))

    def _reap(self) -> int:
        """The process ends by the hang-up, or else by SIGKILL."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(_END_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        return self._process.wait()


def _words(status: int) -> str:
    if status < 0:
        return f"ended by {signal.Signals(-status).name}"
    return f"ended, exit status {status}"
