"""Where the native programs and libraries are: built in the checkout, or inside the installed package.

Only finds; building is make's.
"""

import os
from collections.abc import Mapping
from pathlib import Path

ENV = "GLASSSTACK_NATIVE"
"""Names a folder with ``bin`` and ``lib`` that wins over every other."""
_PACKAGE = Path(__file__).resolve().parent.parent


class MissingArtifactError(Exception):
    """A native program or library is not there; ``cause`` and ``remedy`` are a line each."""

    def __init__(self, cause: str, remedy: str) -> None:
        super().__init__(f"{cause}; {remedy}")
        self.cause = cause
        self.remedy = remedy


class Artifacts:
    """Finds artefacts.

    Args:
        environ: where GLASSSTACK_NATIVE is looked up.
        package: the folder of the glassstack package.
    """

    def __init__(self, environ: Mapping[str, str] | None = None, package: Path = _PACKAGE) -> None:
        self._named = (os.environ if environ is None else environ).get(ENV, "")
        self._package = package

    @property
    def roots(self) -> tuple[Path, ...]:
        """Folders to look in, in order; a named one is the only one."""
        if self._named:
            return (Path(self._named),)
        return (self._package.parent / "build", self._package / "_native")

    def bin(self, name: str) -> Path:
        """A program such as "fakegpu-run". Raises MissingArtifactError."""
        return self._find(f"bin/{name}", os.X_OK)

    def lib(self, name: str) -> Path:
        """A library such as "libfakecuda.so.1". Raises MissingArtifactError."""
        return self._find(f"lib/{name}", os.R_OK)

    def _find(self, relative: str, access: int) -> Path:
        for root in self.roots:
            path = root / relative
            if path.is_file() and os.access(path, access):
                return path
        name = relative.rpartition("/")[2]
        if self._named:
            raise MissingArtifactError(f"no {name} in {self._named}", f"unset {ENV}, or build there")
        if (self._package.parent / "kmod" / "Makefile").is_file():
            raise MissingArtifactError(
                f"{name} is not built", "run `make build` in the checkout (needs gcc and make)"
            )
        raise MissingArtifactError(
            f"this glassstack was installed without {name}",
            "install gcc, make and libc6-dev, then install glassstack again",
        )


def libraries() -> tuple[str, ...]:
    """The stand-in's libraries, which a program will map: probed from the start, its first launch counts."""
    found = []
    for name in ("libfakecuda.so.1", "libfakecudart.so"):
        try:
            found.append(str(Artifacts().lib(name)))
        except MissingArtifactError:
            continue  # a program may bring its own: those are found in its maps
    return tuple(found)
