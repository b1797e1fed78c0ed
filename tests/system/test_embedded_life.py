"""Contexts of the embedded device live as long as their open file, however programs share and lose it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from glassstack.collectors.control import Control, discover
from glassstack.decoders.fakegpu import BY_NAME
from tests.support import ROOT, eventually
from tests.system.embedded_lab import PRELUDE, contexts, device, python
from tests.system.umd_lab import STUCK, environment


@pytest.fixture
def gpu(native: Path) -> Iterator[Control]:
    with device(native, f"life-{os.getpid()}", "--devices", "2") as control:
        yield control


def start(native: Path, control: Control, *command: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [native / "fakegpu-run", "--join", control.name, "--", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )


def start_python(native: Path, control: Control, script: str) -> subprocess.Popen[str]:
    return start(native, control, sys.executable, "-c", PRELUDE + script)


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def end(process: subprocess.Popen[str]) -> int:
    process.communicate(timeout=STUCK)
    return process.returncode


HOLDER = "fd = os.open(GPU, os.O_RDWR); alloc(fd); print(os.getpid(), flush=True); sys.stdin.read()"


def test_descriptors_shared_by_dup_fork_and_message_are_one_context(native: Path) -> None:
    out = python(
        native,
        """
fd = os.open(GPU, os.O_RDWR)
alloc(fd)
alloc(os.dup(fd))
if os.fork() == 0:
    alloc(fd)
    os._exit(0)
os.wait()
here, there = socket.socketpair()
if os.fork() == 0:
    os.close(fd)
    _, fds, _, _ = socket.recv_fds(there, 1, 1)
    alloc(fds[0])
    os._exit(0)
