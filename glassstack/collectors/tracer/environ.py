"""The environment that a traced program must get: the user's, not what Python makes of it."""

import os
from pathlib import Path


def environment() -> dict[str, str]:
    """What this process was started with, without what Python itself adds to it (PEP 538)."""
    environ = dict(os.environ)
    try:
        original = Path("/proc/self/environ").read_bytes()
    except OSError:
        return environ
    if not any(line.startswith(b"LC_CTYPE=") for line in original.split(b"\0")):
        environ.pop("LC_CTYPE", None)
    return environ
