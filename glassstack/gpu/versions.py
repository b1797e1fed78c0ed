"""Driver and runtime libraries of any version: those that are built, or built now into the user's cache.

Owns the cache: one folder per version and state of the sources, made whole or
not at all.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import platformdirs

from glassstack.gpu.artifacts import Artifacts, MissingArtifactError

_KINDS = {
    "umd": ("libfakecuda", "VERSION"),
    "ml": ("libfakeml", "VERSION"),
    "runtime": ("libfakecudart", "CUDA"),
}
_SOURCES = Path(__file__).resolve().parents[2] / "kmod"
_BUILD_S = 120


def library(kind: str, version: str, artifacts: Artifacts | None = None) -> Path:
    """The library of a kind ("umd", "ml", "runtime") at a version, as its real file.

    Raises:
        MissingArtifactError: it is not built and can't be built here.
    """
    stem, variable = _KINDS[kind]
    name = f"{stem}.so.{version}"
    try:
        return (artifacts or Artifacts()).lib(name)
    except MissingArtifactError:
        return _built(kind, variable, version, name)


def _built(kind: str, variable: str, version: str, name: str) -> Path:
    if not (_SOURCES / "Makefile").is_file():
        raise MissingArtifactError(f"{name} is not built and its sources are not here", "use a checkout")
    cache = platformdirs.user_cache_path("glassstack") / "versions" / _digest()
    file = cache / name
    if file.is_file():
        return file
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as out:
        words = ["make", "-s", "-C", str(_SOURCES), f"OUT={out}", kind, f"{variable}={version}"]
        try:
            made = subprocess.run(words, capture_output=True, text=True, timeout=_BUILD_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise MissingArtifactError(
                f"can't build {name}: {error}", "apt-get install -y gcc make"
            ) from error
        if made.returncode:
            last = (made.stderr.strip().splitlines() or ["make failed"])[-1]
            raise MissingArtifactError(f"can't build {name}: {last}", "apt-get install -y gcc make libc6-dev")
        partial = cache / f".{name}.{os.getpid()}"
        shutil.copy2(Path(out) / "lib" / name, partial)
        partial.rename(file)
    return file


def _digest() -> str:
    """Of the sources that go into the libraries."""
    found = hashlib.sha256()
    for file in sorted([*_SOURCES.glob("umd/*"), *_SOURCES.glob("uapi/*.h"), _SOURCES / "Makefile"]):
        found.update(file.name.encode() + b"\0" + file.read_bytes())
    return found.hexdigest()[:16]
