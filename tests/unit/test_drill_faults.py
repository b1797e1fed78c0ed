"""The version magic of a module for another kernel, as a fault writes it."""

from __future__ import annotations

import pytest

from glassstack.drills.faults_kernel import other_magic

MAGIC = b"vermagic=6.1.0-57-amd64 SMP preempt mod_unload modversions \0"


def test_the_magic_is_another_and_nothing_moves() -> None:
    module = b"license=GPL\0" + MAGIC + b"name=fakegpu\0"
    changed = other_magic(module, "6.1.0-57-cloud-amd64")
    assert len(changed) == len(module)
    assert changed.endswith(b"name=fakegpu\0")
    entries = [entry for entry in changed.split(b"\0") if entry]
    assert entries[1] == b"vermagic=6.1.0-57-cloud-amd64 SMP mod_unload modversions "


def test_a_magic_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="no room"):
        other_magic(b"vermagic=6.1 SMP \0", "6.1.0-a-longer-release")
