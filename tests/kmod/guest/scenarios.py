#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The law of the drills that run in the lab, each root cause a test. Prints KTAP.

The last of the scripts, and in it a kernel that enforces signatures is the last
cause: after that no module can be loaded in this boot.
"""

import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT))

from tests.kmod import ktap  # noqa: E402

ONE_WAY = "unsigned"


def law(folder: Path, number: int) -> Callable[[], None]:
    """A test that proves a cause of a drill."""

    def test() -> None:
        from glassstack.drills.engine import home
        from glassstack.drills.law import PROOFS, prove_one
        from glassstack.drills.scenario import load

        result = prove_one(load(folder), number, "lab", home())
        assert not result.why, f"after {len(result.held)} proofs: {result.why}"
        assert result.held == list(PROOFS)

    return test


def tests() -> dict[str, Callable[[], None]]:
    """By name, the one with no way back at the end."""
    found = []
    for file in sorted(ROOT.glob("scenarios/*/scenario.toml")):
        drill = tomllib.loads(file.read_text())
        if "lab" in drill["places"]:
            for number, cause in enumerate(drill["cause"]):
                one_way = cause["id"] == ONE_WAY
                found.append((one_way, f"test_{drill['id']}-{cause['id']}", law(file.parent, number)))
    return {name: test for _, name, test in sorted(found, key=lambda one: one[:2])}


if __name__ == "__main__":
    sys.exit(ktap.main(tests()))
