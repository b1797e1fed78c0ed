"""The BPF process sees the calls that strace sees: same calls, same order per thread, same returns."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest

from glassstack.collectors.bpf.options import Options
from glassstack.collectors.bpf.spawn import Probe
from glassstack.decoders.fakegpu import BY_NAME
from glassstack.decoders.fakegpu_uapi import IOC_TYPE
from glassstack.gpu.embedded import EmbeddedGpu
from glassstack.model.events import Calls, Event, Process, Syscall
from tests import bpf, tracing
from tests.support import eventually
from tests.system.embedded_lab import PRELUDE, contexts
from tests.system.umd_lab import STUCK, environment

pytestmark = pytest.mark.bpf

SUBMIT = BY_NAME["SUBMIT"].request
DEVICES = r"/dev/(?:null|zero|fakegpu\d+)"
FLAGS = ("--source", "ebpf", "-f", "--json", "--gpu", "none")


@pytest.fixture(autouse=True)
def _possible() -> None:
    bpf.require()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bpf")


@pytest.fixture(scope="module")
def mix(folder: Path) -> Path:
    return tracing.build("trace_mix.c", folder)


def sequences(threads: dict[int, list[tracing.Seen]]) -> list[list[tracing.Seen]]:
    """Each thread's calls on the devices the program is about, in an order that both runs share."""
    kept = ([seen for seen in calls if re.fullmatch(DEVICES, seen.device)] for calls in threads.values())
    return sorted((calls for calls in kept if calls), key=repr)


def test_same_calls_as_strace_and_exact_counts(mix: Path, folder: Path) -> None:
    ours = tracing.trace(*FLAGS, "--all-ioctls", "--", mix)
    assert ours.returncode == 0, ours.stderr
    theirs = tracing.strace_by_thread([mix], folder, DEVICES)
    assert sequences(tracing.by_thread(ours.stdout)) == sequences(theirs)
    lines = [line for line in tracing.objects(ours.stdout) if line["syscall"] == "ioctl"]
    assert all(line["kind"] == "syscall" and line["source"] == "ebpf" for line in lines)
    counts = Counter(line["raw"] for line in lines)
    assert all(counts[request] == 23 for request in (0x1001, 0x1002, 0x1010, 0x1011, 0x1012))
    assert all(line["dur_ns"] > 0 for line in lines), "the kernel answered: the entry was seen"


def strace_ioctls(program: list[str], folder: Path) -> list[list[tuple[int, str]]]:
    """Number and result of the embedded device's ioctls of each thread that makes some, from strace."""
    folder.mkdir()
    words = ["strace", "-ff", "-o", str(folder / "log"), "-X", "raw", "-e", "trace=ioctl", *program]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, timeout=STUCK, env=environment())
    call = re.compile(r"^ioctl\(\w+, (0x[0-9a-f]+), .*\)\s+= (-?\w+)(?: (\w+))?", re.MULTILINE)
    threads = [call.findall(file.read_text()) for file in folder.iterdir()]
    kept = [
        [(int(request, 0), error or str(int(ret, 0))) for request, ret, error in calls] for calls in threads
    ]
    ours = [
        [(request, result) for request, result in calls if request >> 8 & 0xFF == IOC_TYPE] for calls in kept
    ]
    return sorted(calls for calls in ours if calls)


def test_embedded_client_is_seen_as_strace_sees_it(native: Path, tmp_path: Path) -> None:
    runner, client = bpf.launched(native), str(native / "fakegpu-client")
    events = bpf.run(Options(command=(client,), runner=runner))
    threads: dict[int, list[tuple[int, str]]] = {}
    for call in bpf.calls(events):
        if call.raw is not None and call.raw >> 8 & 0xFF == IOC_TYPE:
            result = call.errno or str(call.ret)
            threads.setdefault(call.tid, []).append((call.raw, result))
    ours = sorted(threads.values())
    assert sum(map(len, ours)) > 300
    assert ours == strace_ioctls([*runner, "--", client], tmp_path / "strace")


def submits(*words: str, native: Path) -> list[list[tuple[str, int]]]:
    """What each thread of the client submitted and got, without addresses, as a source tells."""
    silent = ("sh", "-c", 'exec "$0" >/dev/null', str(native / "fakegpu-client"))
    done = tracing.trace("-f", "--json", *words, "--", *silent)
    assert done.returncode == 0, done.stderr
    threads: dict[int, list[tuple[str, int]]] = {}
    for line in tracing.objects(done.stdout):
        if line["name"] == "SUBMIT":
            fields = {name: value for name, value in line["fields"].items() if name != "packets"}
            threads.setdefault(line["tid"], []).append((str(sorted(fields.items())), line["ret"]))
    return sorted(threads.values())


