"""Nodes and uevents: a made-up /dev of links, properties as the kernel sends them, and live ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from glassstack.collectors.udev import UdevCollector, concerns_gpu
from glassstack.model.events import Dropped, Event, Nodes, Uevent
from glassstack.store.snapshot import Snapshot
from glassstack.store.store import Store
from glassstack.tui.panes.holders import holder_rows
from glassstack.tui.panes.log import log_rows
from tests.support import eventually

NULL_UEVENT = Path("/sys/devices/virtual/mem/null/uevent")


def properties(seqnum: int, **more: str) -> dict[str, str]:
    values = {
        "ACTION": "change",
        "DEVPATH": "/devices/virtual/fakegpu/fakegpu0",
        "SUBSYSTEM": "fakegpu",
        "DEVNAME": "fakegpu0",
        "SEQNUM": str(seqnum),
    }
    return values | more


@pytest.fixture
def dev(tmp_path: Path) -> Path:
    """A /dev in which null and zero stand for a GPU and its render node."""
    (tmp_path / "dri").mkdir()
    (tmp_path / "fakegpu0").symlink_to("/dev/null")
    (tmp_path / "dri/renderD128").symlink_to("/dev/zero")
    (tmp_path / "fakegpu1").touch()
    (tmp_path / "fakegpu-other").symlink_to("/dev/null")
    (tmp_path / "null").symlink_to("/dev/null")
    return tmp_path


@pytest.mark.parametrize(
    ("node", "devpath", "subsystem", "told"),
    [
        ("/dev/fakegpu0", "/devices/virtual/fakegpu/fakegpu0", "fakegpu", True),
        ("", "/module/fakegpu", "module", True),
        ("", "/module/nvidia_uvm", "module", True),
        ("", "/bus/pci/drivers/nvidia", "drivers", True),
        ("/dev/dri/card0", "/devices/pci0000:00/0000:00:02.0/drm/card0", "drm", True),
        ("/dev/sda", "/devices/x/block/sda", "block", False),
        ("", "/devices/virtual/net/veth1", "net", False),
    ],
)
def test_what_is_about_a_gpu(node: str, devpath: str, subsystem: str, told: bool) -> None:
    assert concerns_gpu(node, devpath, subsystem) is told


def test_nodes_with_numbers_modes_and_sysfs(dev: Path) -> None:
    collector = UdevCollector(dev)
    (event,) = [e for e in collector.sample() if isinstance(e, Nodes)]
    render, gpu = event.nodes
    assert (gpu.path, gpu.major, gpu.minor) == ("/dev/fakegpu0", 1, 3)
    assert (render.path, render.major, render.minor) == ("/dev/dri/renderD128", 1, 5)
    assert gpu.mode == os.stat("/dev/null").st_mode & 0o7777
    assert gpu.owner == "root:root"
    if NULL_UEVENT.exists():
        assert (gpu.sysfs, gpu.missing) == ("/devices/virtual/mem/null", "")
    else:
        assert gpu.missing


def test_nodes_are_told_when_they_change(dev: Path) -> None:
    collector = UdevCollector(dev)
    told = [any(isinstance(e, Nodes) for e in collector.sample()) for _ in range(2)]
    (dev / "fakegpu0").unlink()
    (event,) = [e for e in collector.sample() if isinstance(e, Nodes)]
    assert told == [True, False]
    assert [node.path for node in event.nodes] == ["/dev/dri/renderD128"]


def test_a_uevent_as_the_kernel_sends_it(dev: Path) -> None:
    (event,) = UdevCollector(dev, dev).take(properties(7, XID="31", MAJOR="240", MINOR="0"))
    assert isinstance(event, Uevent)
    assert (event.action, event.device, event.subsystem) == ("change", "/dev/fakegpu0", "fakegpu")
    assert (event.seqnum, event.via) == (7, "kernel")
    assert event.properties == {"MAJOR": "240", "MINOR": "0", "XID": "31"}


def test_gaps_count_and_those_of_others_are_no_gap(dev: Path) -> None:
    collector = UdevCollector(dev, dev)
    other = {"ACTION": "add", "DEVPATH": "/devices/x/block/sda", "SUBSYSTEM": "block"}
    events: list[Event] = collector.take(properties(7))
    events += collector.take({**other, "SEQNUM": "8"})
    events += collector.take(properties(12))
    assert [type(event) for event in events] == [Uevent, Dropped, Uevent]
    assert isinstance(events[1], Dropped)
    assert (events[1].where, events[1].count) == ("uevents", 3)


def test_udev_may_hand_them_over_out_of_order(dev: Path) -> None:
    (dev / "udev").mkdir()
    (dev / "udev/control").touch()
    collector = UdevCollector(dev, dev)
    events = [event for number in (7, 9, 8, 10) for event in collector.take(properties(number))]
    assert [type(event) for event in events] == [Uevent] * 4
    assert events[0].via == "udev"  # type: ignore[union-attr]


def test_they_are_shown(dev: Path) -> None:
    store = Store()
    collector = UdevCollector(dev, dev)
    store.apply([*collector.sample(), *collector.take(properties(7, XID="31"))])
    snapshot = store.snapshot()
    text = "\n".join(str(row) for row in log_rows(snapshot, 120))
    assert "change /dev/fakegpu0 (fakegpu) XID=31" in text
    assert "uevent kernel" in text
    store.apply([])
    shown = "\n".join(str(row) for row in holder_rows(Snapshot(holders=(), nodes=snapshot.nodes), 120))
    assert "2 nodes in /dev" in shown
    assert "crw-rw-rw-" in shown
    assert "1:3" in shown


def test_only_so_many_are_kept(dev: Path) -> None:
    collector = UdevCollector(dev, dev)
    store = Store()
    store.apply([event for number in range(1000) for event in collector.take(properties(number))])
    assert [event.seqnum for event in store.snapshot().uevents] == list(range(800, 1000))


@pytest.mark.root
def test_a_live_uevent(tmp_path: Path) -> None:
    """The kernel is asked to tell of /dev/null once more."""
    if not os.access(NULL_UEVENT, os.W_OK):
        pytest.skip("sysfs can't be written here")
    collector = UdevCollector(tmp_path, tmp_path, wanted=lambda node, devpath, subsystem: node == "/dev/null")
    found = collector.probe()
    if not found.ready:
        pytest.skip(found.why)
    collector.sample()
    identity = f"{os.getpid():08x}-0000-4000-8000-000000000000"
    NULL_UEVENT.write_text(f"change {identity} GLASSSTACK=23\n")

    def heard() -> list[Uevent]:
        return [
            e
            for e in collector.sample()
            if isinstance(e, Uevent) and e.properties.get("SYNTH_UUID") == identity
        ]

    (event,) = eventually(heard)
    assert (event.action, event.device, event.devpath) == ("change", "/dev/null", "/devices/virtual/mem/null")
    assert event.properties["SYNTH_ARG_GLASSSTACK"] == "23"
    assert event.seqnum > 0
