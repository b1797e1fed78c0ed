"""How long the lab VM takes: to a prompt, and from there to the TUI and its stack at work."""

from __future__ import annotations

import time

from harness import GLASSSTACK, Result, at_most
from terminal import Terminal

PROMPT_S, TUI_S = 40.0, 30.0
_PATIENCE_S = 200.0


def lab(runs: int) -> list[Result]:
    """Boots into a shell, as a person does, and starts the TUI there."""
    boots, screens, stacks = [], [], []
    for _ in range(max(1, runs // 2)):
        boot, screen, stack = _boot()
        boots.append(boot)
        screens.append(screen)
        stacks.append(stack)
    note = f"demo at work, with rates, after {sorted(stacks)[len(stacks) // 2]:.1f} s"
    return [
        at_most("lab-boot", "glassstack lab: from start to the prompt", "s", boots, PROMPT_S),
        at_most(
            "lab-tui", "in it, glassstack: from enter to the home screen drawn", "s", screens, TUI_S, note
        ),
    ]


def _boot() -> tuple[float, float, float]:
    start = time.perf_counter()
    with Terminal((*GLASSSTACK, "lab"), 80, 24) as terminal:
        boot = terminal.wait_for(b"lab:", _PATIENCE_S) - start
        terminal.settle(1.0)
        start = time.perf_counter()
        terminal.send(b"glassstack\r")
        screen = terminal.wait_for(b"boundary", _PATIENCE_S) - start
        stack = terminal.wait_for(b"SUBMIT", _PATIENCE_S) - start
        return boot, screen, stack


MEASURES = {"lab": lab}
