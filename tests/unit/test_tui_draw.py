"""Rows, columns, curves and bars: what fits, what is cut, what never lies."""

from __future__ import annotations

import pytest

from glassstack.model.entities import Completion
from glassstack.tui.draw import Column, Table, bar, fit, merged, row, rule, spark_rows, wrap
from glassstack.tui.latency import histogram, lane
from glassstack.tui.look import Look


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("abc", 5, "abc  "),
        ("abcdef", 4, "abc…"),
        ("漢字かな", 5, "漢字…"),
        ("漢字かな", 6, "漢字 …"),
        ("ab", 0, ""),
    ],
)
def test_fit_counts_cells_not_characters(text: str, width: int, shown: str) -> None:
    assert fit(text, width) == shown


def test_narrow_screens_lose_whole_columns() -> None:
    columns = (Column("pid", 5, right=True), Column("device", 8, needs=60), Column("rest"))
    assert Table(columns, 70).head().text.split() == ["pid", "device", "rest"]
    assert Table(columns, 40).head().text.split() == ["pid", "rest"]
    wide, narrow = Table(columns, 70).row(["1", "gpu0", "x"]), Table(columns, 40).row(["1", "gpu0", "x"])
    assert (len(wide.text), len(narrow.text)) == (70, 40)
    assert "gpu0" not in narrow.text


def test_spans_of_one_style_become_one() -> None:
    assert merged([("a", "dim"), ("  ", ""), ("b", "dim"), ("c", "bad")]) == (("a  b", "dim"), ("c", "bad"))


def test_a_curve_keeps_zero_on_the_ground_and_shows_what_is_small() -> None:
    assert spark_rows([0, 1, 1000], 5, 1000) == ["  ▁▂█"]
    assert spark_rows([0, 1000], 2, 1000, height=2) == [" █", "▁█"]


def test_a_ring_that_wraps_is_full_at_both_ends() -> None:
    assert bar(0.2, 0.5, 10) == "──████────"
    assert bar(0.8, 0.1, 10) == "██──────██"
    assert bar(0.5, 0.5, 4) == "────"
    assert bar(0.5, 0.5001, 4).count("█") == 1


def test_a_heading_fills_the_line() -> None:
    assert len(rule("title", 40).text) == 40


def test_wrapping_cuts_words_that_are_longer_than_a_line() -> None:
    assert wrap("one two three", 7) == ["one two", "three"]
    assert wrap("0123456789", 4) == ["0123", "4567", "89"]


def test_histogram_buckets_are_powers_of_two() -> None:
    found = histogram([1000, 1023, 1024, 5000])
    assert found is not None
    assert (found.low, found.counts) == (512, (2, 1, 0, 1))
    assert found.high == 8192
    assert histogram([]) is None


def test_a_lane_shows_the_share_of_time_that_was_worked() -> None:
    entries = [Completion(1, 0, 0, 0, 50, 0, 0), Completion(2, 0, 0, 130, 131, 0, 0)]
    assert lane(entries, 0, 400, 4) == [50, 1, 0, 0]


def test_ascii_terminals_get_one_character_for_one() -> None:
    look = Look(ascii=True)
    text = "● ok ▁▂█ 13 µs … ▸◆"
    shown = look.text(text)
    assert shown.isascii()
    assert len(shown) == len(text)
    assert "?" not in shown


def test_control_characters_never_reach_the_terminal() -> None:
    assert "\x1b" not in Look().text("evil\x1b[2Jname\n")


def test_no_colour_means_no_colour() -> None:
    from glassstack.tui import look

    for name in look._256:
        assert Look("none").style(name).color is None
        assert Look("none").style(name).bgcolor is None


def test_rows_take_bare_text() -> None:
    assert row("a", ("b", "bad")).text == "ab"
