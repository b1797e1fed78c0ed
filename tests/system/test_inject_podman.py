"""A client of our CDI specification that is not ours: podman, on the embedded device."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.injecting import Place

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: mounts, and podman's containers"),
    pytest.mark.skipif(not shutil.which("podman"), reason="no podman: apt-get install podman"),
    pytest.mark.skipif(not shutil.which("runc"), reason="no runc: apt-get install runc"),
]

# podman reads specifications in fixed places only: so they are put there where nobody else sees it.
# The limits are what a machine that is a container itself may set.
SCRIPT = """
set -eu
mount -t tmpfs tmpfs /run
mkdir /run/cdi
cp "$1/cdi/gpu.json" /run/cdi/
here=$1/podman
mkdir "$here"
pods() { podman --root "$here/storage" --runroot "$here/run" --tmpdir "$here/tmp" --storage-driver vfs \\
    --cgroup-manager cgroupfs --events-backend file --runtime runc "$@"; }
limits="--ulimit nofile=1024:1024 --ulimit nproc=1024:1024"
in_pod() { pods run --rm --network none --pull never $limits "$@"; }
tar -C "$1/root" -cf - . | pods import --quiet - localhost/glassstack-test >&2
in_pod --device glassstack.dev/gpu=0 localhost/glassstack-test /usr/bin/vectoradd
in_pod --device glassstack.dev/gpu=1 localhost/glassstack-test /bin/ls /dev
in_pod localhost/glassstack-test /bin/ls /dev | sed 's/^/without /'
in_pod --device glassstack.dev/gpu=5 localhost/glassstack-test /bin/ls /dev || true
"""


@pytest.fixture
def place(minirt: Path) -> Iterator[Place]:
    folder = Path(subprocess.check_output(["mktemp", "-d", "/tmp/inject-XXXXXX"], text=True).strip())
    yield Place(folder, minirt.parent).make()
    shutil.rmtree(folder, ignore_errors=True)


def test_podman_injects_by_our_specification(place: Place) -> None:
    done = place.host("unshare", "-m", "sh", "-c", SCRIPT, "sh", str(place.folder))
    assert "Test PASSED" in done.stdout, done.stderr
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("fakegpu")] == ["fakegpu-uvm", "fakegpu1", "fakegpuctl"]
    assert "without null" in lines
    assert not [line for line in lines if line.startswith("without fakegpu")]
    assert "unresolvable CDI devices glassstack.dev/gpu=5" in done.stderr
