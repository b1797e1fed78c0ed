"""The mappings reader over made-up /proc trees: every kind of line, odd names, huge files, errors."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from glassstack.collectors.maps import Maps, MapsCollector, classify, node_of
from glassstack.collectors.memory import GoneError, UnreadableError
from glassstack.collectors.spaces import group
from glassstack.model.entities import Mapping
from glassstack.model.events import Mappings

LIB = "/usr/lib/x86_64-linux-gnu"


class Proc:
    """A /proc made of files."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def process(self, pid: int, *lines: str) -> Path:
        """A process with these lines in its maps."""
        directory = self.root / str(pid)
        directory.mkdir(exist_ok=True)
        (directory / "maps").write_bytes(os.fsencode("".join(line + "\n" for line in lines)))
        return directory

    def read(self, *lines: str) -> list[Mapping]:
        """What the reader finds in these lines."""
        self.process(7, *lines)
        return list(Maps(self.root).read(7))


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    return Proc(tmp_path)


def line(
    path: str, offset: int = 0, inode: int = 42, start: int = 0x7F0000000000, perms: str = "rw-s"
) -> str:
    """A line as the kernel writes it."""
    return f"{start:x}-{start + 4096:x} {perms} {offset:08x} 00:01 {inode:<26} {path}"


def test_device_memory_by_offset(proc: Proc) -> None:
    offsets = {
        0x0: ("doorbell", None),
        0x1000: ("fence", None),
        0x2000: ("device memory", None),
        0x10000: ("completion", None),
        0x1F000: ("completion", None),
        0x20000: ("device memory", None),
        0x100000: ("ring", 0),
        0x201000: ("ring", 1),
        0x2000000: ("ring", 31),
        0x2100000: ("device memory", None),
        0x10000000: ("buffer", None),
        0x123456000: ("buffer", None),
    }
    found = proc.read(*(line("/memfd:fakegpu0 (deleted)", offset) for offset in offsets))
    assert {m.offset: (m.what, m.channel) for m in found} == offsets
    assert {(m.device, m.inode) for m in found} == {("/dev/fakegpu0", 42)}


def test_a_whole_line(proc: Proc) -> None:
    assert proc.read(line("/memfd:fakegpu3 (deleted)", 0x100000, inode=9)) == [
        Mapping(
            start=0x7F0000000000,
            end=0x7F0000001000,
            perms="rw-s",
            offset=0x100000,
            path="/memfd:fakegpu3 (deleted)",
            what="ring",
            device="/dev/fakegpu3",
            channel=0,
            inode=9,
        )
    ]


@pytest.mark.parametrize(
    ("path", "node"),
    [
        ("/dev/fakegpu0", "/dev/fakegpu0"),
        ("/dev/fakegpu-uvm", "/dev/fakegpu-uvm"),
        ("/memfd:fakegpuctl (deleted)", "/dev/fakegpuctl"),
        ("/dev/nvidia0", "/dev/nvidia0"),
        ("/dev/nvidia-uvm", "/dev/nvidia-uvm"),
        ("/dev/nvidiactl (deleted)", "/dev/nvidiactl"),
        ("/dev/dri/renderD128", "/dev/dri/renderD128"),
        ("/dev/kfd", "/dev/kfd"),
        ("/dev/zero", ""),
        ("/dev/shm/fakegpu0", ""),
        ("/memfd:fakegpu0x (deleted)", ""),
        ("/memfd:pulseaudio (deleted)", ""),
    ],
)
def test_nodes(proc: Proc, path: str, node: str) -> None:
    assert node_of(path) == node
    assert [m.device for m in proc.read(line(path))] == ([node] if node else [])


def test_real_device_memory_has_no_fixed_offsets() -> None:
    assert classify("/dev/nvidia0", 0, 4096) == ("device memory", None)
    assert classify("/dev/nvidia-uvm", 0x10000000, 4096) == ("device memory", None)


@pytest.mark.parametrize(
    ("name", "what", "version"),
    [
        ("libfakecuda.so.550.54.14", "umd", "550.54.14"),
        ("libfakecuda.so.1", "umd", ""),
        ("libfakecudart.so.12.4", "runtime", "12.4"),
        ("libfakecudart.so", "runtime", ""),
        ("libfakeml.so.1", "management", ""),
        ("libcuda.so.535.104.05", "umd", "535.104.05"),
        ("libcuda.so.1", "umd", ""),
        ("libcudart.so.12.4.127", "runtime", "12.4.127"),
        ("libcudart-d0da41ae.so.11.8.89", "runtime", "11.8.89"),
        ("libnvidia-ml.so.550.54.14 (deleted)", "management", "550.54.14"),
    ],
)
def test_libraries(proc: Proc, name: str, what: str, version: str) -> None:
    (found,) = proc.read(line(f"{LIB}/{name}", perms="r-xp"))
    assert (found.what, found.version, found.device) == (what, version, "")


@pytest.mark.parametrize(
    "name", ["libcudadebugger.so.1", "libcudart.so.x", "notlibcuda.so.1", "libfakecuda.so.1.bak", "libc.so.6"]
)
def test_other_files_are_passed_over(proc: Proc, name: str) -> None:
    assert proc.read(line(f"{LIB}/{name}"), line("[heap]"), line("")) == []


