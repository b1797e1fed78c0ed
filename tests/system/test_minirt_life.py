"""Containers over time: exec, state, kill, delete, what a killed runtime leaves, and who cleans it up."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path

import pytest

from tests.support import eventually
from tests.system.minirt_lab import STUCK, UNIFIED, Runtime, processes_of, words_of

pytestmark = pytest.mark.usefixtures("host_mounts")
KILLS = 60


def test_exec_is_in_the_same_place_with_the_same_reductions(containers: Runtime) -> None:
    containers.start("--id", "one", "--env", "A=b", "--", "/guest", "sleep", "60")
    containers.running("one")
    for verb in ("caps", "seccomp", "ids", "hostname"):
        fresh = containers.ok("--hostname", "one", "--", "/guest", verb)
        assert containers.call("exec", "one", "/guest", verb).stdout == fresh, verb
    names = words_of(containers.call("exec", "one", "/guest", "namespaces").stdout)
    process = containers.state("one")["pid"]
    if not containers.rootless:
        assert names == [(Path(f"/proc/{process}/ns") / name.split(":")[0]).readlink().name for name in names]
    assert "A=b" in words_of(containers.call("exec", "one", "/guest", "env").stdout)
    assert len(words_of(containers.call("exec", "one", "/guest", "ps").stdout)) == 3


@pytest.mark.root
def test_root_too_gets_into_a_user_namespace(containers: Runtime) -> None:
    if os.geteuid() != 0 or containers.rootless:
        pytest.skip("needs root, and a container that root started")
    ids = [
        "--uid-map",
        "0:0:1",
        "--uid-map",
        "1:100001:65535",
        "--gid-map",
        "0:0:1",
        "--gid-map",
        "1:100001:65535",
    ]
    containers.start("--id", "one", "--rootless", *ids, "--user", "5:5", "--", "/guest", "sleep", "60")
    containers.running("one")
    told = containers.call("exec", "one", "/guest", "cat", "/proc/self/uid_map")
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.split() == ["0", "0", "1", "1", "100001", "65535"]


@pytest.mark.parametrize(("command", "status"), [("exit 3", 3), ("die 9", 137), ("nosuch-verb", 2)])
def test_exec_ends_as_its_command_does(containers: Runtime, command: str, status: int) -> None:
    containers.start("--id", "one", "--", "/guest", "sleep", "60")
    containers.running("one")
    assert containers.call("exec", "one", "/guest", *command.split()).returncode == status
    assert containers.call("exec", "one", "/nosuch").returncode == 127
    assert containers.call("exec", "one", "/tmp").returncode == 126
    assert containers.state("one")["status"] == "running"


def test_exec_of_what_does_not_run_says_so(containers: Runtime) -> None:
    done = containers.call("exec", "nobody", "/guest")
    assert done.returncode == 125
    assert done.stderr == "minirt: there is no container nobody; see: minirt ps\n"
    assert containers.call("exec", "../work", "/guest").returncode == 2


def test_a_detached_container_lives_until_it_is_killed(containers: Runtime) -> None:
    assert containers.run("--id", "away", "--detach", "--", "/guest", "sleep", "60").stdout == "away\n"
    state = containers.state("away")
    assert containers.names() == ["away"]
    assert (state["status"], state["minirt"]["detached"]) == ("running", True)
    assert containers.run("--id", "away", "--", "/guest", "true").returncode == 2
    assert containers.call("delete", "away").returncode == 125
    assert containers.call("kill", "away", "SIGKILL").returncode == 0
    eventually(lambda: containers.state("away")["status"] == "stopped")
    assert containers.call("kill", "away").returncode == 125
    assert containers.call("delete", "away").returncode == 0
    assert containers.names() == []
    assert containers.call("delete", "away").returncode == 125


def test_what_a_detached_command_says_goes_to_its_log(containers: Runtime) -> None:
    log = containers.work / "log"
    containers.run("--id", "away", "--detach", "--log", log, "--", "/guest", "echo", "hello")
    eventually(lambda: log.read_text() == "hello\n")


def test_delete_force_ends_it(containers: Runtime) -> None:
    process = containers.start("--id", "one", "--", "/guest", "sleep", "60")
    pid = containers.running("one")["pid"]
    assert containers.call("delete", "--force", "one").returncode == 0
    assert process.wait(STUCK) == 137
    assert not alive(pid)
    assert containers.names() == []


def test_ps_shows_host_and_inside_pids(containers: Runtime) -> None:
    containers.start("--id", "one", "--", "/guest", "sleep", "60")
    pid = containers.running("one")["pid"]
    lines = [json.loads(line) for line in containers.call("ps", "--json", "one").stdout.splitlines()]
    assert [(line["inside"], line["command"]) for line in lines] == [
        (1, "minirt init"),
        (2, "/guest sleep 60"),
    ]
    assert lines[0]["pid"] == pid


def test_the_container_dies_with_its_runtime_and_the_next_run_cleans_up(containers: Runtime) -> None:
    process = containers.start("--id", "one", "--", "/guest", "sleep", "60")
    pid = containers.running("one")["pid"]
    process.kill()
    process.wait(STUCK)
    eventually(lambda: not alive(pid))
    assert containers.state("one")["status"] == "stopped"
    containers.ok("/guest", "true")
    assert containers.names() == []


def alive(pid: int) -> bool:
    """Whether there is such a process and it has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_a_command_of_exec_dies_with_who_waits_for_it(containers: Runtime) -> None:
    containers.start("--id", "one", "--", "/guest", "sleep", "60")
    containers.running("one")
    user = [] if containers.rootless else ["--user", "5"]
    command = containers.command("exec", *user, "one", "/guest", "sleep", "50")
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, **containers.options())

    def inside() -> bool:
        return "sleep 50" in containers.call("ps", "one").stdout

    eventually(inside)
    process.kill()
    process.wait(STUCK)
    eventually(lambda: not inside())
    assert containers.state("one")["status"] == "running"


