"""What tracing costs the traced program, in its own clock, against strace and against no tracer."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from harness import GLASSSTACK, Pairs, Result, paired, program, report, tool, within_ratio

DEVNULL_CALLS = "40000"
DEVICE_CALLS = "40000"
OTHER_CALLS = "300000"


def _trace(*options: str) -> tuple[str, ...]:
    return (*GLASSSTACK, "trace", *options, "-o", "/dev/null", "--")


def kernel_ioctl(runs: int) -> list[Result]:
    """An ioctl that the kernel itself answers: what each one costs more than untraced."""
    bench = (program("fakegpu-bench"), "devnull", DEVNULL_CALLS)
    strace = (tool("strace"), "-f", "--seccomp-bpf", "-e", "trace=ioctl", "-o", "/dev/null")
    native = statistics.median(report(bench)["each_ns"] for _ in range(runs))

    def cost(command: Sequence[str]) -> float:
        return (report(command)["each_ns"] - native) / 1000

    ours = (*_trace("--gpu", "none", "-e", "trace=ioctl"), *bench)
    pairs = paired(runs, lambda: cost(ours), lambda: cost((*strace, *bench)))
    note = "peer: strace -f --seccomp-bpf -e trace=ioctl; wanted: 1.0×"
    return [within_ratio("traced-ioctl", "cost of a traced ioctl on /dev/null", "µs", pairs, 1.5, note)]


def device_ioctl(runs: int) -> list[Result]:
    """An ioctl that the embedded device answers, which is its own witness."""
    pairs = _traced_and_not(("ioctl", DEVICE_CALLS), "mean_ns", runs)
    what = "embedded device: ioctl traced / untraced"
    return [within_ratio("embedded-ioctl-traced", what, "µs", pairs, 1.15, "peer: fakegpu-run, untraced")]


def other_syscalls(runs: int) -> list[Result]:
    """Calls that are none of the tracer's business."""
    pairs = _traced_and_not(("syscalls", OTHER_CALLS), "each_ns", runs)
    what = "other syscalls: traced / untraced"
    return [within_ratio("other-syscalls-traced", what, "µs", pairs, 1.05, "peer: fakegpu-run, untraced")]


def _traced_and_not(arguments: tuple[str, ...], key: str, runs: int) -> Pairs:
    bench = (program("fakegpu-bench"), *arguments)
    untraced = (program("fakegpu-run"), "--", *bench)
    traced = (*_trace("--gpu", "embedded"), *bench)
    return paired(runs, lambda: report(traced)[key] / 1000, lambda: report(untraced)[key] / 1000)


MEASURES = {
    "traced-ioctl": kernel_ioctl,
    "embedded-ioctl-traced": device_ioctl,
    "other-syscalls-traced": other_syscalls,
}
