"""The cgroup reader against the kernel's own cgroups, v2 or v1, whichever can be written here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from glassstack.collectors.cgroup import CgroupCollector
from glassstack.collectors.cgroup_mounts import mounts
from glassstack.model.entities import Cgroup
from tests.support import eventually

CGROUP = (sys.executable, "-m", "glassstack.cli.main", "cgroup")


def _controller_root() -> Path:
    for mount in mounts(Path("/proc/self/mountinfo").read_text()):
        point = Path(mount.point)
        if mount.version == 1 and "memory" in mount.controllers and os.access(point, os.W_OK):
            return point
        if mount.version == 2 and "memory" in (point / "cgroup.subtree_control").read_text().split():
            return point
    pytest.skip("no cgroup hierarchy with a memory controller is writable here")


@pytest.fixture
def nested() -> Iterator[tuple[Path, Path]]:
    """An outer cgroup with a memory limit and an inner one without; both removed in the end."""
    outer = _controller_root() / f"glassstack-test-{uuid.uuid4().hex[:8]}"
    inner = outer / "inner cgroup"
    try:
        outer.mkdir()
    except OSError as error:
        pytest.skip(f"cgroups cannot be made here: {error}")
    try:
        name = "memory.max" if (outer / "cgroup.type").exists() else "memory.limit_in_bytes"
        if name == "memory.max":
            (outer / "cgroup.subtree_control").write_text("+memory")
        (outer / name).write_text(str(256 << 20))
        inner.mkdir()
        yield outer, inner
    finally:
        for directory in (inner / "child", inner, outer):
            eventually(partial(_removed, directory))


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that waits for its standard input to end."""
    with subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def _removed(directory: Path) -> bool:
    """Removes a cgroup; the kernel refuses for a moment after its last process was reaped."""
    try:
        directory.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def own(tree: tuple[Cgroup, ...]) -> Cgroup:
    return next(group for group in tree if group.relation == "own" and "memory" in group.controllers)


@pytest.mark.cgroup
def test_limit_of_an_ancestor_counts(nested: tuple[Path, Path], sleeper: subprocess.Popen[bytes]) -> None:
    outer, inner = nested
    (inner / "cgroup.procs").write_text(str(sleeper.pid))
    event = CgroupCollector(list).of(sleeper.pid)
    group = own(event.tree)
    (memory,) = [limit for limit in group.limits if limit.name == "memory.max"]
    assert group.path == f"/{outer.name}/inner cgroup"
    assert (memory.own, memory.effective, memory.set_by) == (None, 256 << 20, f"/{outer.name}")
    assert sleeper.pid in group.pids


@pytest.mark.cgroup
def test_command_shows_it(nested: tuple[Path, Path], sleeper: subprocess.Popen[bytes]) -> None:
    outer, inner = nested
    (inner / "cgroup.procs").write_text(str(sleeper.pid))
    command = [*CGROUP, str(sleeper.pid), "--once"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (line,) = [line for line in text.splitlines() if line.startswith("memory.max ")]
    assert "256 MiB" in line
    assert f"/{outer.name}" in line
    reply = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout
    assert json.loads(reply)["own"].endswith("/inner cgroup")


@pytest.mark.cgroup
def test_cgroups_that_come_and_go_never_raise(
    nested: tuple[Path, Path], sleeper: subprocess.Popen[bytes]
) -> None:
    """A child cgroup is made and removed all the time while its parent is read."""
    inner = nested[1]
    script = 'while :; do mkdir "$1/child"; rmdir "$1/child"; done'
    collector = CgroupCollector(list)
    (inner / "cgroup.procs").write_text(str(sleeper.pid))
    churn = subprocess.Popen(["sh", "-c", script, "sh", str(inner)], start_new_session=True)
    try:
        events = [collector.of(sleeper.pid) for _ in range(53)]
    finally:
        os.killpg(churn.pid, 9)
        churn.wait()
    assert all(not event.missing and own(event.tree).path.endswith("/inner cgroup") for event in events)


def test_own_cgroups_are_those_the_kernel_names() -> None:
    event = CgroupCollector(list).of(os.getpid())
    named = {line.split(":", 2)[2] for line in Path("/proc/self/cgroup").read_text().splitlines()}
    assert {group.path for group in event.tree if group.relation == "own"} <= named
    assert event.tree or event.missing


def test_unknown_pid_is_one_line_and_exit_1() -> None:
    command = [*CGROUP, "2147483647", "--once"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("glassstack: no process with pid 2147483647; ")
    assert done.stdout == ""


def test_the_loop_ends_well_when_the_process_does() -> None:
    target = subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE)
    command = [
        sys.executable,
        "-m",
        "glassstack.cli.main",
        "cgroup",
        str(target.pid),
        "--json",
        "--interval=0.05",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watch:
        assert watch.stdout
        assert json.loads(watch.stdout.readline())["pid"] == target.pid
        target.kill()
        target.wait()
        _, errors = watch.communicate(timeout=20)
    assert watch.returncode == 0
    assert errors.strip() == f"glassstack: no process with pid {target.pid}"
