"""Attaching: children are followed or left alone, every stop of every call is survived, refusals are told."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import tracing
from tests.support import ROOT

pytestmark = pytest.mark.ptrace

Eventually = Callable[..., Any]
CALLS = {0x1001: 23, 0x1002: 23, 0x1010: 23, 0x1011: 23, 0x1012: 23, 0x1030: 5, 0x1031: 30, 0x1034: 7}


@pytest.fixture(scope="module")
def mix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tracing.build("trace_mix.c", tmp_path_factory.mktemp("mix"))


@pytest.fixture
def waiting(mix: Path) -> Iterator[subprocess.Popen[str]]:
    """A shell that runs trace_mix, and ends with 5, once it gets a line."""
    command = ["sh", "-c", f"read line; {mix}; read line; exit 5"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def tracer_of(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line[10:]) for line in lines if line.startswith("TracerPid:"))


def go_on(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def counts(text: str) -> Counter[int]:
    return Counter(line["raw"] for line in tracing.objects(text) if (line["raw"] or 0) >> 8 == 0x10)


def run_attached(process: subprocess.Popen[str], eventually: Eventually, *words: str) -> str:
    """Attaches, lets the shell run to its end, and gives what was seen."""
    with tracing.start(
        "-p", process.pid, "-e", "trace=ioctl", "--json", *words, stdout=subprocess.PIPE
    ) as command:
        eventually(lambda: tracer_of(process.pid))
        go_on(process)
        go_on(process)
        output, _ = command.communicate(timeout=tracing.TIMEOUT)
    assert command.returncode == 0
    assert process.wait(tracing.TIMEOUT) == 5
    return output


def test_children_of_an_attached_process_are_followed(
    waiting: subprocess.Popen[str], eventually: Eventually
) -> None:
    seen = counts(run_attached(waiting, eventually, "-f"))
    assert {request: seen[request] for request in CALLS} == CALLS
    assert sum(seen.values()) == 23 * 6 + 6 + 5 + 3 * 7


def test_children_are_left_alone_without_follow(
    waiting: subprocess.Popen[str], eventually: Eventually
) -> None:
    assert not counts(run_attached(waiting, eventually))


def test_several_processes_and_a_thread_of_one_twice(mix: Path, eventually: Eventually) -> None:
    shells = [
        subprocess.Popen(["sh", "-c", f"read line; exec {mix} {tag}"], stdin=subprocess.PIPE, text=True)
        for tag in (81, 82)
    ]
    pids = [shell.pid for shell in shells]
    words = [word for pid in (*pids, pids[0]) for word in ("-p", pid)]
    with tracing.start(*words, "-e", "trace=ioctl", "--json", stdout=subprocess.PIPE) as command:
        eventually(lambda: all(map(tracer_of, pids)))
        for shell in shells:
            go_on(shell)
        output, _ = command.communicate(timeout=tracing.TIMEOUT)
    assert [shell.wait(tracing.TIMEOUT) for shell in shells] == [0, 0]
    assert counts(output) == {0x1000 + 81: 7, 0x1000 + 82: 7}


def test_a_process_that_has_a_tracer(waiting: subprocess.Popen[str], eventually: Eventually) -> None:
    with tracing.start("-p", waiting.pid, stderr=subprocess.DEVNULL) as first:
        owner = eventually(lambda: tracer_of(waiting.pid))
        second = tracing.trace("-p", waiting.pid)
        first.terminate()
    assert second.returncode == 4
    assert f"already traced by process {owner}" in second.stderr
    assert second.stderr.count("\n") == 1


def as_nobody(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs `glassstack trace` as another user, with an interpreter that he may use."""
    if os.geteuid():
        pytest.skip("only root can become another user")
    nobody = pwd.getpwnam("nobody")
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    options: dict[str, Any] = {
        "user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": [], "cwd": "/", "check": False,
        "env": {**os.environ, "PYTHONPATH": path}, "capture_output": True, "text": True,
    }  # fmt: skip
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            if not subprocess.run([python, "-c", "import msgspec, ptrace"], **options).returncode:
                command = [python, *tracing.GLASSSTACK[1:], "trace", *map(str, words)]
                return subprocess.run(command, timeout=tracing.TIMEOUT, **options)
        except PermissionError:
            continue
    pytest.skip("no interpreter that another user may use has the packages")


def test_an_ordinary_user_traces_his_own(mix: Path) -> None:
    folder = Path("/tmp") / f"glassstack-nobody-{os.getpid()}"
    folder.mkdir(mode=0o755)
    try:
        program = Path(shutil.copy(mix, folder))
        done = as_nobody("--gpu", "none", "-f", "-e", "trace=ioctl", "--json", "--", program)
        assert (done.returncode, done.stderr) == (0, "")
        assert sum(counts(done.stdout).values()) == 23 * 6 + 6 + 5 + 3 * 7
    finally:
        shutil.rmtree(folder)


def test_an_ordinary_user_is_refused_others(waiting: subprocess.Popen[str]) -> None:
    done = as_nobody("-p", str(waiting.pid))
    assert done.returncode == 4
    assert f"no permission to trace process {waiting.pid}; run as root" in done.stderr
    assert done.stderr.count("\n") == 1
