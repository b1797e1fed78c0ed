"""Everything that is tested inside the lab VM, each line of KTAP a test of its own.

Owns the mapping only: what is checked is written in ``guest/``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kmod.guests import Run, names, scripts
from tests.support import ROOT

pytestmark = [pytest.mark.kmod, pytest.mark.root]

DECLARED = [(script.name, name) for script in scripts() for name in names(script)]


@pytest.mark.parametrize(("script", "name"), DECLARED, ids=lambda value: value)
def test_guest(guest: Run, script: str, name: str) -> None:
    result = guest.results.get((script, name))
    if result is None:
        pytest.fail(f"the guest said nothing of it; its last words:\n{guest.end}", pytrace=False)
    if result.skipped:
        pytest.skip(result.skipped)
    if not result.passed:
        pytest.fail(result.said, pytrace=False)


def test_the_guest_ran_what_its_scripts_declare_and_nothing_else(guest: Run) -> None:
    assert set(guest.results) == set(DECLARED)
    assert set(guest.statuses) == {script.name for script in scripts()}
    assert guest.status == 0, guest.end


def test_the_host_is_as_it_was(guest: Run) -> None:
    """boot.sh wrote to these."""
    folders = [Path(name) for name in ("/etc", "/usr", "/var", "/root")]
    assert not [folder for folder in (*folders, ROOT) if (folder / ".glassstack-lab-was-here").exists()]
