"""Bytes that go over the wire at the default rates, against btop in the same run."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence

from harness import GLASSSTACK, Pairs, Result, tool, within_ratio
from terminal import Terminal

from measures.screen import COLUMNS, LINES, watched

WARM_UP, WINDOW = 4.0, 10.0  # seconds


def _rates(terminals: Sequence[Terminal]) -> list[float]:
    """KiB a second of each, over the same WINDOW."""
    for terminal in terminals:
        terminal.settle(WARM_UP / len(terminals))
    before = [terminal.total for terminal in terminals]
    terminals[0].settle(WINDOW)
    return [
        (terminal.total - start) / 1024 / WINDOW for terminal, start in zip(terminals, before, strict=True)
    ]


def wire(runs: int) -> list[Result]:
    """The home screen with its demo, the calls followed at 1,000 a second, and btop, side by side."""
    homes, follows, peers = [], [], []
    for _ in range(runs):
        with (
            tempfile.TemporaryDirectory() as fresh,
            Terminal((tool("btop"),), COLUMNS, LINES, {"XDG_CONFIG_HOME": fresh}) as btop,
            Terminal(GLASSSTACK, COLUMNS, LINES) as home,
            watched(1_000) as tui,
        ):
            tui.terminal.settle(1.0)
            tui.terminal.send(b"2")
            home_rate, follow_rate, btop_rate = _rates((home, tui.terminal, btop))
            homes.append(home_rate)
            follows.append(follow_rate)
            peers.append(btop_rate)
    size = f"{COLUMNS}×{LINES}"
    return [
        within_ratio(
            "wire-home", f"bytes on the wire, home screen with demo, {size}; peer: btop", "KiB/s",
            Pairs(tuple(homes), tuple(peers)), 0.5,
        ),
        within_ratio(
            "wire-follow", f"bytes on the wire, following 1,000 calls/s, {size}; peer: btop", "KiB/s",
            Pairs(tuple(follows), tuple(peers)), 3.0,
        ),
    ]  # fmt: skip


MEASURES = {"wire": wire}
