"""Containers as they are seen from the host: minirt's and runc's, against what these say themselves."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from glassstack.collectors.container_list import ContainerCollector
from glassstack.collectors.steps import StepCollector, states
from glassstack.containers.explain import NOW, passages
from glassstack.gpu.artifacts import Artifacts, MissingArtifactError
from glassstack.model.entities import Container
from glassstack.model.events import Containers, Step
from glassstack.store.containers import access, lost
from tests.support import eventually

pytestmark = pytest.mark.root


@pytest.fixture
def rootfs(tmp_path: Path) -> Path:
    busybox = shutil.which("busybox")
    if busybox is None:
        pytest.skip("no busybox: apt-get install -y busybox-static")
    (tmp_path / "root/bin").mkdir(parents=True)
    shutil.copy2(busybox, tmp_path / "root/bin/busybox")
    for name in ("sh", "sleep", "hostname"):
        (tmp_path / "root/bin" / name).symlink_to("busybox")
    return tmp_path / "root"


@pytest.fixture
def minirt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINIRT_STATE_DIR", str(tmp_path / "states"))
    try:
        return Artifacts().bin("minirt")
    except MissingArtifactError as error:
        pytest.skip(error.cause)


@pytest.fixture
def web(minirt: Path, rootfs: Path) -> Iterator[str]:
    """A running container."""
    words = [
        str(minirt),
        "run",
        "--id",
        "web",
        "--hostname",
        "inside",
        "--detach",
        str(rootfs),
        "/bin/sleep",
        "60",
    ]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    yield "web"
    subprocess.run([minirt, "delete", "--force", "web"], check=False)


def look(name: str) -> tuple[Containers, Container]:
    event = ContainerCollector(states).look()
    return event, next(one for one in event.containers if one.id == name)


def test_both_views_of_a_container(minirt: Path, web: str) -> None:
    event, container = look(web)
    said = json.loads(subprocess.run([minirt, "state", web], check=True, capture_output=True).stdout)
    assert (container.runtime, container.pid) == ("minirt", said["pid"])
    assert container.world.hostname == "inside"
    assert event.host.hostname != "inside"
    assert [inside for _, inside, _ in container.world.processes] == [1, 2]
    assert container.world.processes[1][2] == "/bin/sleep 60"
    own = {kind for kind, inode in container.world.namespaces.items() if event.host.namespaces[kind] != inode}
    assert own == {"pid", "mnt", "uts", "ipc", "net", "cgroup"}
    assert {node.path for node in container.world.nodes} >= {"/dev/null", "/dev/zero"}
    assert (container.world.seccomp, container.world.no_new_privs) == ("filter", True)
    assert container.world.missing == ()


def test_the_device_list_is_the_kernels(minirt: Path, web: str) -> None:
    """What minirt was asked for, found out by running the program that the kernel has."""
    _, container = look(web)
    if container.devices.missing or not container.devices.programs:
        pytest.skip(f"no device program on this machine: {container.devices.missing}")
    assert access(container.devices, "c", 1, 3) == "rwm"
    assert access(container.devices, "c", 120, 0) == ""
    subprocess.run([minirt, "devices", web, "allow c 120:0 rw", "deny c 1:3 rwm"], check=True)
    _, container = look(web)
    assert access(container.devices, "c", 120, 0) == "rw"
    assert access(container.devices, "c", 1, 3) == ""
    assert access(container.devices, "c", 1, 5) == "rwm"


def test_the_start_is_told_once_and_in_order(web: str, tmp_path: Path) -> None:
    collector = StepCollector([tmp_path / "states"])
    steps = [step for step in collector.sample() if isinstance(step, Step)]
    assert {step.container for step in steps} == {web}
    names = [step.name for step in steps]
    assert names[0] == "cgroup"
    assert names[-1] == "exec"
    assert names.index("clone") < names.index("pivot-root") < names.index("seccomp")
    assert all(step.errno is None for step in steps)
    assert collector.sample() == []
    event, container = look(web)
    assert lost(container, steps) == ""
    told = passages(steps, container, event.host)
    covered = [step for step in steps if step.detail.get("type") in ("mask", "read-only")]
    evidence = sum(len(passage.evidence) for passage in told if passage.chapter != NOW)
    assert evidence == len(steps) - len(covered) + 2


def test_a_container_of_another_runtime(rootfs: Path, tmp_path: Path) -> None:
    if shutil.which("runc") is None:
        pytest.skip("no runc: apt-get install -y runc")
    bundle, name = tmp_path, "glassstack-test"
    (bundle / "root").rename(bundle / "rootfs")
    subprocess.run(["runc", "spec"], cwd=bundle, check=True)
    config = json.loads((bundle / "config.json").read_text())
    config["process"].update(args=["/bin/sleep", "60"], terminal=False)
    (bundle / "config.json").write_text(json.dumps(config))
    words = ["runc", "--root", str(bundle / "state"), "run", "-d", "-b", str(bundle), name]
    with open(bundle / "errors", "w+") as errors:  # a pipe would be held open by the container
        started = subprocess.run(words, check=False, stdout=errors, stderr=errors)
        errors.seek(0)
        if started.returncode:
            pytest.skip(f"runc does not run here: {errors.read().strip()[-200:]}")
    try:
        said = json.loads(
            subprocess.run(
                ["runc", "--root", str(bundle / "state"), "state", name], check=True, capture_output=True
            ).stdout
        )
        event = ContainerCollector().look()
        container = next(one for one in event.containers if one.pid == said["pid"])
        assert container.world.hostname == "runc"
        assert access(container.devices, "c", 1, 3) == "rwm"
        assert access(container.devices, "c", 120, 0) in ("", "m")
    finally:
        subprocess.run(["runc", "--root", str(bundle / "state"), "delete", "-f", name], check=False)
    eventually(lambda: all(one.pid != said["pid"] for one in ContainerCollector().look().containers))
