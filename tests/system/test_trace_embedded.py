"""`glassstack trace` on the embedded device: two witnesses, one account, the same as strace's."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import tracing
from tests.support import ROOT

pytestmark = pytest.mark.ptrace

DEVICES = r"/dev/fakegpu[\w-]*"
SHARED = {"ioctl", "open", "openat", "mmap", "munmap", "close", "dup", "dup2", "dup3", "fcntl"}


def sequences(threads: dict[int, list[tracing.Seen]]) -> list[list[tracing.Seen]]:
    """Each thread's calls on devices that both tell of, threads in an order that both runs share."""
    kept = (
        [seen for seen in calls if seen.syscall in SHARED and re.fullmatch(DEVICES, seen.device)]
        for calls in threads.values()
    )
    # The device's own threads, which strace sees too, never use an ioctl of it.
    return sorted((calls for calls in kept if any(_of_device(seen) for seen in calls)), key=repr)


def _of_device(seen: tracing.Seen) -> bool:
    return seen.request is not None and (seen.request >> 8) & 0xFF == 0xFA


@pytest.mark.parametrize("program", ["fakegpu-vectoradd", "fakegpu-client"])
def test_same_calls_as_strace(native: Path, tmp_path: Path, program: str) -> None:
    ours = tracing.trace("-f", "--json", "--gpu", "embedded", "--", native / program)
    assert ours.returncode == 0, ours.stderr
    text = "\n".join(line for line in ours.stdout.splitlines() if line.startswith('{"schema"'))
    theirs = tracing.strace_by_thread([native / "fakegpu-run", native / program], tmp_path, DEVICES)
    assert sequences(tracing.by_thread(text)) == sequences(theirs)


def test_on_a_device_that_is_there_already_the_calls_are_the_same(native: Path, tmp_path: Path) -> None:
    program = [str(native / "fakegpu-client"), "--only", "isolation"]
    command = [sys.executable, "-m", "glassstack.cli.main", "trace", "-f", "--json", "--", *program]
    done = subprocess.run(
        [native / "fakegpu-run", "--", *command],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=tracing.environment(),
    )
    assert done.returncode == 0, done.stderr
    seen = tracing.objects(_json(done.stdout))
    assert {line["source"] for line in seen} == {"ptrace"}
    theirs = tracing.strace_by_thread([native / "fakegpu-run", *program], tmp_path, DEVICES)
    assert sequences(tracing.by_thread(_json(done.stdout))) == sequences(theirs)


def test_both_witnesses_are_named(native: Path) -> None:
    ours = tracing.trace("--json", "--gpu", "embedded", "--", native / "fakegpu-vectoradd")
    lines = tracing.objects(
        "\n".join(line for line in ours.stdout.splitlines() if line.startswith('{"schema"'))
    )
    sources = {(line["syscall"], line["source"]) for line in lines}
    assert {("ioctl", "device"), ("openat", "device"), ("mmap", "ptrace"), ("close", "ptrace")} <= sources
    assert {"INFO", "CHECK_VERSION", "ALLOC", "MAP", "CHANNEL_CREATE", "FREE"} <= {
        line["name"] for line in lines
    }


def test_every_answered_call_is_counted_once(native: Path) -> None:
    count = 4999
    ours = tracing.trace(
        "--json", "--gpu", "embedded", "-e", "CTX_INFO,INFO", "--", native / "fakegpu-bench", "ioctl", count
    )
    assert ours.returncode == 0, ours.stderr
    names = Counter(line["name"] for line in tracing.objects(_json(ours.stdout)))
    assert names["CTX_INFO"] + names["INFO"] >= count
    assert "dropped" not in ours.stdout


def _json(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line.startswith('{"schema"'))


def test_exit_status_and_death_pass_through(native: Path) -> None:
    assert tracing.trace("--gpu", "embedded", "--", "sh", "-c", "exit 9").returncode == 9
    assert tracing.trace("--gpu", "embedded", "--", "sh", "-c", "kill -SEGV $$").returncode == -signal.SIGSEGV


def test_program_that_cannot_be_executed(native: Path, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    done = tracing.trace("--gpu", "embedded", "--", script)
    assert (done.returncode, done.stderr.count("\n")) == (127, 1)
    assert "can't run" in done.stderr


@pytest.mark.parametrize("victim", ["tracer", "device", "reader"])
def test_nobody_is_left_whoever_is_killed(
    native: Path, tmp_path: Path, eventually: Callable[..., Any], victim: str
) -> None:
    output = tmp_path / "out"
    output.touch()
    words = ("--gpu", "embedded", "-o", output, "--", native / "fakegpu-train", "--stay")
    command = tracing.start(*words, start_new_session=True)
    try:
        eventually(lambda: "CHANNEL_CREATE" in output.read_text(), timeout=30)
        family = members(command.pid)
        pids = {"reader": command.pid, "tracer": family["python"], "device": family["fakegpu-run"]}
        os.kill(pids[victim], signal.SIGKILL)
        eventually(lambda: not members(command.pid), timeout=30)
        command.wait(tracing.TIMEOUT)
    finally:
        command.kill()
        for pid in members(command.pid).values():
            os.kill(pid, signal.SIGKILL)
        command.wait(tracing.TIMEOUT)


def members(session: int) -> dict[str, int]:
    """Name and pid of the living processes of a session, but for its leader."""
    found: dict[str, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, rest = stat.read_text().split(" (", 1)
        except OSError:
            continue
        name, fields = rest.rsplit(") ", 1)
        state, _, _, sid = fields.split()[:4]
        if int(sid) == session and int(pid) != session and state not in "ZX":
            found[name] = int(pid)
    return found
