"""Functions and launches in store, stack and pane: counted exactly, and what is missing is said."""

from __future__ import annotations

from typing import Any

from glassstack.cli.trace_format import launch_line
from glassstack.cli.trace_format import line as trace_line
from glassstack.model import events as ev
from glassstack.model.entities import Completion, Launch, Mapping, Tally
from glassstack.model.values import Source
from glassstack.store.functions import kind_of
from glassstack.store.series import Series
from glassstack.store.stack import layers
from glassstack.store.state import LAUNCHES
from glassstack.store.store import Store
from glassstack.tui.look import Look
from glassstack.tui.pane import View
from glassstack.tui.panes.launches import LaunchesPane
from tests.unit.events import SECOND, call, process

SAMPLE = "the first 10 of each 100 ms"


def tallies(ts: int, launches: int, pid: int = 7, functions: str = "", since: int = SECOND) -> ev.Tallies:
    counted = (
        Tally("fcuLaunchKernel", "umd", launches, 0, launches, 0, 9000, (0,) * 12 + (launches,)),
        Tally("fcudaLaunchKernel", "runtime", launches),
        Tally("ALLOC", "syscall", 3),
    )
    return ev.Tallies(ts, Source.EBPF, pid, since, counted, "train", functions, 2000)


def launch(called: int, **more: Any) -> Launch:
    return Launch(7, "fcuLaunchKernel", called, called + 100, **more)


def drawn(store: Store, width: int = 78, height: int = 24) -> list[str]:
    pane = LaunchesPane(Look(), id="launches")
    return [row.text for row in pane.draw(View(store.snapshot(), width, height)).body]


def test_kinds_of_functions() -> None:
    names = ("fcuLaunchKernel", "cudaLaunchKernel", "fcuMemcpyHtoD_v2", "fcudaMemcpy", "cuMemsetD32")
    assert [kind_of(name) for name in names] == ["launch", "launch", "copy", "copy", "copy"]
    assert [kind_of(name) for name in ("fcuCtxSynchronize", "cuStreamQuery", "main")] == [
        "sync",
        "other",
        "other",
    ]