def test_packets_of_submits_are_decoded_as_the_tracer_decodes_them(native: Path) -> None:
    ours = submits("--source", "ebpf", native=native)
    assert ours == submits("--source", "ptrace", native=native)
    assert sum(map(len, ours)) > 50
    assert any("'ops', 'FILL'" in fields for thread in ours for fields, _ in thread)


def test_answered_calls_have_their_time_from_the_device_that_was_launched(native: Path) -> None:
    events = bpf.run(Options(command=(str(native / "fakegpu-client"),), runner=bpf.launched(native)))
    calls = [call for call in bpf.calls(events) if call.syscall in ("ioctl", "openat")]
    assert len(calls) > 300
    assert all(call.dur_ns for call in calls)
    assert {call.name for call in calls} >= {*BY_NAME, "open"}
    assert {call.device for call in calls} >= {"/dev/fakegpu0", "/dev/fakegpuctl", "/dev/fakegpu-uvm"}
    assert not [call for call in calls if "missing" in str(call.fields.get("version", ""))]


def test_answered_calls_of_a_running_program_have_no_duration_but_names_and_fields(native: Path) -> None:
    gpu = EmbeddedGpu()
    try:
        gpu.start((str(native / "fakegpu-burst"), "--rate", "100"))
        probe = Probe(Options(pids=tuple(eventually(lambda: contexts(gpu.control)))))
        calls = bpf.calls(bpf.gather(probe, until=is_last(23, SUBMIT)))
        probe.stop()
        assert probe.close() == 0
    finally:
        gpu.close()
    # An ioctl of another type is none that the embedded device answers: the kernel does.
    ioctls = [call for call in calls if call.raw is not None and call.raw >> 8 & 0xFF == IOC_TYPE]
    answered = ioctls + [call for call in calls if call.syscall == "openat"]
    assert len(answered) >= 23
    assert {call.dur_ns for call in answered} == {None}
    assert {call.device for call in calls} == {"/dev/fakegpu0"}
    submit = next(call for call in answered if call.name == "SUBMIT")
    assert submit.fields["ops"] == "FILL"
    assert submit.fields["seqno"]


def test_a_call_that_the_device_has_not_answered_is_in_flight(native: Path) -> None:
    runner = (str(native / "fakegpu-run"), "--wait-all", "--fault", "slow=700000000")
    command = (str(native / "fakegpu-burst"), "--bursts", "1", "--size", "1")
    told = [e.calls for e in bpf.run(Options(command=command, runner=runner)) if isinstance(e, Calls)]
    waits = [call for calls in told for call in calls]
    assert waits
    assert {(call.name, call.device) for call in waits} == {("WAIT", "/dev/fakegpu0")}
    assert all("seqno" in call.fields for call in waits)
    assert told[-1] == ()


def test_children_are_followed_to_their_end(folder: Path) -> None:
    bomb = tracing.build("trace_bomb.c", folder)
    ours = tracing.trace(*FLAGS, "-e", "trace=ioctl", "--", bomb, "50")
    assert ours.returncode == 0, ours.stderr
    counts = Counter(line["pid"] for line in tracing.objects(ours.stdout))
    assert len(counts) == 50
    assert set(counts.values()) == {3}


def test_a_descriptor_opened_under_an_odd_name_is_found_by_its_first_ioctl(native: Path) -> None:
    script = PRELUDE + (
        "os.chdir('/dev'); fd = os.open('fakegpu0', os.O_RDWR)\n"
        "for n in range(23): alloc(fd)\n"
        "os.write(1, b'x') if buffers(fd) == 23 else os._exit(1)\n"
        "time.sleep(0.3); alloc(fd); os.close(fd)\n"
    )
    events = bpf.run(Options(command=(sys.executable, "-c", script), runner=bpf.launched(native)))
    made = Counter(call.name for call in bpf.calls(events) if call.device == "/dev/fakegpu0")
    assert made["ALLOC"] == 24
    assert made["close"] == 1


