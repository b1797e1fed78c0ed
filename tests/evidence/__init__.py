"""Evidence as data: cases with the finding that is right, and near misses; and how tests read them."""

from __future__ import annotations

import io
import tomllib
from pathlib import Path
from typing import Any

from glassstack.diagnose.evidence import Fact, Where
from glassstack.diagnose.gather import Look, read_into
from glassstack.diagnose.intake import Piece
from glassstack.diagnose.verdict import Verdict, judge

HERE = Path(__file__).parent


def rows(file: str, table: str) -> list[dict[str, Any]]:
    """The rows of a TOML file."""
    with open(HERE / file, "rb") as opened:
        found: list[dict[str, Any]] = tomllib.load(opened)[table]
    return found


REPORTED = rows("reported.toml", "case")
CASES = [*REPORTED, *rows("rebuilt.toml", "case")]
NEAR = rows("near.toml", "near")


def look_at(*texts: str | bytes, host: bool = False) -> Look:
    """Reads texts as ``glassstack diagnose`` reads files; ``host``: as doctor reads a host."""
    look = Look()
    data = [text.encode() if isinstance(text, str) else text for text in texts]
    facts = (Fact("host", {}, Where("host", 0), ""),) if host else ()
    read_into(look, (Piece(f"text{n}", io.BytesIO(one)) for n, one in enumerate(data)), facts)
    return look


def verdict_of(*texts: str | bytes, host: bool = False) -> Verdict:
    """The verdict over texts."""
    return judge(look_at(*texts, host=host).evidence)


def roots(verdict: Verdict) -> list[str]:
    """Ids of the causes."""
    return [one.id for one in verdict.findings]


def everything(verdict: Verdict) -> list[str]:
    """Ids of causes and consequences."""
    return [one.id for cause in verdict.findings for one in (cause, *cause.consequences)]