def test_counts_are_spread_over_the_seconds_in_which_they_were_made() -> None:
    series = Series()
    series.spread(SECOND + SECOND // 2, 3 * SECOND + SECOND // 2, 101)
    assert series.last(4 * SECOND, SECOND) == (25, 50, 26)


def test_rates_of_the_api_beside_a_silent_boundary() -> None:
    store = Store()
    mapping = Mapping(0, 4096, "r-xp", 0, "/lib/libfakecuda.so.1", "umd", version="550.54.14")
    store.apply([process(SECOND, "start"), ev.Mappings(SECOND, Source.POLL, 7, (mapping,))])
    store.apply([tallies(n * SECOND, 400 * (n - 1)) for n in range(2, 6)])
    umd = next(layer for layer in layers(store.snapshot()) if layer.key == "umd")
    assert umd.rates == (("launch/s", 400.0), ("sync/s", 0.0), ("copy/s", 0.0))
    assert umd.source == "measured (uprobe)"
    assert store.snapshot().rates.functions["runtime", "launch"] == (400, 400, 400, 400)
    assert ("syscall", "other") not in store.snapshot().rates.functions
    other = store.copy()
    other.apply([tallies(7 * SECOND, 9999)])
    assert store.snapshot().rates.functions["umd", "launch"] == (400, 400, 400, 400), "a copy is independent"


def test_a_layer_says_why_its_calls_are_not_counted() -> None:
    store = Store()
    mapping = Mapping(0, 4096, "r-xp", 0, "/lib/libfakecuda.so.1", "umd")
    store.apply([ev.Mappings(SECOND, Source.POLL, 7, (mapping,))])
    umd = next(layer for layer in layers(store.snapshot()) if layer.key == "umd")
    assert "calls not available: no eBPF" in umd.detail
    assert not umd.rates
    store.apply([tallies(2 * SECOND, 0, functions="libcuda.so.1: cuLaunchKernel can't be probed")])
    umd = next(layer for layer in layers(store.snapshot()) if layer.key == "umd")
    assert "can't be probed" in umd.detail
    assert "not available: libcuda.so.1" in drawn(store)[0]


def test_launches_are_kept_once_each_and_bounded() -> None:
    store = Store()
    store.apply([ev.Launches(SECOND, Source.EBPF, 7, (launch(n),), SAMPLE) for n in range(LAUNCHES + 5)])
    store.apply([ev.Launches(SECOND, Source.EBPF, 7, (launch(9, done_ns=500),), SAMPLE)])
    found = store.snapshot().launches
    assert len(found) == LAUNCHES
    assert [one.done_ns for _, one in found if one.called_ns == 9] == [500]


def test_a_launch_is_one_line_with_its_stages_and_says_what_is_missing() -> None:
    store = Store()
    at = 2 * SECOND
    stages = {"doorbell_ns": at + 50_000, "start_ns": at + 60_000, "done_ns": at + 90_000}
    whole = launch(at, via="ring", channel=1, wptr=512, seqno=3, by="completion ring", **stages)
    late = launch(at + 1000, via="ring", channel=1, wptr=560, note="no fence within 1000 ms")
    poisoned = launch(at + 2000, via="ring", channel=1, wptr=600, status=31, by="tracepoints")
    store.apply([tallies(SECOND, 5), tallies(at, 405)])
    store.apply([ev.Launches(at, Source.EBPF, 7, (whole, late, poisoned), SAMPLE)])
    narrow = drawn(store)
    line = next(text for text in narrow if "50 µs" in text)
    assert all(stage in line for stage in ("100 ns", "50 µs", "60 µs", "90 µs"))
    assert any(text.startswith("  └ no fence within 1000 ms") for text in narrow)
    assert any("✗ Xid 31" in text for text in narrow)
    assert any(SAMPLE in text and "all are counted" in text for text in narrow)
    wide = drawn(store, 158, 48)
    assert any("512" in text and "completion ring" in text for text in wide)
    assert any("fcuLaunchKernel" in text and " 405 " in text for text in wide)


def test_what_counting_costs_is_said() -> None:
    store = Store()
    pane = LaunchesPane(Look(), id="launches")
    for n in (1, 2):
        store.apply([tallies(n * SECOND, 50_000 * n)])
        drawing = pane.draw(View(store.snapshot(), 158, 48))
    # 50,000 launches a second, each counted in the UMD and in the runtime.
    assert "it adds 2 µs a call, now 20 % of a processor" in drawing.body[0].text


def test_without_uprobes_jobs_are_followed_from_the_submit_or_the_doorbell() -> None:
    store = Store()
    at = 2 * SECOND
    submit = call(at, "SUBMIT", dur_ns=30_000, fields={"seqno": 5}, ret=0)
    jobs = (
        Completion(5, 0, at + 20_000, at + 40_000, at + 70_000, 0, 64),
        Completion(5, 1, at + 90_000, at + 95_000, at + 99_000, 0, 64),  # a ring's, with the same number
    )
    store.apply([process(SECOND, "start"), submit])
    store.apply([ev.Completions(at + SECOND, Source.POLL, 7, "/dev/fakegpu0", 1, jobs, 2)])
    rows = drawn(store)
    by_call = next(text for text in rows if "70 µs" in text)
    assert all(stage in by_call for stage in ("30 µs", "20 µs", "40 µs"))
    by_doorbell = next(text for text in rows if "9 µs" in text)
    assert " - " in by_doorbell
    assert any("the API is not seen" in text for text in rows)
    assert "no eBPF" in rows[0]


def test_a_launch_is_one_line_of_a_trace() -> None:
    stages = {"doorbell_ns": 51_000, "start_ns": 61_000, "done_ns": 91_000}
    whole = launch(1000, via="ring", channel=1, wptr=512, seqno=3, by="tracepoints", **stages)
    line = (
        "fcuLaunchKernel 100ns → ch 1 wptr 512 → doorbell +50µs → start +60µs → fence 3 +90µs (tracepoints)"
    )
    assert launch_line(whole) == line
    joined = launch(1000, channel=1, wptr=512, seqno=3, by="completion ring", start_ns=900, done_ns=91_000)
    assert "→ doorbell ? → job started before → fence 3 +90µs" in launch_line(joined)
    assert launch_line(launch(1000, note="no fence within 1000 ms")).endswith(
        "fence ? ? (no fence within 1000 ms)"
    )
    event = ev.Launches(1, Source.EBPF, 7, (whole, joined), SAMPLE)
    text = trace_line(event, prefix=True)
    assert text is not None
    assert [one.startswith("[pid 7] fcuLaunchKernel") for one in text.splitlines()] == [True, True]
