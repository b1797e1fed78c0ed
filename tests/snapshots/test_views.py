"""What the screens look like, narrow and wide, empty and full.

Review the pictures by eye when they change.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import textual

from glassstack.model.events import Event
from glassstack.tui.app import GlassApp
from tests.snapshots import fake, fake_containers

NARROW, WIDE = (80, 24), (160, 48)
BASELINE = "8.2.8"

pytestmark = pytest.mark.skipif(
    textual.__version__ != BASELINE, reason=f"the pictures are those of Textual {BASELINE}"
)

VIEWS: dict[str, tuple[tuple[int, int], str, list[str]]] = {
    "home_narrow": (NARROW, "healthy", []),
    "home_wide": (WIDE, "healthy", []),
    "home_empty": (NARROW, "nothing", []),
    "home_broken": (NARROW, "broken", []),
    "calls_narrow": (NARROW, "broken", ["2"]),
    "calls_moment_wide": (WIDE, "broken", ["2", "up"]),
    "maps_wide": (WIDE, "healthy", ["3"]),
    "fences_wide": (WIDE, "healthy", ["4"]),
    "cgroups_narrow": (NARROW, "healthy", ["5"]),
    "log_narrow": (NARROW, "broken", ["7"]),
    "processes_wide": (WIDE, "broken", ["8"]),
    "home_probed_narrow": (NARROW, "probed", []),
    "home_probed_wide": (WIDE, "probed", []),
    "launches_narrow": (NARROW, "probed", ["9"]),
    "launches_wide": (WIDE, "probed", ["9", "down"]),
    "launches_without": (NARROW, "healthy", ["9"]),
    "containers_narrow": (NARROW, "boxed", ["0", "down", "down", "down", "down", "down", "down"]),
    "containers_wide": (WIDE, "boxed", ["0"]),
}


def _events(name: str) -> list[Event]:
    make: Callable[[], list[Event]] = getattr(fake, name, None) or getattr(fake_containers, name)
    return make()


@pytest.fixture(autouse=True)
def _same_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pictures must not depend on where the tests run."""
    for name in ("NO_COLOR", "SSH_CONNECTION", "LC_ALL", "LC_CTYPE", "TEXTUAL_THEME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("LANG", "C.UTF-8")


@pytest.mark.parametrize("view", VIEWS)
def test_view(view: str, snap_compare: Callable[..., bool]) -> None:
    size, events, keys = VIEWS[view]
    app: Any = GlassApp(store=fake.store_of(_events(events)))
    assert snap_compare(app, press=keys, terminal_size=size)


def test_pictures_are_pictures() -> None:
    """A broken harness once stored nothing at all, and compared it with nothing."""
    folder = Path(__file__).parent / "__snapshots__" / "test_views"
    for view in VIEWS:
        text = (folder / f"test_view[{view}].svg").read_text()
        assert text.startswith("<svg")
        assert "glassstack" in text
