"""From the host to a job: modules built, images packed, paths and variables as the guest will have them."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from glassstack.gpu.lab import driver, images
from glassstack.gpu.lab.machine import Job
from glassstack.gpu.lab.needs import Needs

PASSED = ("TERM", "COLORTERM", "LANG", "NO_COLOR", "VIRTUAL_ENV", "PYTHONPATH", "CI")
PASSED_PREFIXES = ("LC_", "TEXTUAL_", "GLASSSTACK_")
_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


@dataclass(frozen=True)
class Prepared:
    """What a Machine takes.

    Attributes:
        job: what runs.
        images: name to file.
        no_driver: why the guest has no module, "" when it has.
    """

    job: Job
    images: Mapping[str, Path]
    no_driver: str


def cache() -> Path:
    """Where images and the folders of running machines are."""
    return platformdirs.user_cache_path("glassstack") / "lab"


def prepare(needs: Needs, command: Sequence[str], size: tuple[int, int] | None) -> Prepared:
    """Brings modules and images up to date.

    Args:
        needs: what the machine will be made of.
        command: what runs in it.
        size: rows and columns of its terminal; ``None`` = pipes.

    Raises:
        ImageError: an image can't be written.
    """
    checkout = images.checkout()
    modules, no_driver = None, ""
    try:
        modules = driver.modules(needs.kernel, checkout)
    except driver.DriverError as error:
        no_driver = str(error)
    roots = {"python": images.python_roots(), "project": images.project_roots()}
    packed = {name: images.image(name, given, cache()) for name, given in roots.items() if given}
    folders = {name: [root.path for root in given] for name, given in roots.items()}
    job = Job(command, Path.cwd(), environment(os.environ, checkout), size, folders, modules)
    return Prepared(job, packed, no_driver)


def environment(host: Mapping[str, str], checkout: Path | None) -> dict[str, str]:
    """Variables of the guest: a path that finds glassstack and its programs, and what a terminal needs."""
    built = [checkout / "build/bin"] if checkout else []
    folders = [Path(sys.executable).parent, *built, *map(Path, _PATH)]
    chosen = {k: v for k, v in host.items() if k in PASSED or k.startswith(PASSED_PREFIXES)}
    return {**chosen, "HOME": "/root", "USER": "root", "PATH": ":".join(map(str, folders))}
