"""Units read the same everywhere: boundaries between units, rounding, signs."""

from __future__ import annotations

import pytest

from glassstack.format import units
from glassstack.model.values import Missing


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (65536, "64 KiB"),
        (1024**2 - 1, "1 MiB"),
        (10 * 1024**3, "10 GiB"),
        (-2048, "-2 KiB"),
    ],
)
def test_size(value: int, text: str) -> None:
    assert units.size(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.5, "0.5"),
        (999, "999"),
        (1000, "1k"),
        (1234, "1.23k"),
        (99_960, "100k"),
        (4_500_000, "4.5M"),
    ],
)
def test_count(value: float, text: str) -> None:
    assert units.count(value) == text


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1 µs"),
        (13_210, "13.2 µs"),
        (999_999, "1 ms"),
        (1_500_000_000, "1.5 s"),
        (59_999_999_999, "1m00s"),
        (60_000_000_000, "1m00s"),
        (125_000_000_000, "2m05s"),
        (11_220_000_000_000, "3h07m"),
        (90_000_000_000_000, "1d01h"),
        (-13_210, "-13.2 µs"),
    ],
)
def test_duration(ns: int, text: str) -> None:
    assert units.duration(ns) == text


def test_clock_cuts_and_never_rounds_into_the_future() -> None:
    assert units.clock(1_999_999_999) == "1.999999"
    assert units.clock(1_999_999_999, 3) == "1.999"
    assert units.clock(12_000_000_001, 0) == "12"
    assert units.clock(-1_500_000_000, 1) == "-1.5"


def test_address_is_hexadecimal() -> None:
    assert units.address(0x7F12_C000_0000) == "0x7f12c0000000"
    assert units.address(-1) == "-0x1"


def test_limits_use_the_unit_of_their_controller() -> None:
    assert units.limit("memory.max", 512 * 1024**2) == "512 MiB"
    assert units.limit("cpu.max", 0.5) == "0.5 CPUs"
    assert units.limit("cpu.max", 1) == "1 CPU"
    assert units.limit("pids.max", 4096) == "4,096"
    assert units.limit("pids.max", None) == "max"
    assert units.limit("memory.max", Missing("no memory controller")) == "missing: no memory controller"