def test_a_copy_under_the_short_name_has_its_twins_version(proc: Proc) -> None:
    lib = proc.root / "7" / "root" / "opt"
    lib.mkdir(parents=True)
    for version, content in (("550.54.14", b"new"), ("535.54.03", b"old")):
        (lib / f"libfakecuda.so.{version}").write_bytes(content)
    (lib / "libfakecuda.so.1").write_bytes(b"old")
    assert [m.version for m in proc.read(line("/opt/libfakecuda.so.1"))] == ["535.54.03"]


def test_odd_names_stay_one_line_of_the_file(proc: Proc) -> None:
    odd = proc.read(
        line("/a b\\012c/libcuda.so.1"),
        line("/\udcff/libcuda.so.550.1"),
        line("/tmp/\x1b[31mred/libcudart.so.12"),
        line("/x/libcuda.so.1 /dev/fakegpu0"),
    )
    assert [m.path for m in odd] == [
        "/a b\nc/libcuda.so.1",
        "/?/libcuda.so.550.1",
        "/tmp/\x1b[31mred/libcudart.so.12",
    ]
    assert {m.device for m in odd} == {""}


def test_huge_maps_are_read_quickly_and_whole(proc: Proc) -> None:
    plain = [line(f"/usr/lib/lib{n}.so", start=0x500000000000 + n * 8192) for n in range(60_000)]
    wanted = [line("/memfd:fakegpu0 (deleted)", 0x10000000 + n * 4096) for n in range(23)]
    found = proc.read(*plain[:30_000], *wanted, *plain[30_000:])
    assert [m.offset for m in found] == [0x10000000 + n * 4096 for n in range(23)]


def test_garbage_lines_are_passed_over(proc: Proc) -> None:
    assert proc.read("nonsense", "zz-yy rw-s 0 0 0 /dev/fakegpu0", line("/dev/fakegpu0")[:20]) == []


def test_a_process_without_memory_is_gone(proc: Proc) -> None:
    proc.process(7)
    with pytest.raises(GoneError, match="no memory"):
        Maps(proc.root).read(7)
    with pytest.raises(GoneError, match="has ended"):
        Maps(proc.root).read(8)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_no_permission_is_said(proc: Proc) -> None:
    (proc.process(7, line("/dev/fakegpu0")) / "maps").chmod(0)
    with pytest.raises(UnreadableError, match="no permission"):
        Maps(proc.root).read(7)
    assert Maps(proc.root).users() == ([], 1)


def test_users_are_those_that_map_a_device(proc: Proc) -> None:
    proc.process(3, line("/dev/fakegpu0"))
    proc.process(5, line(f"{LIB}/libcuda.so.1"))
    proc.process(7)
    proc.process(9, line("/dev/nvidia0"))
    (proc.root / "self").mkdir()
    assert Maps(proc.root).users() == ([3, 9], 0)


def test_the_embedded_device_itself_is_no_user(proc: Proc) -> None:
    whole = line("/memfd:fakegpu0 (deleted)").replace("7f0000001000", "7f1000000000")
    assert [m.what for m in proc.read(whole)] == ["whole space"]
    assert Maps(proc.root).users() == ([], 0)
    assert group(7, proc.read(whole), lambda device, inode: 0) == []


def test_contexts_are_told_apart_by_their_file(proc: Proc) -> None:
    first, second = "/memfd:fakegpu0 (deleted)", "/memfd:fakegpu1 (deleted)"
    mappings = proc.read(
        line(first, 0x1000, 5), line(second, 0x1000, 6), line(first, 0, 5), line(first, 0, 9)
    )
    spaces = group(7, mappings, lambda device, inode: 23 if inode == 5 else 0)
    assert [(s.device, s.inode, s.context, len(s.mappings)) for s in spaces] == [
        ("/dev/fakegpu0", 5, 23, 2),
        ("/dev/fakegpu1", 6, 6, 1),
        ("/dev/fakegpu0", 9, 9, 1),
    ]


def test_the_poller_tells_of_changes_only(proc: Proc) -> None:
    pids = [7]
    poller = MapsCollector(lambda: pids, proc.root)

    def told() -> list[tuple[int, int, str]]:
        events = poller.sample()
        return [(e.pid, len(e.mappings), e.missing) for e in events if isinstance(e, Mappings)]

    proc.process(7, line("/dev/fakegpu0"))
    assert told() == [(7, 1, "")]
    assert told() == []
    proc.process(7, line("/dev/fakegpu0"), line("/dev/fakegpu0", 0x1000))
    pids.append(8)
    assert told() == [(7, 2, ""), (8, 0, "the process has ended")]
    assert told() == []
    pids.clear()
    assert told() == []
    pids.append(7)
    assert told() == [(7, 2, "")]


def test_probe(proc: Proc) -> None:
    assert not MapsCollector(list, proc.root).probe().ready
    (proc.root / "self").mkdir()
    assert MapsCollector(list, proc.root).probe().ready
