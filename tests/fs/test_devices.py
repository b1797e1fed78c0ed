"""Devices as /proc tells of them, over made-up trees: real drivers, and sockets of embedded ones."""

from __future__ import annotations

import os
import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from glassstack.collectors.control import Control, ControlError, discover
from glassstack.collectors.device import ContextIds, DevicePoller
from glassstack.collectors.device_kernel import kernel_devices, version_of
from glassstack.model.entities import Context, Device
from glassstack.model.events import Devices, Log
from glassstack.store.stack import layers
from glassstack.store.store import Store

STATUS = (
    '{"version":"550.54.14","pid":7,"name":"n","devices":[{"index":1,"name":"F","uuid":"GPU-1",'
    '"pci":"0000:02:00","vram_total":100,"vram_used":10,"quota":50,"faults":["hang"],"contexts":'
    '[{"id":23,"pid":8,"name":"a","inode":99}],"later":"more"}]}\n'
)


@contextmanager
def device(*replies: str) -> Iterator[str]:
    """A control socket that gives these replies, one a connection; its name."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.bind(f"\0fakegpu/{os.getuid()}/{name}".encode())
        server.listen()

        def serve() -> None:
            for reply in replies:
                peer, _ = server.accept()
                with peer:
                    peer.recv(256)
                    peer.send(reply.encode())

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield name


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024",
            "550.54.14",
        ),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.26  Release Build", "570.26"),
        ("FGPU version: FAKEGPU embedded device  535.104.05\nGCC version:  12.2.0", "535.104.05"),
        ("nothing", ""),
        ("", ""),
    ],
)
def test_versions(text: str, version: str) -> None:
    assert version_of(text) == version


def test_a_real_drivers_devices(tmp_path: Path) -> None:
    driver = tmp_path / "driver/nvidia"
    for bus, minor in (("0000:3b:00.0", 1), ("0000:1a:00.0", 0)):
        (driver / "gpus" / bus).mkdir(parents=True)
        (driver / "gpus" / bus / "information").write_text(
            f"Model: \t\t NVIDIA H100\nGPU UUID: \t GPU-{minor}\n"
            f"Bus Location: \t {bus}\nDevice Minor: \t {minor}\n"
        )
    (driver / "version").write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  x\n")
    assert kernel_devices(tmp_path, tmp_path, tmp_path) == (
        Device("/dev/nvidia0", 0, "kernel", "550.54.14", "NVIDIA H100", "GPU-0", "0000:1a:00.0"),
        Device("/dev/nvidia1", 1, "kernel", "550.54.14", "NVIDIA H100", "GPU-1", "0000:3b:00.0"),
    )


def test_fakegpus_module(tmp_path: Path) -> None:
    (tmp_path / "driver/fakegpu").mkdir(parents=True)
    (tmp_path / "driver/fakegpu/version").write_text("FGPU version: FAKEGPU Kernel Module  550.54.14\n")
    os.symlink("/dev/null", tmp_path / "fakegpu1")
    (tmp_path / "fakegpu0").touch()
    found = kernel_devices(tmp_path, tmp_path, tmp_path)
    assert found == (Device("/dev/fakegpu1", 1, "kernel", "550.54.14"),)


# As the module showed it in the lab while tests/kmod/sharing.py ran.
SYSFS = {
    "name": "Fakegpu F100",
    "version": "550.54.14",
    "uuid": "GPU-fa6e617c-510d-4f10-8a3b-677075000000",
    "pci": "0000:01:00.0",
    "vram_total": "1073741824",
    "vram_used": "0",
    "quota": "268435456",
    **{
        f"contexts/{number}/{name}": value
        for number, jobs in ((107, "2"), (106, "1"))
        for name, value in {
            "pid": "202",
            "name": "python3",
            "buffers": "0",
            "channels": "1",
            "bytes": "0",
            "quota": "268435456",
            "submits": jobs,
            "completions": jobs,
            "doorbells": "1",
            "poisoned": "0",
            "xid": "0",
        }.items()
    },
}


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """A machine with the module and one device: proc, dev and sys in one folder."""
    (tmp_path / "driver/fakegpu").mkdir(parents=True)
    (tmp_path / "driver/fakegpu/version").write_text(
        "FGPU version: FAKEGPU Linux Kernel Module  550.54.14\n"
        "GCC version:  gcc-12 (Debian 12.2.0-14+deb12u1) 12.2.0\n"
    )
    os.symlink("/dev/null", tmp_path / "fakegpu0")
    for name, text in SYSFS.items():
        file = tmp_path / "class/fakegpu/fakegpu0" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    return tmp_path


def test_fakegpus_module_tells_by_sysfs(module: Path) -> None:
    (found,) = kernel_devices(module, module, module)
    assert found == Device(
        path="/dev/fakegpu0",
        index=0,
        driver="kernel",
        version="550.54.14",
        name="Fakegpu F100",
        uuid="GPU-fa6e617c-510d-4f10-8a3b-677075000000",
        pci="0000:01:00.0",
        vram_total=1 << 30,
        quota=1 << 28,
        contexts=2,
        opened=(
            Context(106, 202, "python3", 0, 1, 0, 1 << 28, 1, 1, 1),
            Context(107, 202, "python3", 0, 1, 0, 1 << 28, 2, 2, 1),
        ),
    )


def test_the_kmd_row_tells_of_the_modules_contexts(module: Path) -> None:
    (module / "class/fakegpu/fakegpu0/contexts/107/xid").write_text("31\n")
    store = Store()
    store.apply(DevicePoller(list, module, module, module).sample())
    row = next(row for row in layers(store.snapshot()) if row.key == "kmd")
    assert row.detail == "2 contexts on 1 device, 1 poisoned"
    assert row.version == "550.54.14"


def test_what_a_driver_will_not_say_is_no_zero(module: Path) -> None:
    """A lost device's counters fail to be read; a context may end between two reads."""
    folder = module / "class/fakegpu/fakegpu0/contexts"
    (folder / "106/bytes").unlink()
    (folder / "106/bytes").mkdir()
    (folder / "107/pid").unlink()
    (folder / "odd").mkdir()
    (found,) = kernel_devices(module, module, module)
    assert found.opened == (Context(106, 202, "python3", missing="the driver says: Is a directory"),)
    (folder / "106/xid").unlink()
    (folder / "106/bytes").rmdir()
    assert kernel_devices(module, module, module)[0].contexts == 0


