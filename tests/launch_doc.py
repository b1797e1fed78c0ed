"""docs/what-happens-at-launch.md: its tables made anew from a run of our client and the CUDA start.

``python -m tests.launch_doc OURS.gls`` writes them into the document; the
test says whether it is still true.
"""

from __future__ import annotations

import re
import sys
from itertools import groupby
from pathlib import Path

from glassstack.cli.compare import markdown
from glassstack.decoders.explain import explain
from glassstack.decoders.phases import TABLES, Walk
from glassstack.model.events import Syscall
from glassstack.store.recording import events
from tests.support import ROOT

PAGE = ROOT / "docs" / "what-happens-at-launch.md"
CUDA = ROOT / "tests" / "data" / "cuda_start.gls"
LABELS = ("fakegpu-vectoradd", "a CUDA program (reconstructed)")


def calls(path: Path) -> list[Syscall]:
    """The device calls of a recording."""
    return [event for batch in events(path) for event in batch if isinstance(event, Syscall)]


def _walk(path: Path) -> Walk:
    walk = Walk(TABLES["gpu"])
    for batch in events(path):
        walk.add(batch)
    return walk


def phases(ours: Path) -> str:
    """Both runs by phase."""
    return "\n".join(markdown(_walk(ours), _walk(CUDA), LABELS))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _kind(call: Syscall) -> tuple[str, str]:
    """What a row tells apart: the call with what it is about, and the node."""
    what = call.fields.get("what")
    return f"{call.name} {what}" if what else call.name, call.device


def steps(ours: Path) -> str:
    """Our calls in order, in plain words where they come first, with NVIDIA's counterpart."""
    lines = ["| call | on | what it does | on NVIDIA |", "|---|---|---|---|"]
    told: set[str] = set()
    for (name, device), same in groupby(calls(ours), _kind):
        some = list(same)
        said = explain(some[0])
        times = f" ×{len(some)}" if len(some) > 1 else ""
        words = ("″", "″") if said.text + device in told else (said.text, said.counterpart or "–")
        told.add(said.text + device)
        lines.append(
            f"| {name}{times} | {device.removeprefix('/dev/')} | {_cell(words[0])} | {_cell(words[1])} |"
        )
    return "\n".join(lines)


def page(text: str, ours: Path) -> str:
    """The document with its tables made anew."""
    for mark, table in (("phases", phases(ours)), ("steps", steps(ours))):
        found = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- end -->)", re.DOTALL)
        text = found.sub(lambda old, table=table: f"{old[1]}\n{table}\n\n{old[2]}", text)  # type: ignore[misc]
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(), Path(sys.argv[1])))
