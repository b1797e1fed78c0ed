"""Whatever ends first, nobody is left stuck: signals, detaching, killed tracers, killed readers."""

from __future__ import annotations

import mmap
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import tracing

pytestmark = pytest.mark.ptrace

Eventually = Callable[..., Any]


class Counter:
    """The page in which trace_counter counts its rounds and signals."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(4096))
        with path.open("r+b") as file:
            self._words = memoryview(mmap.mmap(file.fileno(), 4096)).cast("Q")

    @property
    def rounds(self) -> int:
        return self._words[0]

    @property
    def interrupts(self) -> int:
        return self._words[1]

    @property
    def user_signals(self) -> int:
        return self._words[2]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tracing.build("trace_counter.c", tmp_path_factory.mktemp("counter"))


@pytest.fixture
def counter(tmp_path: Path) -> Counter:
    return Counter(tmp_path / "page")


@pytest.fixture
def running(program: Path, tmp_path: Path, counter: Counter, eventually: Eventually) -> Iterator[int]:
    """A program with three threads that runs untraced; its pid."""
    with subprocess.Popen([program, tmp_path / "page", "3"]) as process:
        eventually(lambda: counter.rounds > 3)
        yield process.pid
        process.kill()


def status(pid: int, key: str) -> str:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.split(":", 1)[1].strip() for line in lines if line.startswith(f"{key}:"))


def goes_on(counter: Counter, eventually: Eventually) -> None:
    seen = counter.rounds
    eventually(lambda: counter.rounds > seen + 5)


def tracer_of(command: subprocess.Popen[str], eventually: Eventually) -> int:
    """Pid of the tracer that a `glassstack trace` has started."""
    children = Path(f"/proc/{command.pid}/task/{command.pid}/children")
    return int(eventually(lambda: children.read_text().split())[0])


def child_of(pid: int, eventually: Eventually) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    return int(eventually(lambda: children.read_text().split())[0])


def gone(pid: int) -> bool:
    try:
        return status(pid, "State").startswith(("Z", "X"))
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.fixture
def attached(running: int, eventually: Eventually) -> Iterator[subprocess.Popen[str]]:
    """`trace -p` on the running program, after it has seen calls."""
    with tracing.start("-p", running, "-e", "trace=ioctl", "--json", stdout=subprocess.PIPE) as command:
        assert command.stdout is not None
        assert '"raw":5888' in command.stdout.readline()
        yield command
        command.kill()


@pytest.fixture
def launched(
    program: Path, tmp_path: Path, counter: Counter, eventually: Eventually
) -> Iterator[subprocess.Popen[str]]:
    """`trace` of the program with its signal handlers, after it has made some rounds."""
    words = ("--gpu", "none", "-o", tmp_path / "out", "--", program, tmp_path / "page", "3", "handler")
    with tracing.start(*words, start_new_session=True) as command:
        eventually(lambda: counter.rounds > 3)
        yield command
        command.kill()


def test_every_thread_of_an_attached_program_is_seen(
    attached: subprocess.Popen[str], running: int, eventually: Eventually
) -> None:
    assert attached.stdout is not None
    tids: set[int] = set()
    for line in attached.stdout:
        tids |= {event["tid"] for event in tracing.objects(line)}
        if len(tids) == 3:
            break
    assert tids == set(map(int, os.listdir(f"/proc/{running}/task")))


def test_interrupt_detaches(
    attached: subprocess.Popen[str], running: int, counter: Counter, eventually: Eventually
) -> None:
    attached.send_signal(signal.SIGINT)
    attached.communicate(timeout=tracing.TIMEOUT)
    assert attached.returncode == 0
    assert status(running, "TracerPid") == "0"
    goes_on(counter, eventually)


def test_killed_tracer_leaves_an_attached_program_running(
    attached: subprocess.Popen[str], running: int, counter: Counter, eventually: Eventually
) -> None:
    os.kill(tracer_of(attached, eventually), signal.SIGKILL)
    attached.communicate(timeout=tracing.TIMEOUT)
    assert attached.returncode == 125
    assert status(running, "TracerPid") == "0"
    goes_on(counter, eventually)


def test_killed_reader_leaves_an_attached_program_running(
    attached: subprocess.Popen[str], running: int, counter: Counter, eventually: Eventually
) -> None:
    tracer = tracer_of(attached, eventually)
    attached.kill()
    eventually(lambda: gone(tracer))
    assert status(running, "TracerPid") == "0"
    goes_on(counter, eventually)


def test_stopped_program_stays_attachable_and_continues(
    attached: subprocess.Popen[str], running: int, counter: Counter, eventually: Eventually
) -> None:
    os.kill(running, signal.SIGSTOP)
    eventually(lambda: status(running, "State")[0] in "tT")
    attached.send_signal(signal.SIGINT)
    attached.communicate(timeout=tracing.TIMEOUT)
    assert status(running, "State").startswith("T")
    os.kill(running, signal.SIGCONT)
    goes_on(counter, eventually)


def test_signals_reach_a_launched_program(
    launched: subprocess.Popen[str], counter: Counter, eventually: Eventually
) -> None:
    pid = child_of(tracer_of(launched, eventually), eventually)
    os.killpg(launched.pid, signal.SIGINT)  # as a terminal does
    eventually(lambda: counter.interrupts == 1)
    os.kill(pid, signal.SIGUSR1)
    eventually(lambda: counter.user_signals == 1)
    goes_on(counter, eventually)
    assert launched.poll() is None


def test_stop_and_continue_of_a_launched_program(
    launched: subprocess.Popen[str], counter: Counter, eventually: Eventually
) -> None:
    pid = child_of(tracer_of(launched, eventually), eventually)
    os.kill(pid, signal.SIGSTOP)
    eventually(lambda: status(pid, "State")[0] in "tT")
    eventually(lambda: all(status(int(tid), "State")[0] in "tT" for tid in os.listdir(f"/proc/{pid}/task")))
    stopped_at = counter.rounds
    os.kill(pid, signal.SIGUSR1)  # waits, as for any stopped program
    assert counter.rounds == stopped_at
    assert counter.user_signals == 0
    os.kill(pid, signal.SIGCONT)
    eventually(lambda: counter.user_signals == 1)
    goes_on(counter, eventually)


def test_sigterm_ends_the_launched_program_its_own_way(
    launched: subprocess.Popen[str], eventually: Eventually
) -> None:
    launched.terminate()
    assert launched.wait(tracing.TIMEOUT) == 9


@pytest.mark.parametrize("victim", ["tracer", "reader"])
def test_launched_program_never_outlives_tracer_or_reader(
    launched: subprocess.Popen[str], eventually: Eventually, victim: str
) -> None:
    tracer = tracer_of(launched, eventually)
    pid = child_of(tracer, eventually)
    os.kill(tracer if victim == "tracer" else launched.pid, signal.SIGKILL)
    eventually(lambda: gone(pid) and gone(tracer))
    launched.wait(tracing.TIMEOUT)


def test_lost_reader_of_ndjson_leaves_the_program_its_fate(
    program: Path, tmp_path: Path, counter: Counter, eventually: Eventually
) -> None:
    words = ("--gpu", "none", "--all-ioctls", "--json", "--", program, tmp_path / "page")
    with tracing.start(*words, stdout=subprocess.PIPE) as command:
        assert command.stdout is not None
        command.stdout.readline()
        pid = child_of(tracer_of(command, eventually), eventually)
        tracer = tracer_of(command, eventually)
        command.stdout.close()
        assert command.wait(tracing.TIMEOUT) == 1
    goes_on(counter, eventually)
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: gone(tracer))
