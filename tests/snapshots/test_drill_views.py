"""What drill mode looks like: report, stack, shell, a check, the debrief. Review by eye when they change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from glassstack.tui.drill import DrillApp
from tests.snapshots import fake, seat
from tests.snapshots.test_views import NARROW, WIDE, _same_terminal, pytestmark

__all__ = ["_same_terminal", "pytestmark"]

VIEWS: dict[str, tuple[tuple[int, int], list[str]]] = {
    "report_narrow": (NARROW, []),
    "stack_narrow": (NARROW, ["b"]),
    "shell_zoomed_narrow": (NARROW, ["z", "ctrl+right_square_bracket"]),
    "hint_asked_narrow": (NARROW, ["H"]),
    "refused_wide": (WIDE, ["H", "y", "c"]),
    "shell_wide": (WIDE, ["ctrl+right_square_bracket"]),
    "solved_wide": (WIDE, ["c", "c", "e"]),
}


@pytest.mark.parametrize("view", VIEWS)
def test_view(view: str, snap_compare: Callable[..., bool]) -> None:
    size, keys = VIEWS[view]
    app = DrillApp(seat.FakeSeat(), store=fake.store_of(fake.healthy()), shell=False)

    async def before(pilot: Any) -> None:
        app.emulator.feed(seat.SHELL)
        app.shell_pane.repaint()
        for key in keys:
            await pilot.press(key)
            await pilot.pause(0.1)
        app.say("")
        await pilot.pause()

    assert snap_compare(app, run_before=before, terminal_size=size)
