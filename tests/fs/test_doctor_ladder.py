"""doctor's ladder on folders that look like hosts: healthy, broken rung by rung, and the stand-in driver."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from glassstack.cli import doctor_ladder
from glassstack.collectors import host
from glassstack.collectors.host import Host
from glassstack.diagnose.doctor import Visit, bundle, visit
from glassstack.diagnose.gather import gather
from glassstack.diagnose.ladder import first_broken
from glassstack.diagnose.redact import Redactor
from glassstack.diagnose.verdict import judge
from tests.evidence import roots

VERSION = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {}  Release Build\n"


class Machine:
    """A host as a folder; nodes are said, since making one needs root."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.nodes: list[str] = []
        self.log: list[str] = []
        self.cache = ""
        self.write("proc/modules", "nvidia_uvm 1 0 - Live 0x0\nnvidia 9 1 nvidia_uvm, Live 0x0\n")
        self.write("proc/driver/nvidia/version", VERSION.format("580.173.02"))
        self.write("proc/devices", "Character devices:\n195 nvidia\n509 nvidia-uvm\n")
        self.gpu("nvidia")
        self.node("nvidiactl", 195, 255)
        self.node("nvidia0", 195, 0)
        self.node("nvidia-uvm", 509, 0)
        monkeypatch.setattr(host, "_listed", lambda path, dev: path.read_text())

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def gpu(self, driver: str) -> None:
        self.write("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n")
        self.write("sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n")
        self.write("sys/bus/pci/devices/0000:01:00.0/device", "0x2330\n")
        link = self.root / "sys/bus/pci/devices/0000:01:00.0/driver"
        link.unlink(missing_ok=True)
        if driver:
            (self.root / "sys/bus/pci/drivers" / driver).mkdir(parents=True, exist_ok=True)
            link.symlink_to(self.root / "sys/bus/pci/drivers" / driver)

    def node(self, name: str, major: int, minor: int, mode: int = 0o666) -> None:
        line = f"{stat.filemode(stat.S_IFCHR | mode)} 1 root root {major}, {minor} Jan  1 00:00 /dev/{name}"
        self.write(f"dev/{name}", line)

    def visit(self) -> Visit:
        return visit(host_in(self.root, lambda: self.log, lambda: self.cache))


def host_in(root: Path, log: Callable[[], list[str]] = list, cache: Callable[[], str] | None = None) -> Host:
    proc, sys, dev, etc, run = (root / name for name in ("proc", "sys", "dev", "etc", "run"))
    return Host(proc, sys, dev, etc, run, kernel_log=log, ldconfig=cache)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def broken(seen: Visit) -> str:
    rung = first_broken(seen.rungs)
    return rung.layer if rung else ""


def test_a_healthy_host_breaks_nowhere(machine: Machine) -> None:
    seen = machine.visit()
    assert broken(seen) == ""
    assert {rung.layer for rung in seen.rungs if rung.state == "seen"} >= {
        "hardware",
        "module",
        "versions",
        "nodes",
    }
    text = "\n".join(doctor_ladder.lines(seen, "this host"))
    assert "no rung is broken" in text
    assert "580.173.02" in text


def test_no_gpu_at_all_is_no_fault(tmp_path: Path) -> None:
    seen = visit(host_in(tmp_path))
    assert broken(seen) == ""
    assert "nothing to climb" in "\n".join(doctor_ladder.lines(seen, "this host"))
    assert "modules" in " ".join(seen.missing["module"])


