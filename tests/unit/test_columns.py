"""Aligned tables, and what the reading commands draw with them."""

from __future__ import annotations

import pytest

from glassstack.cli import cgroup, holders, ps
from glassstack.cli.columns import cells, cut, table
from glassstack.model.entities import Cgroup, Holder, Limit, ProcessInfo
from glassstack.model.events import Cgroups, Holders, Processes
from glassstack.model.values import Missing, Source

HOSTILE = "ev\x1b[31mil\nname\u202e" + "x" * 200


@pytest.fixture(autouse=True)
def _utf8(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


def test_columns_are_aligned_both_ways() -> None:
    assert table(("A", "N"), [("x", "1"), ("long", "23")], right=(1,)) == ["A      N", "x      1", "long  23"]


def test_wide_characters_take_two_columns() -> None:
    assert cells("名前") == 4
    assert cells("e\u0301") == 1
    assert table(("A", "B"), [("名前", "x"), ("ab", "y")]) == ["A     B", "名前  x", "ab    y"]


def test_cut_marks_what_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cut("abcdef", 4) == "abc…"
    assert cut("名前名前", 4) == "名…"
    assert cut("abc", 3) == "abc"
    monkeypatch.setenv("LC_ALL", "C")
    assert cut("abcdef", 4) == "abc~"


@pytest.mark.parametrize("width", [20, 40, 80, 250])
def test_no_line_is_wider_than_asked(width: int) -> None:
    lines = table(("NAME", "VALUE", "REST"), [("a" * 30, "1", "b" * 300)], width)
    assert max(map(cells, lines)) <= width


def events() -> list[tuple[object, list[object]]]:
    limit = Limit("memory.max", Missing("permission denied"), 4096, "/" + HOSTILE)
    tree = (
        Cgroup("/", 2, (), (limit,), {"memory.current": Missing("not counted")}, {}, (), "ancestor"),
        Cgroup("/" + HOSTILE, 2, (), (limit,), {"memory.current": 1024}, {"memory.oom": 3}, (7,), "own"),
    )
    process = ProcessInfo(
        7, 1, (7, 3), HOSTILE, HOSTILE, HOSTILE, "S", 1, 4096, 0.5, 0.0, HOSTILE, HOSTILE, "/dev/x"
    )
    holder = Holder(7, HOSTILE, HOSTILE, "/dev/fakegpu0", "fd", "fd 5 rw", HOSTILE, HOSTILE, 3)
    return [
        (cgroup, [Cgroups(1, Source.POLL, 7, "/" + HOSTILE, tree, "", "a; b")]),
        (holders, [Holders(1, Source.POLL, (holder,), 23)]),
        (ps, [Processes(1, Source.POLL, (process,))]),
    ]


@pytest.mark.parametrize("width", [0, 80, 200])
@pytest.mark.parametrize("number", range(3))
def test_hostile_names_stay_data(number: int, width: int) -> None:
    module, batch = events()[number]
    lines = module.draw(batch, width)  # type: ignore[attr-defined]
    assert all(line.isprintable() for line in lines)
    assert not width or max(map(cells, lines)) <= width


def test_cgroup_says_what_counts_and_why_something_is_missing() -> None:
    module, batch = events()[0]
    text = "\n".join(module.draw(batch, 0))  # type: ignore[attr-defined]
    assert "4 KiB" in text
    assert "25 %" in text
    assert "missing: permission denied" in text
    assert "note: memory.current missing in /: not counted" in text
    assert "memory.oom=3" in text


def test_holders_counts_those_not_looked_into() -> None:
    assert holders.draw([Holders(1, Source.POLL, (), 0)], 80) == ["nobody holds a device"]
    assert "1 process could not" in "\n".join(holders.draw([Holders(1, Source.POLL, (), 1)], 80))
    assert "23 processes could not" in "\n".join(holders.draw([Holders(1, Source.POLL, (), 23)], 80))


def test_ps_leaves_out_columns_where_the_terminal_is_narrow() -> None:
    _, batch = events()[2]
    assert "CGROUP" in ps.draw(batch, 200)[0]  # type: ignore[arg-type]
    assert "CGROUP" not in ps.draw(batch, 80)[0]  # type: ignore[arg-type]
