"""A program on the embedded device with all that a session has looking at it, but no screen.

    python watched.py COMMAND…

eBPF for its calls and functions, its rings, fences, mappings and cgroups,
processes, holders, kernel log and uevents. Prints what the program printed;
exit code 1 when a part of it did not work, or saw nothing.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from glassstack.model.events import Output
from glassstack.session.compose import run_session
from glassstack.store.store import Store


def main() -> int:
    """Reads the session to its end, as a front end would."""
    runner = shutil.which("fakegpu-run", path=str(Path(__file__).parent.parent / "build/bin"))
    session = run_session(sys.argv[1:], (runner or "fakegpu-run",), source="ebpf")
    store = Store()
    try:
        while (batch := session.read(0.25)) is not None:
            store.apply(batch)
            for event in batch:
                if isinstance(event, Output):
                    print(event.text, end="", flush=True)
    finally:
        session.close()
    seen = store.snapshot()
    print("\n".join(session.last_words()), file=sys.stderr)
    return int(bool(session.failures) or not (seen.channels and seen.calls_end and seen.tallies))


if __name__ == "__main__":
    sys.exit(main())
