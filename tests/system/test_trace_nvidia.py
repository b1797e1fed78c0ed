"""The live tracer on NVIDIA's nodes: arguments before and after, what they point to, calls tied together.

The nodes are files in a /dev of the test's own, and a filter of the program
answers its ioctls: the bytes are those of the real layouts, the driver is none.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from tests import tracing

pytestmark = [pytest.mark.ptrace, pytest.mark.root]

WORLD = """
set -e
mount -t tmpfs none "$1/dev"
cp -a /dev/null /dev/zero /dev/urandom "$1/dev"
truncate -s 65536 "$1/dev/nvidiactl" "$1/dev/nvidia-uvm"
mount --bind "$1/dev" /dev
"$1/nvidia_calls" &
"$2" -m glassstack.cli.main trace --json -p $!
wait $!
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("nvidia")
    tracing.build("nvidia_calls.c", folder)
    (folder / "dev").mkdir()
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", WORLD, "sh", folder, sys.executable],
        capture_output=True,
        text=True,
        timeout=tracing.TIMEOUT,
        env=tracing.environment(),
    )
    if "permitted" in done.stderr or "denied" in done.stderr:
        pytest.skip(f"no mount namespace here: {done.stderr.splitlines()[0]}")
    assert done.returncode == 0, done.stderr
    return [line for line in tracing.objects(done.stdout) if line["device"].startswith("/dev/nvidia")]


def fields(seen: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [line["fields"] for line in seen if line["name"] == name]


def test_the_calls_in_order(seen: list[dict[str, Any]]) -> None:
    assert [line["name"] for line in seen] == [
        *("open", "RM_ALLOC", "RM_CONTROL", "RM_CONTROL", "RM_CONTROL", "RM_ALLOC", "RM_ALLOC", "RM_ALLOC"),
        *("open", "RM_MAP_MEMORY", "mmap", "open", "UVM_INITIALIZE"),
    ]
    assert all(line["errno"] is None for line in seen)


def test_the_status_is_read_although_ioctl_said_0(seen: list[dict[str, Any]]) -> None:
    plain, transferred, unknown = fields(seen, "RM_CONTROL")
    assert (plain["cmd"], plain["nv_status"]) == ("GPU_GET_NAME_STRING", "NOT_SUPPORTED (0x56)")
    assert (transferred["via"], transferred["nv_status"]) == ("XFER_CMD", "INVALID_ARGUMENT (0x1f)")
    assert unknown["unknown"] == "control 0x20801a7f"
    assert fields(seen, "UVM_INITIALIZE") == [{"nv_status": "ILLEGAL_ACTION (0x16)"}]


def test_what_an_allocation_points_to_is_read_or_missing(seen: list[dict[str, Any]]) -> None:
    root, channel, unreadable, _ = fields(seen, "RM_ALLOC")
    assert root["class"] == "NV01_ROOT_CLIENT"
    assert channel["gpFifoEntries"] == 1024
    assert unreadable["class"] == "HOPPER_CHANNEL_GPFIFO_A"
    assert "gpFifoEntries" not in unreadable
    assert unreadable["parameters"] == "missing: could not be read"


def test_the_mapping_is_known_to_be_the_doorbell(seen: list[dict[str, Any]]) -> None:
    (prepared,), (mapped,) = fields(seen, "RM_MAP_MEMORY"), fields(seen, "mmap")
    assert prepared["object"] == "HOPPER_USERMODE_A"
    assert mapped["maps"] == "doorbell (HOPPER_USERMODE_A) 0x5c000010"
