"""fakegpu-run as a launcher: what it passes on, when it ends, and what it refuses."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from glassstack.collectors.control import Control, ControlError
from tests.support import eventually
from tests.system.embedded_lab import PRELUDE, contexts, device, python
from tests.system.umd_lab import STUCK, environment, on_device, run_alone


@pytest.fixture
def gpu(native: Path) -> Iterator[Control]:
    with device(native, f"launch-{os.getpid()}") as control:
        yield control


def is_up(control: Control) -> bool:
    try:
        control.status()
    except ControlError:
        return False
    return True


def python_command(script: str) -> list[str]:
    return [sys.executable, "-c", PRELUDE + script]


def test_the_terminals_interrupt_reaches_the_program_once(native: Path) -> None:
    script = """
signal.signal(signal.SIGINT, lambda *_: (print("caught", flush=True), signal.alarm(1)))
signal.signal(signal.SIGALRM, lambda *_: sys.exit(7))
print("ready", flush=True)
while True:
    signal.pause()
"""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(native / "fakegpu-run", ["fakegpu-run", "--", *python_command(script)], environment())
    with os.fdopen(terminal, "r+b", buffering=0) as screen:
        seen = b""
        while b"ready" not in seen:
            seen += screen.read(100)
        screen.write(b"\x03")
        try:
            while more := screen.read(100):
                seen += more
        except OSError:
            pass  # the terminal hung up: everybody has ended
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert seen.count(b"caught") == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_to_the_launcher_is_for_the_program(native: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [native / "fakegpu-run", "--", *python_command("print(1, flush=True); signal.pause()")],
        stdout=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout
    assert process.stdout.readline() == b"1\n"
    process.send_signal(number)
    process.communicate(timeout=STUCK)
    assert process.returncode == -number


def test_the_program_keeps_its_own_limits_and_the_device_has_its_own(native: Path) -> None:
    script = """
import resource
nofile, space = (resource.getrlimit(what)[0] for what in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS))
print(nofile, space >> 20, flush=True)
for _ in range(3):
    if os.fork() == 0:
        fds = [os.open(GPU, os.O_RDWR) for _ in range(40)]
        os.write(1, b"%d %d\\n" % (len(fds), buffers(fds[-1])))
        os.read(0, 1)
        os._exit(0)
[os.wait() for _ in range(3)]
"""
    words = ["prlimit", "--nofile=64:4096", f"--as={4 << 30}:unlimited"]
    command = [*words, str(native / "fakegpu-run"), "--", *python_command(script)]
    done = subprocess.run(
        command, input="...", capture_output=True, text=True, timeout=STUCK, env=environment()
    )
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.splitlines() == ["64 4096"] + ["40 0"] * 3


DAEMON = """
if os.fork() == 0:
    here, there = os.pipe()
    if os.fork() == 0:
        os.setsid()
        os.close(there)
        os.read(here, 1)  # its parent has ended
        {}
        os._exit(0)
    os._exit(0)
os.wait()
"""


@pytest.mark.parametrize("joined", [False, True])
def test_wait_all_serves_the_last_descendant_too(
    native: Path, gpu: Control, tmp_path: Path, joined: bool
) -> None:
    result = tmp_path / "result"
    work = f"open({str(result)!r}, 'w').write(str(buffers(os.open(GPU, os.O_RDWR))))"
    words = ["--join", gpu.name] if joined else []
    python(native, DAEMON.format(work), "--wait-all", *words)
    assert result.read_text() == "0"


def test_without_it_a_descendant_gets_errors_and_is_not_stuck(native: Path, tmp_path: Path) -> None:
    result = tmp_path / "result"
    script = f"""
log = os.open({str(result)!r}, os.O_CREAT | os.O_WRONLY)
fd = os.open(GPU, os.O_RDWR)
here, there = os.pipe()
if os.fork() == 0:
    os.close(there)
    os.read(here, 1)  # its parent has ended, the launcher will
    while True:
        try:
            buffers(fd)
        except OSError as error:
            os.write(log, error.strerror.encode())
            break
    os._exit(0)