def groups_of(names: list[str]) -> list[str]:
    return [path.name for path in UNIFIED.rglob("minirt-*") if path.name.removeprefix("minirt-") in names]


def test_killed_at_random_moments_nothing_is_left(fast: Runtime) -> None:
    chance = random.Random(11)
    names = [f"k{number}-{chance.randrange(1 << 30)}" for number in range(KILLS)]
    links = set(Path("/sys/class/net").iterdir())
    for name in names:
        options = ["--net"] if chance.random() < 0.3 else []
        command = fast.command("run", "--id", name, *options, fast.root, "/guest", "sleep", "60")
        process = subprocess.Popen(
            command, **fast.options(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            process.wait(chance.random() * 0.015)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STUCK)
    fast.ok("/guest", "true")
    assert fast.names() == []
    # The steps of the newest starts are kept on purpose.
    assert [path.name for path in (fast.work / "state").iterdir()] == [".steps"]
    assert groups_of(names) == []
    eventually(lambda: set(Path("/sys/class/net").iterdir()) <= links)
    eventually(lambda: processes_of(fast.root) == [])


def test_hooks_run_where_they_should_with_the_state_as_input(rootful: Runtime) -> None:
    told = rootful.work / "told"
    script = f"""#!/bin/sh
cat >>{told}; echo " $1 $(readlink /proc/self/ns/pid)" >>{told}
"""
    hook = rootful.work / "hook"
    hook.write_text(script)
    hook.chmod(0o755)
    points = {"createRuntime", "poststart", "poststop"}
    config = bundle_config(rootful.root, "/guest", "true")
    config["hooks"] = {point: [{"path": str(hook), "args": ["hook", point]}] for point in points}
    (rootful.work / "config.json").write_text(json.dumps(config))
    assert rootful.call("run", rootful.work).returncode == 0
    lines = [line.rpartition("}") for line in told.read_text().splitlines()]
    assert [rest.split()[0] for _, _, rest in lines] == ["createRuntime", "poststart", "poststop"]
    states = [json.loads(state + "}") for state, _, _ in lines]
    assert [state["status"] for state in states] == ["creating", "running", "stopped"]
    assert {rest.split()[1] for _, _, rest in lines} == {Path("/proc/self/ns/pid").readlink().name}


def test_a_hook_that_fails_or_hangs_ends_the_start(rootful: Runtime) -> None:
    for program, timeout, word in (("/bin/false", 5, "status 1"), ("/bin/sleep", 1, "timed out")):
        config = bundle_config(rootful.root, "/guest", "true")
        hook = {"path": program, "args": ["hook", "60"], "timeout": timeout}
        config["hooks"] = {"createRuntime": [hook]}
        (rootful.work / "config.json").write_text(json.dumps(config))
        done = rootful.call("run", rootful.work)
        assert done.returncode == 125
        assert word in done.stderr
        assert rootful.names() == []


def bundle_config(root: Path, *command: str) -> dict[str, object]:
    """The least config.json."""
    kinds = ("pid", "mount", "network", "uts", "ipc", "cgroup")
    return {
        "ociVersion": "1.0.2",
        "root": {"path": str(root)},
        "process": {"args": list(command), "cwd": "/", "user": {"uid": 0, "gid": 0}},
        "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}],
        "linux": {"namespaces": [{"type": kind} for kind in kinds]},
    }
