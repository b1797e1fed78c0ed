"""Holders and the process list against lsof, psutil and the kernel, with real processes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from glassstack.collectors.holders import HolderCollector, device_of
from glassstack.collectors.processes import ProcessCollector
from glassstack.model.entities import Holder, ProcessInfo

GLASSSTACK = (sys.executable, "-m", "glassstack.cli.main")
# What each program does with a memory file as the embedded device gives them out.
PROGRAMS = {
    "one descriptor": "",
    "many descriptors": "more = [os.dup(fd) for _ in range(23)]",
    "read only": "ro = os.open(f'/proc/self/fd/{fd}', os.O_RDONLY)",
    "mapping kept after close": "ctypes.CDLL(None).mmap(0, 4096, 3, 1, fd, 0); os.close(fd)",
    "inherited": "os.set_inheritable(fd, True); child = subprocess.Popen(['cat'], close_fds=False)",
    "none": "os.close(fd)",
}
SCRIPT = """
import ctypes, os, subprocess, sys
fd = os.memfd_create("fakegpu{number}")
os.ftruncate(fd, 8192)
{body}
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def programs() -> Iterator[list[subprocess.Popen[str]]]:
    with ExitStack() as stack:
        started = []
        for number, body in enumerate(PROGRAMS.values()):
            command = [sys.executable, "-S", "-c", SCRIPT.format(number=number, body=body)]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            stack.enter_context(process)
            stack.callback(process.kill)
            started.append(process)
        for process in started:
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
        yield started


def lsof(pids: list[int]) -> tuple[set[tuple[int, str, str]], set[tuple[int, str]]]:
    """(pid, fd with access, device) and (pid, device) of mappings, as lsof has them."""
    text = subprocess.run(
        ["lsof", "-w", "-F", "pfan", "-p", ",".join(map(str, pids))], capture_output=True, text=True
    ).stdout
    descriptors, mappings = set(), set()
    pid, fd, access = 0, "", ""
    for line in text.splitlines():
        kind, value = line[0], line[1:]
        if kind == "p":
            pid = int(value)
        elif kind == "f":
            fd = value
        elif kind == "a":
            access = {"u": "rw"}.get(value, value)
        elif device := device_of(value):
            if fd.isdigit():
                descriptors.add((pid, f"fd {fd} {access}", device))
            elif fd in ("mem", "DEL"):
                mappings.add((pid, device))
    return descriptors, mappings


def tree(processes: list[subprocess.Popen[str]]) -> list[int]:
    return [pid for p in processes for pid in (p.pid, *(c.pid for c in psutil.Process(p.pid).children()))]


def ours(pids: list[int]) -> list[Holder]:
    return [one for one in HolderCollector().look().holders if one.pid in pids]


@pytest.mark.skipif(not shutil.which("lsof"), reason="lsof is not installed: apt-get install -y lsof")
def test_same_descriptors_and_mappings_as_lsof(programs: list[subprocess.Popen[str]]) -> None:
    pids = tree(programs)
    holders = ours(pids)
    descriptors, mappings = lsof(pids)
    assert {(h.pid, h.detail, h.device) for h in holders if h.how == "fd"} == descriptors
    assert {(h.pid, h.device) for h in holders if h.how == "mapping"} == mappings
    assert (len(descriptors), len(mappings)) == (1 + 24 + 2 + 2, 1)


def test_a_mapping_holds_after_close(programs: list[subprocess.Popen[str]]) -> None:
    pid = programs[list(PROGRAMS).index("mapping kept after close")].pid
    (holder,) = ours([pid])
    assert (holder.how, holder.device) == ("mapping", "/dev/fakegpu3")
    assert holder.detail.endswith("rw-s doorbell")


