"""The NVIDIA tables against tests/data/nvidia_abi.txt, written from public sources apart from them."""

from __future__ import annotations

import re

import pytest

from glassstack.decoders.nvidia import frontend, uvm
from glassstack.decoders.nvidia.rows import Layout, Version, choose, version_of
from glassstack.decoders.nvidia.table_classes import CLASSES
from glassstack.decoders.nvidia.table_controls import CONTROLS
from glassstack.decoders.nvidia.table_status import STATUS
from tests.support import ROOT

DRIVERS = (
    *("515.43.04", "520.61.05", "525.60.13", "530.30.02", "535.54.03", "535.104.05", "545.23.06"),
    *("550.40.07", "550.54.14", "555.42.02", "560.35.03", "565.57.01", "570.26", "570.124.06"),
    *("575.57.08", "580.65.06", "580.95.05", "590.48.01", "595.45.04"),
)


def facts(kind: str) -> list[list[str]]:
    lines = (ROOT / "tests/data/nvidia_abi.txt").read_text().splitlines()
    return [line.split()[1:] for line in lines if line.startswith(f"{kind} ")]


def expected(rows: list[list[str]], driver: Version) -> list[list[str]]:
    """Of the rows of one number and size, the newest that this driver has."""
    return [row for row in rows if version_of(row[2]) <= driver][-1:]


def size_of(layout: Layout) -> str:
    return f"{layout.size}*" if layout.array else {-1: "-", -2: "gone"}.get(layout.size, str(layout.size))


def told(layout: Layout) -> tuple[str, str]:
    return size_of(layout), "-" if layout.status is None else str(layout.status)


@pytest.mark.parametrize("driver", DRIVERS)
def test_frontend_layouts_of_every_driver(driver: str) -> None:
    version = version_of(driver)
    rows = facts("frontend")
    for number, size in {(row[0], row[3]) for row in rows}:
        want = expected([row for row in rows if (row[0], row[3]) == (number, size)], version)
        if not want:
            continue
        _, name, _, _, status = want[0]
        bytes_ = 0 if size == "-" else int(size.rstrip("*"))
        layout = choose(frontend.ROWS[int(number, 16)], bytes_, version)
        assert layout is not None
        assert (layout.name, *told(layout)) == (name, size, status), number


@pytest.mark.parametrize("driver", DRIVERS)
def test_uvm_layouts_of_every_driver(driver: str) -> None:
    version = version_of(driver)
    rows = facts("uvm")
    for number in {row[0] for row in rows}:
        want = expected([row for row in rows if row[0] == number], version)
        layout = choose(uvm.ROWS[int(number, 0)], None, version)
        if not want:
            continue
        if want[0][3] == "gone":
            assert layout is None, number
            continue
        assert layout is not None
        assert layout.name.startswith(want[0][1]), number
        assert told(layout) == (want[0][3], want[0][4]), number


def test_nothing_is_in_the_tables_that_the_facts_lack() -> None:
    assert {f"0x{number:x}" for number in frontend.ROWS} == {row[0] for row in facts("frontend")}
    known = {int(row[0], 0) for row in facts("uvm")} | set(range(57, 64)) | {77}
    assert set(uvm.ROWS) == known
    assert set(STATUS) - set(range(0x74, 0x79)) - {0} == {
        int(row[0], 16) for row in facts("status") if row[1] != "NVLINK_"
    } - {0}


def test_members_are_where_the_facts_have_them() -> None:
    for number, since, name, offset in facts("member"):
        tables = frontend.ROWS if number.startswith("0x") else uvm.ROWS
        rows = tables[int(number, 0)]
        wanted = version_of(since)
        layouts = [row for row in rows if row.since >= wanted] if len(rows) > 1 else list(rows)
        at = {m.name: m.offset for m in layouts[0].members}
        assert at.get(name) == int(offset), f"{name} of {number} from {since}"


def test_parameters_of_classes() -> None:
    for number, since, size, name, offset in facts("params"):
        layout = choose(frontend.params_of(int(number, 16)), None, version_of(since))
        assert layout is not None
        assert layout.size == int(size)
        assert {m.name: m.offset for m in layout.members}[name] == int(offset)


def test_numbers_of_classes_commands_and_statuses() -> None:
    for kind, table in (("class", CLASSES), ("control", CONTROLS), ("status", STATUS)):
        rows = facts(kind)
        assert len(rows) > 30
        for number, word in rows:
            name = table.get(int(number, 16), "")
            # A fact may name only what a family of numbers has in common: its words, in this order.
            words = ".*".join(filter(None, word.split("_")))
            assert re.search(words, name), f"{kind} {number} {word}: {name!r}"
    assert {f"0x{number:x}" for number in CONTROLS} == {row[0] for row in facts("control")}


def test_statuses_and_bytes_stay_inside_the_structure() -> None:
    for rows in (*frontend.ROWS.values(), *uvm.ROWS.values()):
        for row in rows:
            if row.size > 0:
                assert all(member.end <= row.size for member in row.members), row.name
                assert row.status is None or row.status + 4 <= row.size
