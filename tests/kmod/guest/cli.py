#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The commands of glassstack on programs of the kernel's own device. Prints KTAP."""

import json
import os
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
