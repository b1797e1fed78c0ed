"""Runs sorted into phases, and `compare` and `unknown` over every kind of file they take."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from glassstack.cli import main
from glassstack.decoders.phases import TABLES, Phase, Rule, Table, Walk
from glassstack.decoders.strace.parser import Parser, convert
from glassstack.model.codec import decode_line
from glassstack.model.events import Event, Process, Step, Syscall
from glassstack.model.values import Scalar, Source
from tests import cuda_start
from tests.launch_doc import CUDA

CTL, GPU = "/dev/nvidiactl", "/dev/nvidia0"
ALLOC = "_IOC(_IOC_READ|_IOC_WRITE, 0x46, 0x2b, 0x30)"


def call(name: str, device: str, ts: int = 0, syscall: str = "ioctl", **fields: Scalar) -> Syscall:
    fields = {key.rstrip("_"): value for key, value in fields.items()}
    return Syscall(ts, Source.FILE, 7, 7, syscall, device, name, fields, 0, None, 10, 3)


def phase(event: Event) -> str:
    found = TABLES["gpu"].of(event)
    return found.key if found else ""


@pytest.mark.parametrize(
    ("event", "key"),
    [
        (call("open", CTL, syscall="openat"), "control"),
        (call("statx", "/dev/nvidia-uvm", syscall="statx"), "control"),
        (call("open", "/dev/fakegpuctl", syscall="openat"), "control"),
        (call("CHECK_VERSION_STR", CTL), "version"),
        (call("CHECK_VERSION", "/dev/fakegpuctl"), "version"),
        (call("RM_ALLOC", CTL, class_="NV01_ROOT_CLIENT"), "root"),
        (call("RM_ALLOC", CTL, class_="NV01_DEVICE_0"), "device"),
        (call("RM_ALLOC", CTL, class_="NV20_SUBDEVICE_0"), "subdevice"),
        (call("RM_ALLOC", CTL, class_="FERMI_VASPACE_A"), "vaspace"),
        (call("RM_ALLOC", CTL, class_="AMPERE_CHANNEL_GPFIFO_A"), "channel"),
        (call("RM_ALLOC", CTL, class_="TURING_USERMODE_A"), "doorbell"),
        (call("RM_ALLOC", CTL, class_="NV01_MEMORY_SYSTEM"), "memory"),
        (call("RM_ALLOC", CTL, arg=1), "blind"),
        (call("RM_ALLOC?", "", arg=1), "blind"),
        (call("RM_CONTROL", CTL, cmd="GPU_GET_PROBED_IDS"), "find"),
        (call("RM_CONTROL", CTL, cmd="GPFIFO_GET_WORK_SUBMIT_TOKEN"), "channel"),
        (call("RM_MAP_MEMORY", CTL, object="HOPPER_USERMODE_A"), "doorbell"),
        (call("RM_MAP_MEMORY", CTL, object="NV01_MEMORY_LOCAL_USER"), "memory"),
        (call("mmap", CTL, syscall="mmap", maps="doorbell (HOPPER_USERMODE_A) 0x1"), "doorbell"),
        (call("mmap", CTL, syscall="mmap", length=4096), "memory"),
        (call("mmap", "/dev/fakegpu0", syscall="mmap", offset=0x1000), "doorbell"),
        (call("mmap", "/dev/fakegpu0", syscall="mmap", offset=0x200000), "channel"),
        (call("MAP", "/dev/fakegpu0", what="BUFFER"), "memory"),
        (call("SUBMIT", "/dev/fakegpu0"), "steady"),
        (call("ALLOC", "/dev/dri/renderD128"), ""),
        (Process(0, Source.FILE, 7, 7, "start"), ""),
    ],
)
def test_a_call_belongs_to_one_phase(event: Event, key: str) -> None:
    assert phase(event) == key


def test_the_silence_is_measured_between_doorbell_and_end() -> None:
    walk = Walk(TABLES["gpu"])
    walk.add([call("open", CTL, 0, "openat"), call("CHECK_VERSION_STR", CTL, 900_000)])
    assert walk.silence_ns == 0, "waiting before the doorbell is no steady state"
    walk.add([call("RM_ALLOC", CTL, 1_000_000, class_="VOLTA_USERMODE_A"), call("RM_FREE", CTL, 5_000_000)])
    assert walk.silence_ns == 4_000_000 - 10
    walk.add([call("close", CTL, 99_000_000, "close")])
    assert walk.silence_ns == 4_000_000 - 10


def test_a_table_of_another_kind_of_run_needs_no_code() -> None:
    steps = Table(
        "a container starts",
        (
            Phase("namespaces", "namespaces", "…", (Rule("unshare|clone", kind="syscall"),)),
            Phase("program", "the program", "…", (Rule("exec", kind="process", where={"command": "sh .*"}),)),
        ),
    )
    walk = Walk(steps)
    walk.add(
        [call("unshare", "", syscall="unshare"), Process(1, Source.FILE, 7, 7, "exec", command="sh -c true")]
    )
    assert {key: tally.events for key, tally in walk.tallies.items()} == {"namespaces": 1, "program": 1}


def test_the_reconstruction_is_what_the_decoder_makes_of_it_today() -> None:
    lines = CUDA.read_bytes().splitlines()
    assert json.loads(lines[0])["title"].startswith("a CUDA start, reconstructed")
    assert [decode_line(line) for line in lines[1:]] == cuda_start.events()


def test_a_cuda_start_has_every_phase_and_nothing_unknown(capfd: pytest.CaptureFixture[str]) -> None:
    walk = Walk(TABLES["gpu"])
    walk.add(cuda_start.events())
    keys = {phase.key for phase in TABLES["gpu"].phases}
    assert keys - set(walk.tallies) == {"blind", "steady"}
    assert walk.other.events == 0
    assert walk.silence_ns > 250_000_000
    assert main.main(["unknown", str(CUDA)]) == 0
    assert "0 of" in capfd.readouterr().err


def write_strace(folder: Path) -> Path:
    path = folder / "cuda.strace"
    path.write_text(
        f'openat(AT_FDCWD, "{CTL}", O_RDWR) = 8\n'
        "ioctl(8, _IOC(_IOC_READ|_IOC_WRITE, 0x46, 0xd2, 0x48), 0x7ff0) = 0\n"
        f"ioctl(8, {ALLOC}, 0x7ff0) = 0\n"
        "ioctl(8, _IOC(_IOC_READ|_IOC_WRITE, 0x46, 0x99, 0x10), 0x7ff0) = -1 EINVAL (Invalid argument)\n"
    )
    return path


def test_compare_takes_a_recording_and_a_strace_log(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = write_strace(tmp_path)
    assert main.main(["compare", "--json", str(CUDA), str(log)]) == 0
    rows = {row["phase"]: row for row in map(json.loads, capfd.readouterr().out.splitlines())}
    assert rows["version"]["b"]["names"] == {"CHECK_VERSION_STR": 1}
    assert rows["blind"]["a"] is None
    assert rows["blind"]["b"]["calls"] == 1
    assert rows["root"]["b"] is None
    assert main.main(["compare", str(CUDA), str(log)]) == 0
    text = capfd.readouterr().out
    assert "silent 252 ms" in text
    assert "B, in no phase: ioctl 0xc0104699" in text


def test_what_is_no_run_is_refused_in_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("nothing to see\n")
    for argv in (
        ["compare", str(CUDA), str(other)],
        ["unknown", str(other)],
        ["trace", "--from", str(other)],
    ):
        assert main.main(argv) == 1
        assert len(capfd.readouterr().err.splitlines()) == 1


def test_unknown_lists_and_counts(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main.main(["unknown", "--json", str(write_strace(tmp_path))]) == 0
    said = capfd.readouterr()
    assert [json.loads(line) for line in said.out.splitlines()] == [
        {"device": "/dev/nvidiactl", "unknown": "escape 0x99 type 0x46", "calls": 1}
    ]
    assert "1 of 4 calls have no name here" in said.err


def test_a_start_told_by_steps_and_one_seen_by_calls_have_the_same_phases() -> None:
    names = (
        "cgroup",
        "clone",
        "mount",
        "device",
        "device-rules",
        "pivot-root",
        "hostname",
        "seccomp",
        "exec",
    )
    steps = [Step(n, Source.FILE, "c", 1, name, {}, None, 5) for n, name in enumerate(names)]
    log = """\
9 1.0 mkdirat(5, "minirt-c", 0755) = 0
9 1.1 clone3({flags=CLONE_NEWNS|CLONE_NEWPID}, 88) = 10
10 1.2 mount("proc", "/proc", "proc", 0, NULL) = 0
10 1.3 mknodat(7, "null", S_IFCHR|0666, makedev(0x1, 0x3)) = 0
9 1.4 bpf(BPF_PROG_ATTACH, {target_fd=5}, 152) = 0
10 1.5 pivot_root(".", ".") = 0
10 1.6 sethostname("c", 1) = 0
10 1.7 seccomp(SECCOMP_SET_MODE_FILTER, 0, {len=9}) = 0
10 1.8 execve("/bin/true", ["true"], 0x7ffd /* 1 var */) = 0
"""
    table = TABLES["container"]
    told, seen = Walk(table), Walk(table)
    told.add(steps)
    seen.add(convert(Parser(also=table.also), log.splitlines()))
    assert told.tallies.keys() == seen.tallies.keys()
    assert len(told.tallies) == len(names)
    assert seen.other.events == 0
