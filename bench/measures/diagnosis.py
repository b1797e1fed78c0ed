"""How fast evidence is read, and how long a verdict takes."""

from __future__ import annotations

import random
import re
import resource
import subprocess
import tempfile
import time
from pathlib import Path

from harness import GLASSSTACK, Result, at_most, paired

MB = 1_000_000
LOG_MB = 64
LOG_RATE = 50.0
VERDICT_MS = 300.0
_WORDS = re.findall(
    r"\S+",
    "usb pci 0000:00:1f.3 eth0 link up ACPI: BIOS reserved systemd[1]: Started session audit: "
    "type=1400 kernel "
    "memory node nvme0n1: sda registered driver IPv6: docker0: port entered forwarding state",
)
_XID = "NVRM: Xid (PCI:0000:61:00): 31, pid=7, name=x, Ch 0000000a, intr 00000000. MMU Fault"
PASTE = """\
$ nvidia-smi
Failed to initialize NVML: Driver/library version mismatch
$ dmesg | tail -4
[ 7386.259769] NVRM: API mismatch: the client has the version 515.48.07, but
               NVRM: this kernel module has the version 510.73.05.  Please
               NVRM: make sure that this kernel module and all NVIDIA driver
               NVRM: components have the same version.
"""


def log_rate(runs: int) -> list[Result]:
    """A kernel log with one Xid in a thousand lines; the peer is grep for the Xids."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "dmesg"
        _write(log)
        size = log.stat().st_size / MB
        pairs = paired(
            runs,
            lambda: size / _worked((*GLASSSTACK, "diagnose", str(log))),
            lambda: size / _worked(("grep", "-c", "Xid", str(log))),
        )
    value, peer = pairs.medians
    limit = f"≥ {LOG_RATE:g} MB/s"
    ok = value >= LOG_RATE
    return [
        Result(
            "log-rate",
            "kernel log diagnosed",
            value,
            "MB/s",
            peer,
            pairs.ratio,
            limit,
            ok,
            "peer: grep -c Xid; CPU time",
        )
    ]


def verdict_time(runs: int) -> list[Result]:
    """From process start to the verdict on a typical paste."""
    command = (*GLASSSTACK, "diagnose", "-")
    _took(command, PASTE)
    values = [1000 * _took(command, PASTE) for _ in range(runs)]
    return [at_most("verdict", "verdict on a typical paste, from process start", "ms", values, VERDICT_MS)]


def _took(command: tuple[str, ...], given: str = "") -> float:
    """Seconds; both 0 and 1 are answers."""
    began = time.perf_counter()
    done = subprocess.run(command, input=given, stdout=subprocess.PIPE, text=True, timeout=300)
    assert done.returncode in (0, 1), command
    return time.perf_counter() - began


def _worked(command: tuple[str, ...]) -> float:
    """Seconds of CPU, start of the interpreter included: what others do on the machine does not count."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _took(command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _write(log: Path) -> None:
    rng = random.Random(1)
    with log.open("w") as out:
        number = 0
        while out.tell() < LOG_MB * MB:
            words = [" ".join(rng.choices(_WORDS, k=9)) for _ in range(999)]
            out.writelines(f"[{number + n:12.6f}] {text}\n" for n, text in enumerate([*words, _XID]))
            number += 1000


MEASURES = {"log-rate": log_rate, "verdict": verdict_time}