socket.send_fds(here, [b"x"], [fd])
os.wait()
threads = [threading.Thread(target=alloc, args=(fd,)) for _ in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
print(buffers(fd), buffers(os.open(GPU, os.O_RDWR)))
""",
    )
    assert out.split() == ["12", "0"]


def test_an_exec_keeps_what_is_not_close_on_exec(native: Path) -> None:
    out = python(
        native,
        """
if len(sys.argv) > 1:
    print(buffers(int(sys.argv[1])))
else:
    fd = os.open(GPU, os.O_RDWR)
    alloc(fd)
    os.set_inheritable(fd, True)
    os.execv(sys.executable, [sys.executable, "-c", sys.orig_argv[2], str(fd)])
""",
    )
    assert out.split() == ["1"]


def test_a_mapping_keeps_the_context_after_the_last_close(native: Path, gpu: Control) -> None:
    process = start_python(
        native,
        gpu,
        """
fd = os.open(GPU, os.O_RDWR)
page = mmap.mmap(fd, 4096, offset=0x1000, prot=mmap.PROT_READ)
os.close(fd)
print("closed", flush=True)
sys.stdin.readline()
page.close()
print("unmapped", flush=True)
sys.stdin.read()
""",
    )
    assert line(process) == "closed"
    assert len(contexts(gpu)) == 1
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()
    assert line(process) == "unmapped"
    eventually(lambda: not contexts(gpu))
    assert end(process) == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_killed_program_leaves_no_context(native: Path, gpu: Control, number: signal.Signals) -> None:
    process = start_python(native, gpu, HOLDER)
    pid = int(line(process))
    assert contexts(gpu) == [pid]
    os.kill(pid, number)
    assert end(process) == -number
    eventually(lambda: not contexts(gpu))
    assert all(one.vram_used == 0 for one in gpu.status().devices)


def test_programs_of_several_launchers_share_one_device(native: Path, gpu: Control) -> None:
    processes = [start_python(native, gpu, HOLDER) for _ in range(5)]
    pids = sorted(int(line(process)) for process in processes)
    assert sorted(contexts(gpu)) == pids
    assert gpu.status().devices[0].vram_used == 5 * 4096
    assert {end(process) for process in processes} == {0}
    eventually(lambda: not contexts(gpu))


def test_a_hundred_contexts_come_and_go(native: Path, gpu: Control) -> None:
    process = start_python(
        native,
        gpu,
        """
fds = [os.open("/dev/fakegpu%d" % (n % 2), os.O_RDWR) for n in range(100)]
[alloc(fd) for fd in fds]
print(sum(buffers(fd) for fd in fds), flush=True)
sys.stdin.readline()
""",
    )
    assert line(process) == "100"
    assert [len(one.contexts) for one in gpu.status().devices] == [50, 50]
    assert end(process) == 0
    eventually(lambda: not contexts(gpu))


def test_when_the_device_is_killed_its_programs_get_an_error_and_end(native: Path) -> None:
    with device(native, f"doomed-{os.getpid()}") as control:
        ring = start(native, control, native / "fakegpu-train", "--rate", "100")
        calls = start(native, control, native / "fakegpu-burst", "--rate", "50")
        eventually(lambda: len(contexts(control)) == 2)
        os.kill(control.status().pid, signal.SIGKILL)
        assert end(ring) == 1
        assert end(calls) == 1


def test_a_wait_is_interrupted_and_ended_by_signals(native: Path) -> None:
    out = python(
        native,
        f"""
fd = os.open(GPU, os.O_RDWR)
channel = struct.unpack_from("<I", call(fd, {BY_NAME["CHANNEL_CREATE"].request:#x}, "<4I", 0, 0, 0, 0), 8)[0]
caught = []
signal.signal(signal.SIGALRM, lambda *_: caught.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
deadline = time.monotonic_ns() + 300_000_000
while True:
    try:
        call(fd, {BY_NAME["WAIT"].request:#x}, "<2I3Q", channel, 0, 5, deadline, 0)
    except InterruptedError:
        continue
    except OSError as error:
        print(error.strerror, time.monotonic_ns() >= deadline, len(caught) >= 3)
    break
""",
    )
    assert out.strip() == "Timer expired True True"


def test_a_storm_of_signals_neither_loses_nor_repeats_a_call(native: Path, tmp_path: Path) -> None:
    storm = tmp_path / "storm"
    source = ROOT / "tests/system/embedded_storm.c"
    subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-static", "-o", storm, source], check=True)
    done = subprocess.run(
        [native / "fakegpu-run", "--", storm, "100", "2300"],
        capture_output=True,
        text=True,
        timeout=STUCK,
        env=environment(),
    )
    assert (done.returncode, done.stderr) == (0, "")
    calls, signals = map(int, done.stdout.split())
    assert calls == 11500
    assert signals > 230


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["sh", "-c", "exit 23"], 23),
        (["sh", "-c", "kill -TERM $$"], -signal.SIGTERM),
        (["no-such-program"], 127),
        ([str(ROOT / "README.md")], 126),
    ],
)
def test_the_programs_end_is_passed_on(native: Path, command: list[str], code: int) -> None:
    done = subprocess.run(
        [native / "fakegpu-run", *command], capture_output=True, text=True, timeout=STUCK, env=environment()
    )
    assert done.returncode == code
    assert len(done.stderr.splitlines()) == (1 if code in (126, 127) else 0)


@pytest.mark.parametrize(
    "words",
    [
        ["--devices", "9", "true"],
        ["--fault", "nonsense", "true"],
        ["--no-such"],
        [],
        ["--witness-fd", "77", "true"],
    ],
)
def test_bad_options_are_one_line(native: Path, words: list[str]) -> None:
    done = subprocess.run(
        [native / "fakegpu-run", *words], capture_output=True, text=True, timeout=STUCK, env=environment()
    )
    assert done.returncode in (2, 125)
    assert len(done.stderr.splitlines()) == 1


def test_nothing_is_left_when_all_have_been_killed(native: Path) -> None:
    before = set(os.listdir("/dev/shm"))
    with device(native, f"killed-{os.getpid()}") as control:
        process = start_python(native, control, HOLDER)
        pid = int(line(process))
        os.kill(control.status().pid, signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)
        end(process)
        eventually(lambda: control.name not in discover())
    assert set(os.listdir("/dev/shm")) == before


def test_a_run_within_a_run_uses_the_device_that_is_there(native: Path) -> None:
    done = subprocess.run(
        [native / "fakegpu-run", native / "fakegpu-run", native / "fakegpu-client", "--only", "info"],
        capture_output=True,
        text=True,
        timeout=STUCK,
        env=environment(),
    )
    assert (done.stdout, done.stderr) == ("PASS info\n1 passed, 0 failed\n", "")
