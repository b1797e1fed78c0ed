"""Running the lab's programs on the embedded device, for the test_umd_* files.

Owns the command line and the environment; judges nothing.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.support import ROOT

#: Seconds after which a program counts as stuck.
STUCK = 60


def environment(**extra: str) -> dict[str, str]:
    """The environment without what would change how the UMD behaves."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("FAKECUDA") and k != "LD_LIBRARY_PATH"}
    return env | extra


def run_alone(*command: str | Path, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run a program without any device; ``extra`` are environment variables."""
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=STUCK,
        env=environment(**extra),
    )


def on_device(
    native: Path, *command: str | Path, options: tuple[str, ...] = (), **extra: str
) -> subprocess.CompletedProcess[str]:
    """Run a program under fakegpu-run with ``options`` of the latter."""
    return run_alone(native / "fakegpu-run", *options, "--", *command, **extra)


def build(out: Path, *arguments: str) -> Path:
    """Build parts of kmod/ into a folder of their own; its lib folder."""
    subprocess.run(
        ["make", "-C", ROOT / "kmod", f"OUT={out}", *arguments], check=True, stdout=subprocess.DEVNULL
    )
    return out / "lib"