def test_each_rung_can_break(machine: Machine) -> None:
    machine.write("etc/cdi/nvidia.yaml", "kind: nvidia.com/gpu\n- path: /dev/nvidia-uvm\n  major: 510\n")
    seen = machine.visit()
    assert (broken(seen), roots(seen.verdict)) == ("runtime", ["STALE_CDI_MAJOR"])
    machine.node("nvidia-uvm", 500, 0)
    seen = machine.visit()
    assert (broken(seen), roots(seen.verdict)[0]) == ("nodes", "STALE_NODE_MAJOR")
    machine.write("lib/libnvidia-ml.so.580.178", "")
    (machine.root / "lib/libnvidia-ml.so.1").symlink_to("libnvidia-ml.so.580.178")
    machine.cache = f"\tlibnvidia-ml.so.1 (libc6,x86-64) => {machine.root}/lib/libnvidia-ml.so.1"
    seen = machine.visit()
    assert (broken(seen), roots(seen.verdict)[0]) == ("versions", "SKEW_MODULE_OLD")
    machine.gpu("nouveau")
    seen = machine.visit()
    assert (broken(seen), roots(seen.verdict)[0]) == ("module", "OTHER_DRIVER_BOUND")
    machine.log = ["[    9.6] NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x62:0x65:1792)"]
    seen = machine.visit()
    assert (broken(seen), roots(seen.verdict)[0]) == ("hardware", "GSP_INIT_TIMEOUT")


def test_a_gpu_without_driver(machine: Machine) -> None:
    (machine.root / "proc/driver/nvidia/version").unlink()
    machine.write("proc/modules", "ext4 1 0 - Live 0x0\n")
    machine.gpu("")
    seen = machine.visit()
    assert (broken(seen), roots(seen.verdict)[0]) == ("module", "GPU_WITHOUT_DRIVER")


def test_no_nodes(machine: Machine) -> None:
    for node in (machine.root / "dev").iterdir():
        node.unlink()
    seen = machine.visit()
    assert (broken(seen), roots(seen.verdict)) == ("nodes", ["NODES_NOT_CREATED"])


def test_xids_of_the_log(machine: Machine) -> None:
    machine.log = ["[   9.6] NVRM: Xid (PCI:0000:01:00): 79, pid=7, name=x, GPU has fallen off the bus."]
    seen = machine.visit()
    assert (broken(seen), roots(seen.verdict)) == ("xid", ["XID_79"])


def test_the_stand_in_driver_is_judged_by_the_same_rules(machine: Machine) -> None:
    for node in (machine.root / "dev").iterdir():
        node.unlink()
    (machine.root / "proc/driver/nvidia/version").unlink()
    machine.gpu("fakegpu")
    machine.write("proc/driver/fakegpu/version", "FGPU version: FAKEGPU Linux Kernel Module  550.54.14\n")
    machine.write("proc/modules", "fakegpu_uvm 1 0 - Live 0x0\nfakegpu 9 1 fakegpu_uvm, Live 0x0\n")
    machine.write("proc/devices", "240 fakegpu\n236 fakegpu-uvm\n")
    machine.node("fakegpuctl", 240, 255)
    machine.node("fakegpu-uvm", 236, 0)
    assert broken(machine.visit()) == ""
    machine.node("fakegpu-uvm", 235, 0)
    assert roots(machine.visit().verdict) == ["STALE_NODE_MAJOR"]
    for node in (machine.root / "dev").iterdir():
        node.unlink()
    assert roots(machine.visit().verdict) == ["NODES_NOT_CREATED"]


def test_the_bundle_gives_the_same_verdict_and_no_names(machine: Machine) -> None:
    machine.node("nvidia-uvm", 500, 0)
    machine.log = [
        "[   9.6] gpunode7 nvidia-persistenced: GPU-8c2bfa8e-1234-5678-9abc-def012345678 at 10.1.2.3"
    ]
    seen = machine.visit()
    target = machine.root / "bundle.tgz"
    assert bundle(target, seen.texts, Redactor(("gpunode7",))) == len(seen.texts)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    look = gather([str(target)])
    assert roots(judge(look.evidence)) == roots(seen.verdict) == ["STALE_NODE_MAJOR"]
    data = "".join(fact.text for fact in look.evidence)
    assert "gpunode7" not in data
    assert "8c2bfa8e" not in data


def test_a_process_is_looked_into() -> None:
    seen = visit(Host(pid=os.getpid(), kernel_log=list))
    told = doctor_ladder.as_json(seen)
    rungs = {rung["layer"]: rung for rung in told["ladder"]}
    assert rungs["limits"]["evidence"] or rungs["limits"]["missing"]
    assert "no GPU library mapped" in " ".join(rungs["libraries"]["missing"])
