"""What counts as holding a device, in a made-up /proc."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import psutil
import pytest

from glassstack.cli.holders import draw
from glassstack.collectors.holders import MAX_MAPPINGS, TRUSTED, HolderCollector, device_of
from glassstack.store.snapshot import Snapshot
from glassstack.tui.panes.holders import holder_rows

STAT = "{pid} (a (b) c) S 1 1 1 0 -1 0 0 0 0 0 7 5 0 0 20 0 3 0 100 4096 23" + " 0" * 30 + "\n"


class Proc:
    """A procfs of processes that hold what they are told to."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "stat").write_text("btime 1000000\n")

    def add(
        self, pid: int, fds: dict[int, str], maps: str = "", exe: str = "/usr/bin/app", flags: str = "02"
    ) -> None:
        """fds: number → link target; flags: as in fdinfo, octal."""
        home = self.root / str(pid)
        (home / "fd").mkdir(parents=True)
        (home / "fdinfo").mkdir()
        for number, target in fds.items():
            (home / "fd" / str(number)).symlink_to(target)
            (home / "fdinfo" / str(number)).write_text(f"pos:\t0\nflags:\t0100{flags}\nmnt_id:\t1\n")
        (home / "exe").symlink_to(exe)
        (home / "maps").write_text(maps)
        (home / "stat").write_text(STAT.format(pid=pid))
        (home / "status").write_text(f"Name:\tapp\nUid:\t0\t0\t0\t0\nNSpid:\t{pid}\t3\n")
        (home / "cmdline").write_bytes(b"app\0--flag\0")
        (home / "cgroup").write_text("0::/docker/" + "ab" * 32 + "\n")


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Proc:
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))
    return Proc(tmp_path)


def mapping(start: int, path: str, offset: int = 0) -> str:
    return f"{start:x}-{start + 4096:x} rw-s {offset:08x} 00:01 7                          {path}\n"


@pytest.mark.parametrize(
    ("path", "device"),
    [
        ("/dev/fakegpu0", "/dev/fakegpu0"),
        ("/memfd:fakegpu3 (deleted)", "/dev/fakegpu3"),
        ("/memfd:fakegpuctl (deleted)", "/dev/fakegpuctl"),
        ("/memfd:fakegpu-uvm (deleted)", "/dev/fakegpu-uvm"),
        ("/dev/nvidia0", "/dev/nvidia0"),
        ("/dev/nvidia-uvm (deleted)", "/dev/nvidia-uvm"),
        ("/dev/dri/renderD128", "/dev/dri/renderD128"),
        ("/dev/kfd", "/dev/kfd"),
        ("/dev/null", ""),
        ("/memfd:fakegpu-witness (deleted)", ""),
        ("/memfd:other (deleted)", ""),
        ("/home/me/dev/nvidia0", ""),
        ("socket:[123]", ""),
    ],
)
def test_what_is_a_device(path: str, device: str) -> None:
    assert device_of(path) == device


def test_descriptors_and_mappings(proc: Proc) -> None:
    proc.add(7, {0: "/dev/null", 5: "/memfd:fakegpu0 (deleted)", 12: "/dev/nvidiactl"}, flags="00")
    proc.add(8, {}, mapping(0x7F0000000000, "/memfd:fakegpu1 (deleted)", 0x1000))
    holders = HolderCollector(proc.root).look().holders
    assert [(h.pid, h.device, h.how, h.detail) for h in holders] == [
        (7, "/dev/fakegpu0", "fd", "fd 5 r"),
        (7, "/dev/nvidiactl", "fd", "fd 12 r"),
        (8, "/dev/fakegpu1", "mapping", "7f0000000000-7f0000001000 rw-s fence"),
    ]
    first = holders[0]
    assert (first.command, first.ns_pid, first.container) == ("app --flag", 3, "docker:abababababab")


def test_contexts_of_the_module(proc: Proc) -> None:
    """As its driver's fdinfo and maps tell of two contexts, one of which has no descriptor left."""
    proc.add(7, {5: "/dev/fakegpu0"}, mapping(0x7F0000000000, "/dev/fakegpu0", 24 * 2**36 + 0x100000))
    info = proc.root / "7/fdinfo/5"
    info.write_text(info.read_text() + "fakegpu-context:\t23\nfakegpu-device:\t0\nfakegpu-buffers:\t1\n")
    holders = HolderCollector(proc.root).look().holders
    assert [(h.how, h.detail, h.context) for h in holders] == [
        ("fd", "fd 5 rw of context 23", 23),
        ("mapping", "7f0000000000-7f0000001000 rw-s ring 0 of context 24", 24),
    ]


