"""The lab's workloads on the embedded device: right results, exact counts, quiet steady state."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.system.umd_lab import STUCK, environment, on_device

#: Polls the fence page for a minute before it asks the kernel: a slow machine is no dead device.
PATIENT = {"FAKECUDA_SPIN_US": "60000000"}


@pytest.mark.parametrize("how", [[], ["--ioctl"]])
@pytest.mark.parametrize("count", ["1", "50000", "1000003"])
def test_vectoradd_adds(native: Path, how: list[str], count: str) -> None:
    done = on_device(native, native / "fakegpu-vectoradd", "--count", count, *how)
    assert f"[Vector addition of {count} elements]" in done.stdout
    assert "Test PASSED\nDone\n" in done.stdout
    assert (done.returncode, done.stderr) == (0, "")


def test_train_takes_the_steps_it_was_told(native: Path) -> None:
    done = on_device(native, native / "fakegpu-train", "--steps", "23", "--rate", "1000")
    assert (done.stdout, done.returncode) == ("23 steps, last one verified\n", 0)


def contexts(native: Path, device: str) -> list[dict[str, int]]:
    """What the device knows of the programs on it."""
    status = subprocess.run(
        [native / "fakegpud", "ctl", "--name", device, "status"],
        check=True,
        capture_output=True,
        timeout=STUCK,
    )
    found: list[dict[str, int]] = json.loads(status.stdout)["devices"][0]["contexts"]
    return found


def test_the_device_counts_the_same_jobs(native: Path) -> None:
    device = f"test-{os.getpid()}"
    train = [str(native / "fakegpu-train"), "--steps", "23", "--rate", "0", "--stay"]
    with subprocess.Popen(
        [native / "fakegpu-run", "--name", device, "--", *train],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as running:
        assert running.stdout
        assert running.stdout.readline() == "23 steps, last one verified\n"
        (context,) = contexts(native, device)
        running.send_signal(signal.SIGTERM)
    # one job to set up, one a step, each vector a page
    assert (context["submits"], context["completions"]) == (24, 24)
    assert (context["buffers"], context["bytes"], context["channels"]) == (3, 3 * 4096, 2)
    assert running.returncode == 0


def test_burst_verifies_every_burst(native: Path) -> None:
    done = on_device(native, native / "fakegpu-burst", "--bursts", "5", "--size", "23", "--rate", "0")
    assert (done.stdout, done.returncode) == ("5 bursts of 23 jobs, all verified\n", 0)


def syscalls(native: Path, log: Path, steps: int) -> dict[str, int]:
    """How often a run of fakegpu-train with so many steps made each syscall."""
    trainer = [str(native / "fakegpu-train"), "--rate", "0", "--steps", str(steps)]
    subprocess.run(
        ["strace", "-f", "-o", log, native / "fakegpu-run", "--", *trainer],
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=STUCK,
        env=environment(**PATIENT),
    )
    lines = log.read_text().splitlines()
    started = next(line for line in lines if re.search(r'execve\("[^"]*/fakegpu-train"', line))
    pid = started.split()[0]
    counts: dict[str, int] = {}
    for line in lines[lines.index(started) :]:
        call = re.match(rf"{pid}\s+(\w+)\(", line)
        if call:
            counts[call[1]] = counts.get(call[1], 0) + 1
    return counts


@pytest.mark.ptrace
def test_steady_state_makes_no_syscall(native: Path, tmp_path: Path) -> None:
    if not shutil.which("strace"):
        pytest.skip("strace is not installed: apt-get install strace")
    once, twice = (syscalls(native, tmp_path / f"{n}.log", n) for n in (1000, 2000))
    assert once["ioctl"] > 10
    assert once == twice


def test_a_signal_ends_train_in_good_order(native: Path) -> None:
    with subprocess.Popen(
        [native / "fakegpu-run", "--", native / "fakegpu-train", "--verbose"],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as running:
        assert running.stdout
        assert running.stdout.readline().startswith("step 100: ")
        running.send_signal(signal.SIGTERM)
        rest, _ = running.communicate(timeout=STUCK)
    assert re.search(r"^\d+ steps, last one verified$", rest, re.MULTILINE), rest
    assert running.returncode == 0


@pytest.mark.parametrize("rate", ["0", "200"])
def test_train_ends_when_the_device_dies(native: Path, rate: str) -> None:
    with subprocess.Popen(
        [native / "fakegpu-run", "--", native / "fakegpu-train", "--verbose", "--rate", rate],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as running:
        assert running.stdout
        assert running.stdout.readline().startswith("step 100: ")
        running.kill()  # the embedded device itself; the end of both pipes is the end of the program
        _, errors = running.communicate(timeout=10)
    assert re.search(r'code=719\(cudaErrorLaunchFailure\) ".*": unspecified launch failure', errors), errors


@pytest.mark.parametrize("what", ["launch-ring", "launch-ioctl", "ioctl", "devnull", "syscalls"])
def test_bench_prints_one_json_line(native: Path, what: str) -> None:
    done = on_device(native, native / "fakegpu-bench", what, "1000")
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    result = json.loads(line)
    assert result["bench"] == what
    assert result["n"] == (3000 if what == "syscalls" else 1000)
    assert result.get("each_ns", result.get("p50_ns")) > 0
