#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""minirt over time on a kernel with every controller: OOM, exec, events, a list that changes, kills. Prints KTAP."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT))

from tests.kmod import ktap  # noqa: E402
from tests.minirt import containers  # noqa: E402
from tests.minirt.containers import Done, Runtime  # noqa: E402
from tests.support import eventually  # noqa: E402

MINIRT = Path(os.environ.get("FAKEGPU_BIN", ROOT / "build/bin")) / "minirt"
GUEST = ROOT / "build/minirt-tests/guest"
CGROUPS = Path("/sys/fs/cgroup")
KILLS = 40
MIB = 1 << 20


@contextmanager
def rootful() -> Iterator[Runtime]:
    with containers.runtime(MINIRT, GUEST, rootless=False) as runtime:
        yield runtime
    assert not list(CGROUPS.glob("**/minirt-*")), "a cgroup is left"


@contextmanager
def running(runtime: Runtime, name: str, *options: str) -> Iterator[Path]:
    """A container that sleeps; its group."""
    done = runtime.run("sleep", "600", options=[*options, "--id", name, "--detach"])
    assert done.returncode == 0, done
    try:
        yield CGROUPS / f"minirt-{name}"
    finally:
        runtime.host([runtime.program, "delete", "--force", name])


def within(runtime: Runtime, name: str, *verb: str) -> Done:
    return runtime.host([runtime.program, "exec", name, "/guest", *verb])


def test_an_oom_kill_is_a_step_and_a_status() -> None:
    with rootful() as runtime:
        steps = runtime.folder / "steps"
        options = ["--memory", "16M", "--swap", "0", "--steps", str(steps)]
        done = runtime.run("memhog", str(64 * MIB), options=options)
        told = [json.loads(line) for line in steps.read_text().splitlines()]
    assert done.returncode == 137, done
    (oom,) = [step["detail"] for step in told if step["step"] == "oom"]
    assert oom["kills"] >= 1
    (ended,) = [step["detail"] for step in told if step["step"] == "exit"]
    assert ended["status"] == 137


def test_exec_counts_against_the_limits_and_sees_its_group_as_root() -> None:
    with rootful() as runtime, running(runtime, "one", "--memory", "16M", "--swap", "0") as group:
        assert within(runtime, "one", "cat", "/proc/self/cgroup").stdout == "0::/\n"
        killed = within(runtime, "one", "memhog", str(64 * MIB))
        events = dict(line.split() for line in (group / "memory.events").read_text().splitlines())
    assert killed.returncode == 137, killed
    assert int(events["oom_kill"]) >= 1


def test_events_tell_of_each_oom_kill() -> None:
    with rootful() as runtime, running(runtime, "one", "--memory", "16M", "--swap", "0"):
        (before,) = runtime.host([runtime.program, "events", "one"]).stdout.splitlines()
        follow = subprocess.Popen(
            [runtime.program, "events", "--follow", "one"],
            stdout=subprocess.PIPE,
            text=True,
            env={"MINIRT_STATE_DIR": str(runtime.folder / "state")},
        )
        within(runtime, "one", "memhog", str(64 * MIB))
        assert follow.stdout is not None
        lines = [json.loads(line) for line in follow.stdout]  # ends with the container
        assert follow.wait() == 0
    assert json.loads(before)["memory.events"]["oom_kill"] == 0
    assert json.loads(before)["memory.max"] == 16 * MIB
    assert lines[-1]["memory.events"]["oom_kill"] >= 1


def test_the_device_list_of_a_running_container_changes() -> None:
    node = Path("/dev/fakegpu0").stat().st_rdev
    rule = f"c {os.major(node)}:{os.minor(node)} rwm"
    with rootful() as runtime, running(runtime, "one", "--device", "/dev/fakegpu0"):
        change = [str(runtime.program), "devices", "one"]
        allowed = within(runtime, "one", "opendev", "/dev/fakegpu0", "rw").stdout
        denied = runtime.host([*change, f"deny {rule}"]), within(runtime, "one", "opendev", "/dev/fakegpu0")
        again = runtime.host([*change, f"allow {rule}"]), within(runtime, "one", "opendev", "/dev/fakegpu0")
        listed = runtime.host(change).stdout.splitlines()
    assert allowed == "done /dev/fakegpu0\n"
    assert denied[0].returncode == 0, denied
    assert denied[1].stdout == "refused EPERM /dev/fakegpu0\n"
    assert again[0].returncode == 0, again
    assert again[1].stdout == "done /dev/fakegpu0\n"
    assert listed[-2:] == [f"deny {rule}", f"allow {rule}"]


def test_killed_at_random_moments_nothing_is_left() -> None:
    chance = random.Random(11)
    links = set(os.listdir("/sys/class/net"))
    with rootful() as runtime:
        environment = {"MINIRT_STATE_DIR": str(runtime.folder / "state")}
        for _ in range(KILLS):
            options = ["--memory", "32M", "--pids", "9", *(["--net"] if chance.random() < 0.3 else [])]
            words = map(str, (runtime.program, "run", *options, runtime.root, "/guest", "sleep", "600"))
            process = subprocess.Popen(list(words), env=environment, stderr=subprocess.DEVNULL)
            try:
                process.wait(chance.random() * 0.15)  # a start takes about 0.08 s here
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        assert runtime.run("true").returncode == 0
        assert os.listdir(runtime.folder / "state") == [".steps"]  # of the newest starts, kept on purpose
        eventually(lambda: set(os.listdir("/sys/class/net")) <= links)


if __name__ == "__main__":
    sys.exit(ktap.main(globals()))
