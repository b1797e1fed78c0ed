"""Cgroup paths of the runtimes, as they appear on real machines."""

from __future__ import annotations

import pytest

from glassstack.collectors.containers import Container, container_of, container_of_any

ID = "0123456789abcdef" * 4
POD = "8a1e8b2c-3d4e-5f60-7182-93a4b5c6d7e8"
POD_ = POD.replace("-", "_")


@pytest.mark.parametrize(
    ("path", "kind", "pod"),
    [
        (f"/system.slice/docker-{ID}.scope", "docker", ""),
        (f"/docker/{ID}", "docker", ""),
        (f"/docker/{ID}/init.scope", "docker", ""),
        (f"/../../docker/{ID}", "docker", ""),
        (f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{POD_}.slice/cri-containerd-{ID}.scope",
         "containerd", POD),
        (f"/kubepods.slice/kubepods-pod{POD_}.slice/crio-{ID}.scope", "cri-o", POD),
        (f"/kubepods/besteffort/pod{POD}/{ID}", "kubernetes", POD),
        (f"/system.slice/containerd.service/kubepods-burstable-pod{POD_}.slice:cri-containerd:{ID}",
         "containerd", ""),
        (f"/machine.slice/libpod-{ID}.scope/container", "podman", ""),
        (f"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope", "podman", ""),
        (f"/libpod_parent/libpod-{ID}", "podman", ""),
        (f"/user.slice/user-1000.slice/user@1000.service/nerdctl-{ID}.scope", "containerd", ""),
        (f"/k8s.io/{ID}", "containerd", ""),
    ],
)  # fmt: skip
def test_container_ids(path: str, kind: str, pod: str) -> None:
    assert container_of(path) == Container(kind, ID, pod)


def test_the_innermost_container_counts() -> None:
    inner = "f" * 64
    assert container_of(f"/docker/{ID}/docker/{inner}") == Container("docker", inner)


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("/lxc.payload.web/system.slice/cron.service", "lxc:web"),
        ("/lxc/db", "lxc:db"),
        ("/machine.slice/machine-deb\\x2d12.scope", "nspawn:deb\\x2d12"),
        ("/system.slice/ssh.service", "systemd:ssh.service"),
        ("/user.slice/user-0.slice/session-3.scope", "systemd:session-3.scope"),
        (f"/docker/{ID}", "docker:0123456789ab"),
    ],
)
def test_labels(path: str, label: str) -> None:
    found = container_of(path)
    assert found
    assert found.label == label


@pytest.mark.parametrize(
    "path", ["/", "/user.slice", "/docker/not-an-id", "/a/b", f"/{ID}", "/dockerish-123.slice"]
)
def test_nothing_is_guessed(path: str) -> None:
    assert container_of(path) is None


def test_a_container_comes_before_a_unit() -> None:
    found = container_of_any(["/system.slice/docker.service", "/", f"/docker/{ID}"])
    assert found == Container("docker", ID)
    assert container_of_any(["/", "/x"]) is None
