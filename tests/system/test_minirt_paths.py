"""Paths of a container lead into it whatever its links say: mounts, nodes, the folder of the command."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.system.minirt_lab import Runtime

pytestmark = pytest.mark.usefixtures("host_mounts")


@pytest.fixture
def outside(containers: Runtime) -> Path:
    """A folder of the host that the links in the root point at, empty before and after."""
    folder = containers.work / "outside"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


@pytest.mark.parametrize("way", ["absolute", "upward", "through-proc"])
def test_a_mount_on_a_link_stays_inside(containers: Runtime, outside: Path, way: str) -> None:
    target = {
        "absolute": str(outside),
        "upward": "../" * 12 + str(outside).lstrip("/"),
        "through-proc": f"/proc/self/root{outside}",
    }[way]
    (containers.root / "data").symlink_to(target)
    done = containers.run("--tmpfs", "/data/deep", "--", "/guest", "create", "/data/deep/file")
    assert list(outside.iterdir()) == [], "something of the container came to be on the host"
    if done.returncode == 0:
        inside = containers.root / str(outside).lstrip("/") / "deep"
        assert inside.is_dir() or way == "through-proc"


def test_a_dev_that_is_a_link_stays_inside(containers: Runtime, outside: Path) -> None:
    shutil.rmtree(containers.root / "dev", ignore_errors=True)
    (containers.root / "dev").symlink_to(outside)
    containers.run("/guest", "true")
    assert list(outside.iterdir()) == []


def test_a_device_below_a_link_stays_inside(containers: Runtime, outside: Path) -> None:
    (containers.root / "nodes").symlink_to(outside)
    inside = containers.root / str(outside).lstrip("/")
    inside.mkdir(parents=True)
    inside.chmod(0o777)
    done = containers.run("--device", "/dev/null:/nodes/null", "--", "/guest", "stat", "/nodes/null")
    assert done.returncode == 0, done.stderr
    assert list(outside.iterdir()) == []


def test_a_file_mounted_on_a_dangling_link_is_refused_or_inside(containers: Runtime, outside: Path) -> None:
    source = containers.work / "source"
    source.write_text("x")
    (containers.root / "file").symlink_to(outside / "made")
    containers.run("--mount", f"{source}:/file", "--", "/guest", "true")
    assert list(outside.iterdir()) == []


def test_what_a_mount_of_the_container_shares_the_host_does_not_see(containers: Runtime) -> None:
    """host_mounts compares before and after; this is during."""
    before = Path("/proc/self/mountinfo").read_text()
    process = containers.start("--id", "one", "--tmpfs", "/scratch", "--", "/guest", "sleep", "60")
    containers.running("one")
    assert Path("/proc/self/mountinfo").read_text() == before
    process.kill()


def test_the_old_root_can_not_be_reached(containers: Runtime) -> None:
    mounts = containers.ok("/guest", "mounts")
    assert str(containers.work) not in mounts
    assert containers.run("/guest", "ls", str(containers.work)).returncode == 1
    assert sorted(containers.ok("/guest", "ls", "/..").split()) == sorted(
        containers.ok("/guest", "ls", "/").split()
    )


def test_a_device_has_the_hosts_mode_and_owner_and_a_file_is_none(rootful: Runtime) -> None:
    node = Path("/dev/null").stat()
    told = rootful.ok("--device", "/dev/null:/dev/other:r", "--", "/guest", "stat", "/dev/other").split()
    assert told[:3] == [oct(node.st_mode)[2:], str(node.st_uid), str(node.st_gid)]
    assert told[3] == "1:3"
    assert rootful.run("--device", "/etc/hostname", "--", "/guest", "true").returncode == 2


def test_a_device_takes_the_place_of_no_file(rootful: Runtime) -> None:
    done = rootful.run("--device", "/dev/null:/guest", "--", "/guest", "true")
    assert done.returncode == 125
    assert "File exists" in done.stderr
    assert (rootful.root / "guest").is_file()
    for _ in range(2):  # a node of an earlier start is replaced
        assert rootful.ok("--device", "/dev/null:/node", "--", "/guest", "stat", "/node")
