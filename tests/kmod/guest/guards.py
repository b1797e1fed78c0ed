#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Containers on a kernel of their own: the escapes, the limits, the device list. Prints KTAP."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT))

from tests.kmod import ktap  # noqa: E402
from tests.minirt import containers, escapes  # noqa: E402
from tests.minirt.containers import Done, Runtime  # noqa: E402

MINIRT = Path(os.environ.get("FAKEGPU_BIN", ROOT / "build/bin")) / "minirt"
GUEST = ROOT / "build/minirt-tests/guest"
CGROUPS = Path("/sys/fs/cgroup")
MIB = 1 << 20
KILLS = 23
KILLED = 128 + 9
PREREQUISITE = 4
NOT_IN_THIS_KERNEL = {"uevent-helper"}
"""What the distribution's kernel is built without, so that it can't be seen to work."""


CLEANUP = ExitStack()


@cache
def shared(rootless: bool) -> Runtime:
    """One runtime for all that leave nothing in its folder."""
    return CLEANUP.enter_context(containers.runtime(MINIRT, GUEST, rootless))


def escape(judge: Callable[[escapes.Escape, Runtime], None], row: escapes.Escape, rootless: bool) -> None:
    judge(row, shared(rootless))


def image(row: escapes.Image, rootless: bool) -> None:
    escapes.check_image(row, shared(rootless))


@contextmanager
def rootful() -> Iterator[Runtime]:
    with containers.runtime(MINIRT, GUEST, rootless=False) as runtime:
        yield runtime
    assert not list(CGROUPS.glob("**/minirt-*")), "a cgroup is left"


def lines(done: Done) -> list[str]:
    assert done.returncode == 0, done
    return done.stdout.splitlines()


def test_memory_limit_kills_at_the_limit() -> None:
    with rootful() as runtime:
        for _ in range(KILLS):
            done = runtime.run("memhog", str(64 * MIB), options=["--memory", "16M", "--swap", "0"])
            assert done.returncode == KILLED, done
            reached = int(done.stdout.split()[-1])
            assert 12 * MIB <= reached < 16 * MIB, done
        done = runtime.run("memhog", str(8 * MIB), options=["--memory", "16M", "--swap", "0"])
        assert lines(done)[-1] == "held"


def test_pids_limit_holds() -> None:
    with rootful() as runtime:
        (said,) = lines(runtime.run("forkbomb", options=["--pids", str(KILLS)]))
    # PID 1 and the bomb itself are two of them.
    assert said == f"{KILLS - 2} EAGAIN"


def test_limits_are_in_the_files() -> None:
    options = ["--memory", "32M", "--memory-high", "24M", "--swap", "1M", "--cpus", "0.5", "--pids", "7"]
    wanted = {
        "memory.max": str(32 * MIB),
        "memory.high": str(24 * MIB),
        "memory.swap.max": str(MIB),
        "memory.oom.group": "1",
        "cpu.max": "50000 100000",
        "pids.max": "7",
    }
    with rootful() as runtime, runtime.running("limits", *options):
        group = CGROUPS / "minirt-limits"
        found = {file: (group / file).read_text().strip() for file in wanted}
    assert found == wanted


@contextmanager
def inside(group: Path) -> Iterator[None]:
    """This process in a new group for a while; what is left in it is removed."""
    group.mkdir()
    try:
        (group / "cgroup.procs").write_text("0")
        yield
    finally:
        (CGROUPS / "cgroup.procs").write_text(str(os.getpid()))
        for below in (*group.iterdir(), group):
            if below.is_dir():
                below.rmdir()


def limited(runtime: Runtime) -> Done:
    return runtime.run("true", options=["--memory", "32M"])


def test_a_unit_that_is_not_delegated_is_left_alone() -> None:
    unit = CGROUPS / "shell.scope"
    with rootful() as runtime, inside(unit):
        done = limited(runtime)
        below = [path for path in unit.iterdir() if path.is_dir()]
    assert done.returncode == PREREQUISITE, done
    assert "Delegate=yes" in done.stderr
    assert not below


def test_a_delegated_unit_is_used_by_the_rules() -> None:
    """Controllers handed down, so no process is left but in leaves; twice, the second from the leaf."""
    unit = CGROUPS / "ours.scope"
    with rootful() as runtime, inside(unit):
        os.setxattr(unit, "user.delegate", b"1")
        first, second = limited(runtime), limited(runtime)
        own = Path("/proc/self/cgroup").read_text().strip()
        down = (unit / "cgroup.subtree_control").read_text().split()
    assert (first.returncode, second.returncode) == (0, 0), (first, second)
    assert own == "0::/ours.scope/minirt.self"
    assert "memory" in down


def test_an_ordinary_user_limits_in_what_is_delegated_to_it() -> None:
    """As in a scope of systemd's for a user: the group and the two files to hand down by are the user's."""
    unit = CGROUPS / "user.scope"
    (CGROUPS / "cgroup.subtree_control").write_text("+memory +cpu +pids")
    options = ["--memory", "16M", "--swap", "0"]
    with containers.runtime(MINIRT, GUEST, rootless=True) as runtime, inside(unit):
        os.setxattr(unit, "user.delegate", b"1")
        for path in (unit, unit / "cgroup.procs", unit / "cgroup.subtree_control"):
            os.chown(path, containers.NOBODY, containers.NOBODY)
        fine = runtime.run("memhog", str(4 * MIB), options=options)
        killed = runtime.run("memhog", str(64 * MIB), options=options)
    assert fine.returncode == 0, fine
    assert killed.returncode == KILLED, killed


def test_another_user_without_delegation_is_told() -> None:
    with containers.runtime(MINIRT, GUEST, rootless=True) as runtime:
        done = limited(runtime)
    assert done.returncode == PREREQUISITE, done
    assert "not delegated" in done.stderr


def test_the_device_list_denies_by_default() -> None:
    options = ["--cap-add", "MKNOD", "--device", "/dev/fakegpu0:/dev/fakegpu0:rw"]
    with rootful() as runtime:
        allowed = runtime.run("gpu", options=options)
        without = runtime.run("gpu")
        node = Path("/dev/fakegpu0").stat().st_rdev
        made = runtime.run(
            "mknod", "/gpu", "c", str(os.major(node)), str(os.minor(node)), options=options[:2]
        )
    assert allowed.stdout == "done INFO\n", allowed
    assert without.stdout.startswith("refused ENOENT"), without
    assert made.stdout == "refused EPERM /gpu\n", made


def declare() -> None:
    """A test for each row of the table of escapes, as each user."""
    found = globals()
    for rootless in (False, True):
        user = "rootless" if rootless else "rootful"
        for row in escapes.ESCAPES:
            found[f"test_{user}_{row.id}"] = partial(escape, escapes.check_refused, row, rootless)
        for link in escapes.IMAGES:
            found[f"test_{user}_{link.id}"] = partial(image, link, rootless)
    for row in escapes.ESCAPES:
        if row.id in NOT_IN_THIS_KERNEL:
            continue
        found[f"test_works_{row.id}"] = partial(escape, escapes.check_works, row, False)


if __name__ == "__main__":
    declare()
    if sys.argv[1:] != ["--list"]:
        subprocess.run(["mount", "-t", "binfmt_misc", "none", "/proc/sys/fs/binfmt_misc"], check=False)
    with CLEANUP:
        sys.exit(ktap.main(globals()))