def test_exit_status_and_exec_are_told(folder: Path) -> None:
    script = "sh -c 'exit 3'; exec sh -c 'kill -USR1 $$'"
    events = bpf.run(Options(command=("/bin/sh", "-c", script)))
    lives = [event for event in events if isinstance(event, Process)]
    assert [event.what for event in lives if event.pid == lives[0].pid] == ["start", "exec", "exit"]
    assert lives[-1].signal == "SIGUSR1"
    assert tracing.trace("--source", "ebpf", "--", "sh", "-c", "kill -TERM $$").returncode == -15


def test_a_program_gets_nothing_of_what_we_mounted_for_ourselves() -> None:
    script = "cat /proc/self/mountinfo; readlink /proc/self/ns/mnt"
    done = tracing.trace("--source", "ebpf", "--gpu", "none", "--", "sh", "-c", script)
    assert done.stdout.splitlines()[-1] == os.readlink("/proc/self/ns/mnt")


@contextmanager
def storming(storm: Path, made: int) -> Iterator[subprocess.Popen[str]]:
    """A program that has opened its device and waits for a line before it makes its calls."""
    words = ["sh", "-c", 'read line; exec "$0" "$1"', str(storm), str(made)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_running_process_is_watched_and_left_alone(folder: Path) -> None:
    storm = tracing.build("bpf_storm.c", folder)
    with storming(storm, 23) as process:
        probe = Probe(Options(pids=(process.pid,), any_node=True))
        bpf.gather(probe, until=lambda event: isinstance(event, Calls))
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
        made = [call for call in bpf.calls(bpf.gather(probe, until=is_last(23))) if call.raw == bpf.WHAT]
        probe.stop()
        assert probe.close() == 0
        assert process.poll() is None, "it runs on"
    assert {call.pid for call in made} == {process.pid}
    assert len(made) == 23


def is_last(made: int, what: int = bpf.WHAT) -> Callable[[Event], bool]:
    """True for the event that completes ``made`` calls of an ioctl, by default the storm's."""
    left = [made]

    def look(event: Event) -> bool:
        left[0] -= isinstance(event, Syscall) and event.raw == what
        return not left[0]

    return look


def cgroup_mount() -> Path | None:
    """Where cgroup v2 is mounted."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        if line.split()[2] == "cgroup2":
            return Path(line.split()[1])
    return None


@pytest.mark.cgroup
def test_one_cgroup_with_its_children_and_nobody_else(folder: Path) -> None:
    storm = tracing.build("bpf_storm.c", folder)
    mount = cgroup_mount()
    if mount is None:
        pytest.skip("no cgroup v2 is mounted")
    group = mount / f"glassstack-{os.getpid()}"
    inner = group / "inner"
    inner.mkdir(parents=True)
    try:
        with storming(storm, 23) as inside, storming(storm, 29) as outside:
            (inner / "cgroup.procs").write_text(str(inside.pid))
            probe = Probe(Options(cgroup=str(group), any_node=True))
            bpf.gather(probe, until=lambda event: isinstance(event, Calls))
            for process in (outside, inside):
                assert process.stdin is not None
                process.stdin.write("go\n")
                process.stdin.flush()
            calls = bpf.calls(bpf.gather(probe, until=is_last(23)))
            assert outside.stdout is not None
            assert outside.stdout.readline().strip().isdigit()
            probe.stop()
            calls += bpf.calls(bpf.gather(probe))
            assert probe.close() == 0
        made = [call for call in calls if call.raw == bpf.WHAT]
        assert {call.pid for call in made} == {inside.pid}
        assert len(made) == 23
        assert {call.cgroup for call in made} == {inner.stat().st_ino}
    finally:
        eventually(lambda: not (inner / "cgroup.procs").read_text())
        inner.rmdir()
        group.rmdir()


def test_the_whole_machine_until_told_to_stop(native: Path) -> None:
    words = [*tracing.GLASSSTACK, "trace", "--system", "--json"]
    environ = tracing.environment()
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environ, text=True) as trace:
        program = subprocess.Popen(
            [*bpf.launched(native), "--", native / "fakegpu-burst", "--rate", "50"],
            stdout=subprocess.DEVNULL,
            env=environment(),
        )
        try:
            assert trace.stdout is not None
            seen = Counter(line["pid"] for line in tracing.objects("".join(islice(trace.stdout, 50))))
            trace.send_signal(signal.SIGINT)
            trace.stdout.read()
            assert trace.wait(STUCK) == 0
        finally:
            program.terminate()
            program.wait(STUCK)
    assert program.pid not in seen, "the launcher makes no device calls"
    assert seen