@pytest.mark.parametrize("copied", [False, True])
def test_the_embedded_device_is_the_driver_under_any_name(native: Path, tmp_path: Path, copied: bool) -> None:
    """A wheel holds no links: there the launcher is a copy of the device's program."""
    launcher = tmp_path / "fakegpu-run" if copied else native / "fakegpu-run"
    if copied:
        shutil.copy2(native / "fakegpud", launcher)
    command: list[str | Path] = [launcher, "--", native / "fakegpu-train"]
    command += ["--steps", "1", "--rate", "0", "--stay"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as device:
        assert device.stdout
        assert device.stdout.readline().startswith("1 steps")
        family = {device.pid, *(child.pid for child in psutil.Process(device.pid).children(recursive=True))}
        everybody = [one for one in HolderCollector(drivers=True).look().holders if one.pid in family]
        users = [one for one in HolderCollector().look().holders if one.pid in family]
        device.terminate()
    drivers = {one.pid for one in everybody if one.how == "driver"}
    assert len(drivers) == 1
    assert {one.command.split()[0].rpartition("/")[2] for one in users} == {"fakegpu-train"}
    assert {one.how for one in users} == {"fd", "mapping"}
    assert not drivers & {one.pid for one in users}


def test_every_change_is_seen_at_the_next_look() -> None:
    """A program opens and closes by turns; the same collector, which skips those at rest, looks at each."""
    body = """
import os, sys
for line in sys.stdin:
    if line.strip() == "open":
        fd = os.memfd_create("fakegpu7")
    else:
        os.close(fd)
    print("done", flush=True)
"""
    collector = HolderCollector()
    with subprocess.Popen(
        [sys.executable, "-S", "-c", body],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as program:
        assert program.stdin
        assert program.stdout
        for turn in range(23):
            program.stdin.write("close\n" if turn % 2 else "open\n")
            program.stdin.flush()
            assert program.stdout.readline() == "done\n"
            held = [one for one in collector.look().holders if one.pid == program.pid]
            assert len(held) == 1 - turn % 2, f"turn {turn}"
        program.kill()


def test_commands_show_them(programs: list[subprocess.Popen[str]]) -> None:
    text = subprocess.run(
        [*GLASSSTACK, "holders", "--once"], capture_output=True, text=True, check=True
    ).stdout
    shown = {int(line.split()[1]) for line in text.splitlines() if line.startswith("/dev/fakegpu")}
    assert {p.pid for p in programs[:-1]} <= shown
    assert programs[-1].pid not in shown
    reply = subprocess.run(
        [*GLASSSTACK, "ps", "--once", "--json"], capture_output=True, text=True, check=True
    )
    listed = {p["pid"]: p["gpu"] for p in json.loads(reply.stdout)["processes"]}
    assert [listed[p.pid] for p in programs] == [f"/dev/fakegpu{n}" for n in range(len(programs) - 1)] + [""]


def test_process_list_agrees_with_psutil(programs: list[subprocess.Popen[str]]) -> None:
    listed = {one.pid: one for one in ProcessCollector().look().processes}
    for program in programs:
        mine, theirs = listed[program.pid], psutil.Process(program.pid)
        assert mine.ppid == theirs.ppid() == os.getpid()
        assert mine.command == " ".join(theirs.cmdline())[:512]
        assert (mine.name, mine.user, mine.threads) == (
            theirs.name(),
            theirs.username(),
            theirs.num_threads(),
        )
        assert mine.started == pytest.approx(theirs.create_time(), abs=0.1)
        assert mine.rss == pytest.approx(theirs.memory_info().rss, rel=0.3)


def find(pid: int) -> ProcessInfo:
    return next(one for one in ProcessCollector().look().processes if one.pid == pid)


@pytest.mark.root
def test_both_pid_views() -> None:
    command = [
        "unshare",
        "--pid",
        "--fork",
        "--kill-child",
        sys.executable,
        "-S",
        "-c",
        "print(1, flush=1); input()",
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as outer:
        assert outer.stdout
        if outer.stdout.readline() != "1\n":
            pytest.skip("PID namespaces cannot be made here")
        (inner,) = psutil.Process(outer.pid).children()
        assert find(inner.pid).ns_pids == (inner.pid, 1)
        outer.kill()


def test_cheap_enough_for_once_a_second() -> None:
    """Its share of a core, at one look a second, stays below 5 % for 500 processes, whatever runs here."""
    collector = ProcessCollector(kernel_threads=True)
    collector.look()
    before, looks = psutil.Process().cpu_times(), 23
    count = sum(len(collector.look().processes) for _ in range(looks)) / looks
    after = psutil.Process().cpu_times()
    seconds = (after.user - before.user + after.system - before.system) / looks
    assert seconds / count * 500 < 0.05, f"{seconds * 1000:.1f} ms a look for {count:.0f} processes"


def test_no_path_of_the_machine_is_needed(tmp_path: Path) -> None:
    """An empty procfs lists nothing and says why."""
    assert ProcessCollector(tmp_path).look().processes == ()
    assert not ProcessCollector(tmp_path).probe().ready
