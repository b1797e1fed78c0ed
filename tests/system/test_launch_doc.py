"""docs/what-happens-at-launch.md is true: a run of the client, made anew, gives the same tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import launch_doc, tracing

pytestmark = pytest.mark.ptrace


def test_the_document_is_what_happens(native: Path, tmp_path: Path) -> None:
    ours = tmp_path / "ours.gls"
    done = tracing.trace("-f", "--gpu", "embedded", "-o", ours, "--", native / "fakegpu-vectoradd")
    assert done.returncode == 0, done.stderr
    text = launch_doc.PAGE.read_text()
    hint = f"made anew by: python -m tests.launch_doc {ours}"
    assert launch_doc.page(text, ours) == text, hint
