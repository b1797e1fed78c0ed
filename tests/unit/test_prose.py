"""The Markdown of drills on screen."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from glassstack.drills.scenario import Scenario, find, load
from glassstack.tui.prose import rows
from tests.support import ROOT

DRILLS = [load(folder) for folder in find([ROOT / "scenarios"])]
TABLE = "| what | fine | lost |\n|---|---|---|\n| wptr | moves | ahead of rptr |\n"


def test_what_is_marked_stands_out() -> None:
    (line,) = rows("Run **this** or `that one` now", 60)
    assert line.spans == (
        ("Run ", ""),
        ("this ", "strong"),
        ("or ", ""),
        ("that one ", "name"),
        ("now", ""),
    )


def test_a_table_that_fits_has_columns_and_one_that_does_not_is_stacked() -> None:
    assert [line.text for line in rows(TABLE, 60)] == ["what  fine   lost", "wptr  moves  ahead of rptr"]
    assert [line.text for line in rows(TABLE, 22)] == ["wptr", "  fine: moves", "  lost: ahead of rptr"]


def test_a_command_is_never_cut() -> None:
    text = "\n".join(line.text for line in rows("    verdict fine        it works; leave it alone", 24))
    assert "verdict fine" in text
    assert "alone" in text


def test_items_stay_apart() -> None:
    assert [line.text for line in rows("1. one\n   more\n2. two", 40)] == ["1. one more", "2. two"]


@pytest.mark.parametrize("width", [20, 44, 76])
@pytest.mark.parametrize("scenario", DRILLS, ids=[one.id for one in DRILLS])
def test_every_drill_fits(scenario: Scenario, width: int) -> None:
    for text in (scenario.brief(), scenario.debrief()):
        shown = rows(text, width)
        assert all(cell_len(line.text) <= width for line in shown)
        assert "**" not in "".join(line.text for line in shown)