def test_no_driver_is_said(tmp_path: Path) -> None:
    poller = DevicePoller(list, tmp_path, tmp_path, tmp_path)
    (event,) = poller.sample()
    assert isinstance(event, Devices)
    assert event.devices == ()
    assert "no GPU driver" in event.missing
    assert not poller.probe().ready
    assert poller.probe().remedy


def test_embedded_devices_are_found_by_their_sockets(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net/unix").write_text(
        "Num       RefCount Protocol Flags    Type St Inode Path\n"
        "0: 2 0 00010000 0005 01 1 @fakegpu/1000/a-b.c\n"
        "0: 3 0 00000000 0005 03 2 @fakegpu/1000/a-b.c\n"
        "0: 2 0 00010000 0005 01 3 @fakegpu/0/x\n"
        "0: 2 0 00010000 0005 01 4 @fakegpu/x/y\n"
        "0: 2 0 00010000 0005 01 5 /run/fakegpu/0/z\n"
    )
    assert discover(tmp_path, 1000) == ["fakegpu/1000/a-b.c"]
    assert discover(tmp_path, 0) == ["fakegpu/0/x", "fakegpu/1000/a-b.c"]
    assert discover(tmp_path / "none") == []


def test_an_embedded_device_as_it_says(tmp_path: Path) -> None:
    with device(STATUS) as name:
        (event,) = DevicePoller(lambda: [name], tmp_path, tmp_path, tmp_path).sample()
    assert isinstance(event, Devices)
    assert event.devices == (
        Device(
            "/dev/fakegpu1",
            1,
            "embedded",
            "550.54.14",
            "F",
            "GPU-1",
            "0000:02:00",
            100,
            10,
            50,
            1,
            ("hang",),
            (Context(23, 8, "a", missing="the device does not answer for it", rules="emulated"),),
        ),
    )


def test_context_ids_are_asked_for_once() -> None:
    with device(STATUS) as name:
        ids = ContextIds(lambda: [name])
        assert [ids("/dev/fakegpu1", 99), ids("/dev/fakegpu1", 99)] == [23, 23]
    assert ids("/dev/fakegpu1", 99) == 23
    assert ids("/dev/fakegpu1", 100) == 0


@pytest.mark.parametrize("reply", ["", "nonsense", '{"version":1}', STATUS[:200]])
def test_an_answer_that_is_no_status_is_an_error(reply: str, tmp_path: Path) -> None:
    with device(reply, reply) as name:
        with pytest.raises(ControlError, match="no status"):
            Control(name).status()
        (event,) = DevicePoller(lambda: [name], tmp_path, tmp_path, tmp_path).sample()
        assert isinstance(event, Devices)
        assert event.missing


def test_a_refusal_is_an_error() -> None:
    with (
        device("error: xid: it takes a number\n") as name,
        pytest.raises(ControlError, match="xid: it takes"),
    ):
        Control(name).fault("xid")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can pose as somebody else")
def test_a_name_that_another_user_holds_is_not_believed() -> None:
    name = f"fakegpu/0/test-{uuid.uuid4().hex[:8]}"
    ready, done = os.pipe(), os.pipe()
    pid = os.fork()
    if not pid:
        os.setuid(65534)
        server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        server.bind(b"\0" + name.encode())
        server.listen()
        os.write(ready[1], b"x")
        os.read(done[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    try:
        with pytest.raises(ControlError, match="another user"):
            Control(name).status()
    finally:
        os.write(done[1], b"x")
        os.waitpid(pid, 0)
        for fd in (*ready, *done):
            os.close(fd)


def test_log_lines_are_told_once(tmp_path: Path) -> None:
    first = "[    1.000002] FGPU: API mismatch: x\n"
    second = "[    2.500000] FGPU: Xid (PCI:0000:02:00): 31, pid=8, name=a, Ch 00000001, MMU Fault: x\n"
    with device(STATUS, first, STATUS, first + second, STATUS, second, STATUS, "") as name:
        poller = DevicePoller(lambda: [name], tmp_path, tmp_path, tmp_path, log=True)
        told = [[event for event in poller.sample() if isinstance(event, Log)] for _ in range(4)]
    assert [[(line.ts, line.xid, line.pid, line.device) for line in lines] for lines in told] == [
        [(1_000_002_000, None, None, "")],
        [(2_500_000_000, 31, 8, "/dev/fakegpu1")],
        [],
        [],
    ]
