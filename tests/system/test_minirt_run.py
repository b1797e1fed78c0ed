"""minirt run: what a container sees and can't see, how it ends, what is told of its start."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support import eventually
from tests.system.minirt_lab import UNIFIED, Runtime, words_of

pytestmark = pytest.mark.usefixtures("host_mounts")


def test_only_pid_1_and_the_command_are_there(containers: Runtime) -> None:
    pids = [line.split()[0] for line in words_of(containers.ok("/guest", "ps"))]
    assert pids == ["1", "2"]


def test_pid_1_tells_nothing_of_the_host(containers: Runtime) -> None:
    assert containers.ok("/guest", "cat", "/proc/1/cmdline").rstrip("\0") == "minirt init"
    assert "of the host" not in containers.run("/guest", "cat", "/proc/1/environ").stdout
    assert "of the host" not in containers.ok("/guest", "env")
    assert containers.run("/guest", "ls", "/proc/1/fd").stdout in ("", "/proc/1/fd: EACCES\n")


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (("/guest", "exit", "7"), 7),
        (("/guest", "die", "9"), 128 + 9),
        (("/guest", "die", "15"), 128 + 15),
        (("/nosuch",), 127),
        (("nosuch",), 127),
        (("/guest/nosuch",), 127),
        (("/tmp",), 126),
        (("--memory", "1Q", "--", "/guest"), 2),
        (("--no-such-option", "--", "/guest"), 2),
    ],
)
def test_the_exit_status_is_the_commands_or_says_what_went_wrong(
    containers: Runtime, command: tuple[str, ...], status: int
) -> None:
    done = containers.run(*command)
    assert done.returncode == status
    assert (done.stderr.count("\n") == 1) == (status in (2, 126, 127)), done.stderr
    assert containers.names() == []


def test_it_is_in_namespaces_of_its_own(containers: Runtime) -> None:
    inside = words_of(containers.ok("/guest", "namespaces"))
    host = {os.readlink(f"/proc/self/ns/{link}") for link in os.listdir("/proc/self/ns")}
    shared = {name.split(":")[0] for name in inside if name in host}
    assert shared == (set() if containers.rootless else {"user"})
    assert len(inside) == 7


def test_the_hostname_is_its_own(containers: Runtime) -> None:
    before = os.uname().nodename
    assert containers.ok("--hostname", "box", "--", "/guest", "hostname") == "box\n"
    assert containers.ok("--id", "named", "--", "/guest", "hostname") == "named\n"
    assert os.uname().nodename == before


def test_the_loopback_is_its_own_and_up(containers: Runtime) -> None:
    lines = containers.ok("/guest", "cat", "/proc/self/net/dev").splitlines()[2:]
    assert [line.split(":")[0].strip() for line in lines] == ["lo"]
    # The kernel has a route to 127.0.0.1 as soon as the device is up.
    assert "127.0.0.1" in containers.ok("/guest", "cat", "/proc/self/net/fib_trie")


def test_no_descriptor_of_the_host_gets_in(containers: Runtime) -> None:
    with open("/etc/hostname") as secret:
        done = containers.run("/guest", "fds", pass_fds=[secret.fileno()])
    assert [line.split()[0] for line in words_of(done.stdout)] == ["0", "1", "2"]


def test_files_environment_folder_and_user_are_as_asked(containers: Runtime, tmp_path: Path) -> None:
    shared = containers.work / "shared"
    shared.mkdir()
    (shared / "told").write_text("hello\n")
    options = ["--env", "A=b", "--env", "A=c", "--cwd", "/tmp", "--mount", f"{shared}:/data:ro"]
    assert containers.ok(*options, "--", "/guest", "cat", "/data/told") == "hello\n"
    assert "A=c" in words_of(containers.ok(*options, "--", "/guest", "env"))
    assert containers.ok(*options, "--", "/guest", "cwd") == "/tmp\n"
    assert "EROFS" in containers.run(*options, "--", "/guest", "create", "/data/new").stdout
    assert containers.run("--tmpfs", "/scratch", "--", "/guest", "create", "/scratch/new").returncode == 0


def test_a_read_only_root_stays_as_it_is(containers: Runtime) -> None:
    assert containers.run("/guest", "create", "/tmp/one").returncode == 0
    assert "EROFS" in containers.run("--read-only", "--", "/guest", "create", "/tmp/two").stdout
    assert [path.name for path in (containers.root / "tmp").iterdir()] == ["one"]


def test_another_user_has_no_capability(rootful: Runtime) -> None:
    assert "Uid:\t5\t5\t5\t5" in rootful.ok("--user", "5:6", "--", "/guest", "ids")
    caps = dict(line.split(":") for line in words_of(rootful.ok("--user", "5", "--", "/guest", "caps")))
    assert int(caps["CapEff"], 16) == int(caps["CapPrm"], 16) == 0


def test_each_signal_reaches_the_command_once(containers: Runtime) -> None:
    process = containers.start("--id", "signalled", "--", "/guest", "signals")
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    containers.running("signalled")
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
        process.send_signal(number)
        assert process.stdout.readline() == f"{int(number)}\n"
    assert containers.call("kill", "signalled", "USR1").returncode == 0
    assert process.stdout.readline() == f"{int(signal.SIGUSR1)}\n"
    process.terminate()
    assert process.stdout.read() == f"{int(signal.SIGTERM)}\n"
    assert process.wait() == 0


def test_orphans_are_reaped(containers: Runtime) -> None:
    containers.start("--id", "orphans", "--", "/guest", "sleep", "60")
    containers.running("orphans")
    assert containers.call("exec", "orphans", "/guest", "orphan").returncode == 0

    def only_two() -> bool:
        return len(containers.call("ps", "orphans").stdout.splitlines()) == 3

    eventually(only_two)


def test_the_steps_are_told_in_order_with_their_host_pids(containers: Runtime) -> None:
    steps = containers.steps("--id", "told", "--hostname", "box", "--", "/guest", "true")
    names = [step["step"] for step in sorted(steps, key=lambda step: step["ts"])]
    order = ["clone", "mount", "device", "pivot-root", "capabilities", "seccomp", "exec", "exit"]
    assert [name for at, name in enumerate(names) if name in order and name not in names[:at]] == order
    assert ("id-map" in names) == containers.rootless
    assert all(step["id"] == "told" and step["errno"] == 0 for step in steps)
    (clone,) = [step for step in steps if step["step"] == "clone"]
    assert {step["pid"] for step in steps if step["step"] == "mount"} == {clone["detail"]["child"]}
    mounts = [step["detail"]["target"] for step in steps if step["step"] == "mount"]
    assert {"/", "/proc", "/dev", "/sys"} <= set(mounts)


def test_a_step_that_fails_tells_its_error_and_the_container_is_gone(containers: Runtime) -> None:
    missing = containers.root / "nosuch"
    missing.mkdir()
    options = ["--id", "failed", "--mount", f"{missing}:/guest/below"]
    steps = containers.steps(*options, "--", "/guest", "true")
    (failed,) = [step for step in steps if step["errno"]]
    assert failed["step"] == "mount"
    assert failed["detail"]["target"] == "/guest/below"
    assert "exec" not in {step["step"] for step in steps}
    assert containers.names() == []


def test_steps_go_to_a_descriptor_too(containers: Runtime) -> None:
    inward, outward = os.pipe()
    done = containers.run("--steps", str(outward), "--", "/guest", "fds", pass_fds=[outward])
    os.close(outward)
    with os.fdopen(inward) as told:
        assert '"step":"exec"' in told.read()
    assert len(words_of(done.stdout)) == 3, "the descriptor of the steps is in the container"


@pytest.mark.skipif(
    "memory" in (UNIFIED / "cgroup.controllers").read_text().split(), reason="cgroup v2 can limit here"
)
def test_a_limit_that_cant_be_set_is_refused_and_where_it_would_work_is_said(containers: Runtime) -> None:
    done = containers.run("--memory", "100M", "--", "/guest", "true")
    assert done.returncode == 4
    assert "glassstack lab" in done.stderr
    assert containers.names() == []


def test_an_ordinary_user_is_told_of_rootless(rootless: Runtime) -> None:
    command = [str(rootless.program), "run", str(rootless.root), "/guest", "true"]
    done = subprocess.run(command, capture_output=True, **rootless.options())
    assert done.returncode == 4
    assert "--rootless" in done.stderr


def test_more_ids_are_mapped_by_newuidmap(rootless: Runtime) -> None:
    """nobody has no range in /etc/subuid here, so the helper refuses, and that is told."""
    maps = ["--uid-map", f"0:{os.geteuid() or 65534}:1", "--uid-map", "1:100000:10"]
    done = rootless.run(*maps, "--", "/guest", "true")
    if done.returncode == 0:
        pytest.skip("this user has a range of ids")
    assert done.returncode in (4, 125)
    assert "uidmap" in done.stderr
    assert rootless.names() == []
