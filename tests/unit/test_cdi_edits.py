"""What generated specifications hold, and what edits do to a configuration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from glassstack.containers import cdi_apply, cdi_write
from glassstack.containers.cdi_cache import CdiError, Device
from glassstack.containers.cdi_check import check
from glassstack.containers.inventory import Gpu, Inventory, Node

LIBRARIES = (Path("/opt/lib/libfakecuda.so.550.54.14"), Path("/opt/lib/libfakeml.so.550.54.14"))
HOOK = Path("/opt/bin/fakegpu-hook")


def inventory(gpus: int = 2) -> Inventory:
    return Inventory(
        tuple(Gpu(i, f"GPU-uuid-{i}", Node(f"/dev/fakegpu{i}", 120, i, 0o660, 0, 44)) for i in range(gpus)),
        (Node("/dev/fakegpuctl", 120, 255), Node("/dev/fakegpu-uvm", 509, 0)),
        "kernel",
        "550.54.14",
    )


def document(strategy: str = "both", gpus: int = 2) -> dict[str, Any]:
    return cdi_write.specification(inventory(gpus), LIBRARIES, HOOK, strategy)


@pytest.mark.parametrize(
    ("strategy", "names"),
    [
        ("index", ["0", "1", "all"]),
        ("uuid", ["GPU-uuid-0", "GPU-uuid-1", "all"]),
        ("both", ["0", "GPU-uuid-0", "1", "GPU-uuid-1", "all"]),
    ],
)
def test_devices_are_named_by_index_uuid_and_all(strategy: str, names: list[str]) -> None:
    written = document(strategy)
    assert [one["name"] for one in written["devices"]] == names
    assert check(written) == []
    assert written["cdiVersion"] == ("0.3.0" if strategy == "uuid" else "0.5.0")
    assert [node["path"] for node in written["devices"][-1]["containerEdits"]["deviceNodes"]] == [
        "/dev/fakegpu0",
        "/dev/fakegpu1",
    ]


def test_a_node_has_its_numbers_mode_and_owner() -> None:
    node = document()["devices"][0]["containerEdits"]["deviceNodes"][0]
    numbers = {"type": "c", "major": 120, "minor": 0}
    assert node == {"path": "/dev/fakegpu0", "fileMode": 0o660, "permissions": "rw", "gid": 44} | numbers


def test_libraries_come_by_version_with_links_and_the_loaders_cache() -> None:
    edits = document()["containerEdits"]
    assert [mount["containerPath"] for mount in edits["mounts"]] == [
        "/usr/lib/glassstack/libfakecuda.so.550.54.14",
        "/usr/lib/glassstack/libfakeml.so.550.54.14",
    ]
    links, cache = edits["hooks"]
    assert links["args"][:4] == [
        "fakegpu-hook",
        "create-symlinks",
        "--link",
        "libfakecuda.so.550.54.14::/usr/lib/glassstack/libfakecuda.so.1",
    ]
    assert cache["args"] == ["fakegpu-hook", "update-ldcache", "--folder", "/usr/lib/glassstack"]
    assert {hook["hookName"] for hook in edits["hooks"]} == {"createContainer"}


def apply(config: dict[str, Any], *names: str) -> dict[str, Any]:
    written = document()
    by_name = {one["name"]: one["containerEdits"] for one in written["devices"]}
    path = Path("/etc/cdi/glassstack.json")
    cdi_apply.apply(config, [Device(n, path, by_name[n], written["containerEdits"]) for n in names])
    return config


def test_edits_become_devices_rules_mounts_environment_and_hooks() -> None:
    config = apply(
        {"ociVersion": "1.0.2", "process": {"env": ["FAKEGPU_VISIBLE_DEVICES=all", "A=b"]}}, "0", "1"
    )
    paths = [device["path"] for device in config["linux"]["devices"]]
    assert paths == ["/dev/fakegpuctl", "/dev/fakegpu-uvm", "/dev/fakegpu0", "/dev/fakegpu1"]
    assert config["linux"]["resources"]["devices"][2] == {
        "allow": True,
        "type": "c",
        "major": 120,
        "minor": 0,
        "access": "rw",
    }
    assert config["process"]["env"] == ["A=b", "FAKEGPU_VISIBLE_DEVICES=void"]
    assert len(config["mounts"]) == 2
    assert len(config["hooks"]["createContainer"]) == 2  # once, whatever the number of devices


def test_a_node_takes_the_containers_user_where_it_names_none() -> None:
    config = apply({"process": {"user": {"uid": 1000, "gid": 1000}}}, "0")
    gpu = config["linux"]["devices"][-1]
    assert (gpu["uid"], gpu["gid"]) == (1000, 44)


def test_what_was_at_the_place_of_an_edit_is_replaced() -> None:
    mounts = [{"destination": "/usr/lib/glassstack/libfakeml.so.550.54.14"}, {"destination": "/"}]
    linux = {"devices": [{"path": "/dev/fakegpu0", "major": 9}]}
    config = apply({"mounts": mounts, "linux": linux}, "0")
    assert [device["major"] for device in config["linux"]["devices"]] == [120, 509, 120]
    assert [mount["destination"].count("/") for mount in config["mounts"]] == [1, 4, 4]


def test_a_node_that_the_file_does_not_describe_is_looked_at() -> None:
    device = Device("v/c=n", Path("x"), {"deviceNodes": [{"path": "/gpu", "hostPath": "/dev/null"}]}, {})
    config: dict[str, Any] = {}
    cdi_apply.apply(config, [device])
    assert config["linux"]["devices"] == [
        {"path": "/gpu", "type": "c", "major": 1, "minor": 3, "fileMode": 0o666}
    ]
    assert config["linux"]["resources"]["devices"][0]["access"] == "rwm"
    gone = Device("v/c=n", Path("x"), {"deviceNodes": [{"path": "/dev/there-is-none"}]}, {})
    with pytest.raises(CdiError, match="no node /dev/there-is-none"):
        cdi_apply.apply(config, [gone])


def test_a_file_is_written_whole_and_can_be_read_by_all(tmp_path: Path) -> None:
    target = tmp_path / "cdi/glassstack.json"
    cdi_write.write(target, cdi_write.text(document()))
    assert json.loads(target.read_text()) == document()
    assert target.stat().st_mode & 0o777 == 0o644
    assert [path.name for path in target.parent.iterdir()] == ["glassstack.json"]