def test_who_maps_the_whole_space_is_the_driver_whatever_its_name(proc: Proc) -> None:
    whole = "7f0000000000-7f2000000000 rw-s 00000000 00:01 7      /memfd:fakegpu0 (deleted)\n"
    proc.add(7, {5: "/memfd:fakegpu0 (deleted)"}, whole, exe="/opt/x/gpu")
    proc.add(8, {}, mapping(0x7F0000000000, "/memfd:fakegpu0 (deleted)"))
    proc.add(9, {}, whole.replace("/memfd:fakegpu0 (deleted)", "/dev/fakegpu0"))  # a program can do that
    assert [h.pid for h in HolderCollector(proc.root).look().holders] == [8, 9]
    everybody = HolderCollector(proc.root, drivers=True).look().holders
    assert [(h.pid, h.how) for h in everybody if h.pid == 7] == [(7, "driver"), (7, "driver")]


def test_modules_that_need_a_gpus_module(proc: Proc) -> None:
    (proc.root / "modules").write_text(
        "fakegpu 40960 1 fakegpu_uvm, Live 0x0000000000000000 (O)\n"
        "fakegpu_uvm 16384 0 - Live 0x0000000000000000 (O)\n"
        "nvidia 56000000 23 nvidia_uvm,nvidia_modeset, Live 0xffffffffc0000000 (PO)\n"
        "nvidia_drm 77824 4 [permanent], Live 0x0000000000000000\n"
        "soundcore 16384 1 snd, Live 0x0000000000000000\n"
        "odd\n"
    )
    proc.add(7, {5: "/dev/fakegpu0"})
    holders = HolderCollector(proc.root).look().holders
    assert [(h.device, h.how, h.pid, h.command) for h in holders] == [
        ("/dev/fakegpu0", "fd", 7, "app --flag"),
        ("module fakegpu", "module", 0, "fakegpu_uvm"),
        ("module nvidia", "module", 0, "nvidia_modeset"),
        ("module nvidia", "module", 0, "nvidia_uvm"),
        ("module nvidia_drm", "module", 0, "[permanent]"),
    ]
    assert holders[1].detail == "needs it; rmmod fakegpu_uvm first"
    text = "\n".join(draw([HolderCollector(proc.root).look()], 0))
    assert "module fakegpu" in text
    assert "rmmod nvidia_uvm first" in text
    rows = holder_rows(Snapshot(holders=holders), 120)
    assert any("module nvidia: 2 modules need it" in str(row) for row in rows)


def test_many_mappings_are_counted_not_listed(proc: Proc) -> None:
    lines = "".join(mapping(0x10000 * n, "/dev/fakegpu0") for n in range(1, MAX_MAPPINGS + 24))
    proc.add(7, {}, lines)
    holders = HolderCollector(proc.root).look().holders
    assert len(holders) == MAX_MAPPINGS + 1
    assert holders[-1].detail == "23 more mappings"


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_those_it_cannot_look_into_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own is closed to other users
        Path(folder).chmod(0o755)
        monkeypatch.setattr(psutil, "PROCFS_PATH", folder)
        proc = Proc(Path(folder))
        proc.add(7, {5: "/dev/fakegpu0"})
        proc.add(8, {5: "/dev/fakegpu0"})
        (proc.root / "7" / "fd").chmod(0o700)
        os.seteuid(65534)
        try:
            event = HolderCollector(proc.root).look()
        finally:
            os.seteuid(0)
    assert [h.pid for h in event.holders] == [8]
    assert event.unreadable == 1


def test_a_process_that_ends_meanwhile_holds_nothing(proc: Proc) -> None:
    proc.add(7, {5: "/dev/fakegpu0"})
    (proc.root / "7" / "stat").unlink()
    event = HolderCollector(proc.root).look()
    assert (event.holders, event.unreadable) == ((), 0)


def test_a_process_that_has_not_run_is_not_searched_again(proc: Proc) -> None:
    proc.add(7, {5: "/dev/fakegpu0"})
    home = proc.root / "7"
    (home / "task" / "7").mkdir(parents=True)
    (home / "schedstat").write_text("1000 0 23\n")
    collector = HolderCollector(proc.root)
    assert len(collector.look().holders) == 1
    (home / "fd" / "6").symlink_to("/dev/fakegpu1")  # can't happen: it has not run
    assert len(collector.look().holders) == 1
    (home / "schedstat").write_text("1001 0 23\n")
    assert len(collector.look().holders) == 2
    (home / "fd" / "7").symlink_to("/dev/fakegpu2")
    assert [len(collector.look().holders) for _ in range(TRUSTED)][-2:] == [2, 3]


def test_threads_may_have_run(proc: Proc) -> None:
    proc.add(7, {5: "/dev/fakegpu0"})
    for thread in ("7", "8"):
        (proc.root / "7" / "task" / thread).mkdir(parents=True)
    (proc.root / "7" / "schedstat").write_text("1000 0 23\n")
    collector = HolderCollector(proc.root)
    collector.look()
    (proc.root / "7" / "fd" / "6").symlink_to("/dev/fakegpu1")
    assert len(collector.look().holders) == 2
