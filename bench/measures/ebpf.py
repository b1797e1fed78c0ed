"""What eBPF costs and loses: an ioctl against bpftrace and strace, offered rates, a doorbell workload.

The ioctls are of the embedded device's type on /dev/null, which the kernel
answers: so nothing but the seeing is measured. Each program prints its own time.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from harness import GLASSSTACK, ROOT, TIMEOUT, MissingError, Result, paired, program, run, tool, within_ratio

from glassstack.collectors.bpf import records
from glassstack.collectors.bpf.loading import BpfError, check
from glassstack.collectors.bpf.options import Options
from glassstack.collectors.bpf.spawn import Probe
from glassstack.model.events import Dropped
from measures.equality import seen_by_glassstack, seen_by_strace

CALLS = 40_000
REQUEST = 0xC010FA3F
OFFERED, OFFERED_S = 500_000, 10
FULL = 3_000_000
TRAIN_S = 6
BPFTRACE = """
tracepoint:syscalls:sys_enter_ioctl /((args->cmd >> 8) & 0xff) == 0xfa/ {
  @fd[tid] = args->fd; @cmd[tid] = args->cmd;
}
tracepoint:syscalls:sys_exit_ioctl /@cmd[tid]/ {
  printf("%d %d %x %d\\n", pid, @fd[tid], @cmd[tid], args->ret); delete(@fd[tid]); delete(@cmd[tid]);
}
"""


def _possible() -> None:
    try:
        check()
    except BpfError as error:
        raise MissingError(str(error)) from error


@cache
def _storm() -> str:
    """Builds the program that makes the ioctls."""
    path = Path(tempfile.mkdtemp(prefix="glassstack-bench-")) / "storm"
    run([tool("cc"), "-O1", "-o", str(path), str(ROOT / "tests/system/bpf_storm.c")])
    return str(path)


def _each(command: Sequence[str]) -> float:
    """ns of one ioctl, as the storm that is run by ``command`` says."""
    out = run(command, stdin=subprocess.DEVNULL).stdout
    return int(next(line for line in out.splitlines() if line.strip().isdigit())) / CALLS


def _ours() -> tuple[str, ...]:
    options = ("--source", "ebpf", "--all-ioctls", "-e", "trace=ioctl", "--gpu", "none", "-o", "/dev/null")
    return (*GLASSSTACK, "trace", *options, "--", _storm(), str(CALLS))


def _bpftrace() -> tuple[str, ...]:
    """bpftrace with room to lose nothing, and tracefs for itself where that is not mounted."""
    script = (
        "test -d /sys/kernel/debug/tracing/events || test -d /sys/kernel/tracing/events || "
        "mount -t tracefs nodev /sys/kernel/tracing; BPFTRACE_PERF_RB_PAGES=8192 exec "
        'bpftrace -q -o /dev/null -e "$1" -c "$2"'
    )
    command = f"{_storm()} {CALLS}"
    return (tool("unshare"), "-m", "sh", "-c", script, "sh", BPFTRACE, command)


def ioctl_cost(runs: int) -> list[Result]:
    """An ioctl seen with argument bytes, against a line with four numbers of it, and against strace."""
    _possible()
    tool("bpftrace")
    native = statistics.median(_each((_storm(), str(CALLS))) for _ in range(runs))
    strace = (
        tool("strace"),
        "-f",
        "--seccomp-bpf",
        "-e",
        "trace=ioctl",
        "-o",
        "/dev/null",
        _storm(),
        str(CALLS),
    )

    def added(command: Sequence[str]) -> float:
        return max(1.0, _each(command) - native) / 1000

    what = "added to a device ioctl by eBPF"
    first = paired(runs, lambda: added(_ours()), lambda: added(_bpftrace()))
    second = paired(runs, lambda: added(_ours()), lambda: added(strace))
    note = "peer: bpftrace printing pid, fd, cmd, ret; wanted: 1/8"
    return [
        within_ratio("ebpf-ioctl-bpftrace", what, "µs", first, 1 / 5, note),
        within_ratio("ebpf-ioctl-strace", what, "µs", second, 1 / 15, "peer: strace -f --seccomp-bpf"),
    ]


def _flood(calls: int, rate: int, ring_mib: int) -> tuple[int, int, float]:
    """Calls delivered, dropped, and made a second."""
    words = (_storm(), str(calls), *([str(rate)] if rate else []))
    options = Options(command=words, any_node=True, ring_mib=ring_mib)
    probe = Probe(options, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    delivered = dropped = 0
    deadline = time.monotonic() + TIMEOUT
    while (batch := probe.read_raw(1.0)) is not None and time.monotonic() < deadline:
        for item in batch:
            if isinstance(item, records.Block):
                delivered += records.count_ioctls(item.data, REQUEST)
            elif isinstance(item, Dropped):
                dropped += item.count
    assert probe.process.stdout is not None
    took = int(probe.process.stdout.read())
    probe.close()
    return delivered, dropped, calls * 1e9 / took


def floods(runs: int) -> list[Result]:
    """Everything delivered at the offered rate; at full speed the losses are counted exactly."""
    _possible()
    made = OFFERED * OFFERED_S
    delivered, dropped, rate = _flood(made, OFFERED, 64)
    note = f"{delivered:,} delivered, {dropped:,} dropped of {made:,} at {rate:,.0f}/s"
    offered = Result(
        "ebpf-offered",
        f"{OFFERED:,} ioctls/s offered for {OFFERED_S} s: delivered",
        100 * delivered / made,
        "%",
        limit="= 100 %",
        ok=delivered == made and not dropped and rate > 0.95 * OFFERED,
        note=note,
    )
    results = [_flood(FULL, 0, 64) for _ in range(runs)]
    exact = all(given + lost == FULL for given, lost, _ in results)
    shares = [100 * given / FULL for given, _, _ in results]
    speed = statistics.median(rate for _, _, rate in results)
    losses = ", ".join(f"{lost:,}" for _, lost, _ in results)
    full = Result(
        "ebpf-full-speed",
        "at full speed: delivered",
        statistics.median(shares),
        "%",
        limit="≥ 99.9 %",
        ok=exact and statistics.median(shares) >= 99.9,
        note=f"{speed:,.0f}/s; dropped of {FULL:,}: {losses}; delivered + dropped = made: {exact}",
    )
    return [offered, full]


def doorbells(runs: int) -> list[Result]:
    """Steps of the training loop, two launches each: everything that looks at them on, and off.

    The loop runs by its own clock, long against what starting to look costs.
    """
    _possible()
    train = (program("fakegpu-train"), "--rate", "0", "--seconds", str(TRAIN_S))
    watch = (sys.executable, str(ROOT / "bench/watched.py"))

    def rate(*before: str) -> float:
        return 2 * int(run((*before, *train)).stdout.split()[0]) / TRAIN_S

    pairs = paired(runs, lambda: rate(*watch), lambda: rate(program("fakegpu-run"), "--"))
    value, peer = pairs.medians
    return [
        Result(
            "ebpf-doorbells",
            "launches a second, all collectors on / off",
            value,
            "/s",
            peer,
            pairs.ratio,
            "≥ 0.95×",
            pairs.ratio >= 0.95,
            "eBPF with uprobes on UMD and runtime, and all else that a session looks at; "
            "the loop waits for each step",
        )
    ]


def equal(runs: int) -> list[Result]:
    """The same deterministic run seen by eBPF, by the tracer and by strace: each thread's calls in order."""
    _possible()
    # Its own output must not fall between ours.
    command = ("sh", "-c", 'exec "$0" >/dev/null', program("fakegpu-client"))
    ours = seen_by_glassstack(command, "--source", "ebpf")
    differing: dict[str, int] = {}
    for name, theirs in (("ptrace", seen_by_glassstack(command)), ("strace", seen_by_strace(command))):
        differing[name] = sum(((ours - theirs) + (theirs - ours)).values())
    calls = sum(len(sequence) * count for sequence, count in ours.items())
    what = "threads whose device calls eBPF tells differently from ptrace and strace"
    note = f"{calls} calls compared; {differing}"
    value = sum(differing.values())
    return [
        Result("ebpf-equality", what, value, "threads", 0, limit="0", ok=not value and calls > 0, note=note)
    ]


MEASURES = {
    "ebpf-ioctl": ioctl_cost,
    "ebpf-floods": floods,
    "ebpf-doorbells": doorbells,
    "ebpf-equal": equal,
}
