#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The commands of glassstack on programs of the kernel's own device. Prints KTAP."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT))

from tests.kmod import ktap  # noqa: E402

BIN = Path(os.environ.get("FAKEGPU_BIN", ROOT / "build/bin"))
NODES = r"/dev/fakegpu(?:\d+|ctl|-uvm)"
STEPS = 23


@contextmanager
def training() -> Iterator[int]:
    """A training loop that keeps the device when its 23 steps are done; its pid."""
    command = [str(BIN / "fakegpu-train"), "--steps", str(STEPS), "--rate", "0", "--stay"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            assert program.stdout.readline() == f"{STEPS} steps, last one verified\n"
            yield program.pid
        finally:
            program.terminate()


def events(*words: str | int, status: int = 0) -> list[dict[str, Any]]:
    """What a command says as NDJSON."""
    command = [sys.executable, "-m", "glassstack.cli.main", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == status, f"{words}: status {done.returncode}: {done.stderr.strip()}"
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_maps_are_what_proc_says() -> None:
    with training() as pid:
        (event,) = events("maps", pid, "--once", "--json")
        lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    device = [mapping for mapping in event["mappings"] if mapping["device"]]
    assert {mapping["device"] for mapping in device} == {"/dev/fakegpu0"}
    assert len(device) == sum("/dev/fakegpu0" in line for line in lines)
    assert {mapping["what"] for mapping in device} == {"doorbell", "fence", "completion", "ring", "buffer"}


def test_fences_count_the_jobs() -> None:
    with training() as pid:
        (told,) = [
            event for event in events("fences", pid, "--once", "--json") if event["kind"] == "channels"
        ]
    assert not told["missing"], told["missing"]
    jobs = {channel["index"]: (channel["jobs"], channel["seqno"]) for channel in told["channels"]}
    assert jobs[1] == (STEPS, STEPS)


def test_cgroup_limits_are_the_effective_ones() -> None:
    outer, inner = Path("/sys/fs/cgroup/cli-test"), Path("/sys/fs/cgroup/cli-test/inner")
    with training() as pid:
        outer.mkdir()
        (outer / "cgroup.subtree_control").write_text("+memory +pids")
        (outer / "pids.max").write_text("23")
        inner.mkdir()
        (inner / "cgroup.procs").write_text(str(pid))
        (event,) = events("cgroup", pid, "--once", "--json")
    inner.rmdir()
    outer.rmdir()
    assert event["own"] == "/cli-test/inner"
    (own,) = [node for node in event["tree"] if node["path"] == event["own"]]
    limits = {limit["name"]: (limit["effective"], limit["set_by"]) for limit in own["limits"]}
    assert limits["pids.max"] == (23, "/cli-test"), limits


def test_holders_are_those_of_fuser() -> None:
    with training() as pid:
        (event,) = events("holders", "--once", "--json")
        fuser = subprocess.run(["fuser", "/dev/fakegpu0"], capture_output=True, text=True).stdout.split()
    mine = [holder for holder in event["holders"] if holder["device"] == "/dev/fakegpu0"]
    assert {holder["pid"] for holder in mine} == {int(word.rstrip("m")) for word in fuser} == {pid}
    assert {holder["how"] for holder in mine} == {"fd", "mapping"}


@contextmanager
def sharing() -> Iterator[dict[str, Any]]:
    """Three processes with two contexts, as the program tells of them."""
    command = [sys.executable, str(ROOT / "tests/kmod/sharing.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        yield json.loads(program.stdout.readline())


def test_a_shared_context_is_one_with_several_holders() -> None:
    with sharing() as who:
        fences = events("fences", "--once", "--json")
        (held,) = events("holders", "--once", "--json")
    first, second = who["contexts"]
    told = [channel for event in fences if event["kind"] == "channels" for channel in event["channels"]]
    assert sorted((c["context"], c["jobs"]) for c in told) == [(first, 1), (second, 2)], told
    entries = [e for event in fences if event["kind"] == "completions" for e in event["entries"]]
    assert len(entries) == 3, entries
    seen = {
        name: {(h["how"], h["context"]) for h in held["holders"] if h["pid"] == who[name]}
        for name in ("parent", "fork", "taker")
    }
    both = {(how, context) for how in ("fd", "mapping") for context in (first, second)}
    assert seen == {"parent": both, "fork": both, "taker": {("mapping", first)}}, seen


def test_the_device_is_what_sysfs_says() -> None:
    from glassstack.collectors.device import DevicePoller

    with sharing() as who:
        device = next(d for d in DevicePoller(list).look().devices if d.path == "/dev/fakegpu0")
        folder = Path("/sys/class/fakegpu/fakegpu0")
        texts = {name: (folder / name).read_text().strip() for name in ("name", "uuid", "pci", "vram_total")}
    assert (device.name, device.uuid, device.pci, str(device.vram_total)) == tuple(texts.values())
    assert device.vram_total > device.quota > 0
    assert device.contexts == len(device.opened) == 2
    assert [one.id for one in device.opened] == who["contexts"]
    assert {one.pid for one in device.opened} == {who["parent"]}
    counted = [(one.submits, one.completions, one.channels, one.xid) for one in device.opened]
    assert counted == [(1, 1, 1, 0), (2, 2, 1, 0)], device.opened
    assert not any(one.missing for one in device.opened)
    assert DevicePoller(list).look().devices[0].contexts == 0


def test_a_joined_device_reaches_its_programs_under_yama() -> None:
    """Where only an ancestor may look into a process, its launcher lends what the device needs."""
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    before = scope.read_text()
    nobody: dict[str, Any] = {"user": 65534, "group": 65534, "extra_groups": [], "text": True}
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(BIN.parent / "lib", f"{folder}/lib", symlinks=True)
        shutil.copytree(BIN, f"{folder}/bin", symlinks=True)
        Path(folder).chmod(0o755)
        run = f"{folder}/bin/fakegpu-run"
        client = [run, "--join", "yama", "--", f"{folder}/bin/fakegpu-client"]
        owner = [run, "--name", "yama", "--", "sh", "-c", "echo up; exec cat"]
        scope.write_text("1")
        try:
            with subprocess.Popen(owner, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **nobody) as device:
                assert device.stdout is not None
                assert device.stdout.readline() == "up\n"
                done = subprocess.run(client, capture_output=True, **nobody)
        finally:
            scope.write_text(before)
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAIL")]
    assert not failed, failed
    assert done.returncode == 0, done.stderr


def test_trace_sees_what_strace_sees() -> None:
    from tests import tracing

    program = ["sh", "-c", f"exec {BIN}/fakegpu-vectoradd --ioctl >/dev/null"]
    ours = tracing.trace("-f", "--json", "--gpu", "kernel", "--", *program)
    assert ours.returncode == 0, ours.stderr
    with tempfile.TemporaryDirectory() as folder:
        theirs = list(tracing.strace_by_thread(program, Path(folder), NODES).values())
    seen = list(tracing.by_thread(ours.stdout).values())
    assert seen == theirs, f"{seen} is not {theirs}"
    assert sum(one.syscall == "ioctl" for one in seen[0]) > 5


if __name__ == "__main__":
    sys.exit(ktap.main(globals()))