"""
    python(native, script)
    eventually(lambda: result.read_text() == "Function not implemented")


@pytest.mark.parametrize("joined", [False, True])
def test_a_program_that_ignores_sigterm_ends_with_the_lifeline(
    native: Path, gpu: Control, joined: bool
) -> None:
    lifeline, end = os.pipe()
    script = "signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True)\nwhile True: signal.pause()"
    words = ["--join", gpu.name] if joined else []
    process = subprocess.Popen(
        [native / "fakegpu-run", *words, "--lifeline-fd", str(lifeline), "--", *python_command(script)],
        stdout=subprocess.PIPE,
        pass_fds=(lifeline,),
        env=environment(),
    )
    os.close(lifeline)
    assert process.stdout
    assert process.stdout.readline() == b"1\n"
    os.close(end)
    process.communicate(timeout=STUCK)
    assert process.returncode == -signal.SIGKILL


def test_a_held_program_starts_when_it_is_let_go(native: Path, tmp_path: Path) -> None:
    hold, let_go = os.pipe()
    told, pid_fd = os.pipe()
    mark = tmp_path / "mark"
    process = subprocess.Popen(
        [native / "fakegpu-run", "--hold-fd", str(hold), "--pid-fd", str(pid_fd), "touch", mark],
        pass_fds=(hold, pid_fd),
        env=environment(),
    )
    os.close(hold)
    os.close(pid_fd)
    with os.fdopen(told) as file:
        pid = int(file.readline())
    assert os.readlink(f"/proc/{pid}/exe") == os.path.realpath(native / "fakegpud")
    assert not mark.exists()
    os.close(let_go)
    assert process.wait(STUCK) == 0
    assert mark.exists()


@pytest.mark.parametrize(
    "words", [["--devices", "2"], ["--fault", "hang"], ["--version", "535.54.03"], ["--name", "x"]]
)
def test_what_a_running_device_cannot_take_is_refused(native: Path, gpu: Control, words: list[str]) -> None:
    done = run_alone(native / "fakegpu-run", "--join", gpu.name, *words, "--", "true")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert f"{words[0]} is for a device of its own" in done.stderr


def test_a_second_device_under_the_first_is_refused(native: Path, gpu: Control) -> None:
    inner = ("env", "-u", "FAKEGPU_DEVICE", native / "fakegpu-run")
    for words in ((), ("--join", gpu.name)):
        done = on_device(native, *inner, *words, "--", "true")
        assert done.returncode == 125
        assert "has a seccomp listener already" in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_there_is_nothing_to_join(native: Path) -> None:
    done = run_alone(native / "fakegpu-run", "--join", "nobody-has-this", "true")
    assert done.returncode == 125
    assert "start one with fakegpud --name nobody-has-this" in done.stderr
    assert run_alone(native / "fakegpu-run", "--join", "x" * 200, "true").returncode == 125


def test_a_device_alone_ends_at_the_terminals_interrupt(native: Path) -> None:
    name = f"terminal-{os.getpid()}"
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(native / "fakegpud", ["fakegpud", "--name", name], environment())
    eventually(lambda: is_up(Control(name)))
    os.write(terminal, b"\x03")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    os.close(terminal)


def test_an_alloc_that_times_out_takes_its_time_and_leaves_others_alone(native: Path, gpu: Control) -> None:
    gpu.fault("fw-timeout")
    script = """
fd = os.open(GPU, os.O_RDWR)
waits = []
def slow():
    start = time.monotonic()
    try:
        alloc(fd)
    except OSError as error:
        waits.append((error.errno, time.monotonic() - start >= 1.0))
thread = threading.Thread(target=slow)
thread.start()
calls = 0
while thread.is_alive():
    buffers(fd)
    calls += 1
print(*waits, calls > 100, alloc(fd) != 0)
"""
    assert python(native, script, "--join", gpu.name).strip() == "(5, True) True True"
    assert any("119" in text for _, text in gpu.log())
    eventually(lambda: not contexts(gpu))
