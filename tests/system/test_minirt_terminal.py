"""A command on a terminal: its own pair, the caller's size, ^C, and the caller's terminal as it was."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tests.support import eventually
from tests.system.minirt_lab import STUCK, Runtime


@dataclass
class Caller:
    """A terminal with minirt on it.

    Attributes:
        master: what a person types into and sees.
        process: minirt.
        before: how the terminal was set.
        said: what was seen so far.
    """

    master: int
    peer: int
    process: subprocess.Popen[str]
    before: list[object]
    said: str = field(default="")

    def wait_for(self, text: str) -> None:
        """Until ``text`` has been seen; what was seen before it is forgotten."""

        def seen() -> bool:
            os.set_blocking(self.master, False)
            with contextlib.suppress(OSError):  # nothing there, or nobody any more
                self.said += os.read(self.master, 65536).decode()
            return text in self.said

        eventually(seen)
        self.said = self.said.partition(text)[2]

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())


def resize(fd: int, rows: int, columns: int) -> None:
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))


@pytest.fixture
def call(containers: Runtime) -> Iterator[object]:
    """Starts minirt on a terminal of 31 × 97."""
    callers: list[Caller] = []

    def start(verb: str, *words: str) -> Caller:
        master, peer = pty.openpty()
        resize(master, 31, 97)
        given = containers.options() | {"stdin": peer, "stdout": peer, "stderr": peer}
        os.fchmod(peer, 0o666)
        before = termios.tcgetattr(peer)
        process = subprocess.Popen(containers.command(verb, *words), start_new_session=True, **given)
        callers.append(Caller(master, peer, process, before))
        return callers[-1]

    yield start
    for caller in callers:
        caller.process.kill()
        caller.process.wait(STUCK)
        os.close(caller.master)
        os.close(caller.peer)


def test_the_command_has_a_terminal_of_the_container(containers: Runtime, call) -> None:  # type: ignore[no-untyped-def]
    caller = call("run", str(containers.root), "/guest", "tty")
    caller.wait_for("stdin=1 stdout=1 name=/dev/pts/0")
    assert caller.process.wait(STUCK) == 0


def test_signals_and_size_come_through_the_terminal(containers: Runtime, call) -> None:  # type: ignore[no-untyped-def]
    caller = call("run", "--id", "tty", str(containers.root), "/guest", "signals")
    caller.wait_for("ready")
    containers.running("tty")
    raw = termios.tcgetattr(caller.peer)
    assert not raw[3] & (termios.ICANON | termios.ECHO | termios.ISIG), "the caller's terminal is not raw"
    caller.type("\x03")
    caller.wait_for("2\r\n")
    caller.type("\x1c")
    caller.wait_for("3\r\n")
    resize(caller.master, 20, 70)
    caller.process.send_signal(28)  # as the kernel does for whoever has the terminal
    caller.wait_for("28\r\n")
    containers.call("kill", "tty", "TERM")
    caller.wait_for("15\r\n")
    assert caller.process.wait(STUCK) == 0
    assert termios.tcgetattr(caller.peer) == caller.before


def test_exec_gets_a_terminal_of_its_own(containers: Runtime, call) -> None:  # type: ignore[no-untyped-def]
    containers.start("--id", "one", "--", "/guest", "sleep", "60")
    containers.running("one")
    caller = call("exec", "one", "/guest", "tty")
    caller.wait_for("stdin=1 stdout=1 name=/dev/pts/")
    assert caller.process.wait(STUCK) == 0


def test_without_a_terminal_there_is_none(containers: Runtime, call) -> None:  # type: ignore[no-untyped-def]
    assert containers.ok("/guest", "tty") == "stdin=0 stdout=0 name=none\n"
    caller = call("run", "--no-tty", str(containers.root), "/guest", "true")
    assert caller.process.wait(STUCK) == 0
