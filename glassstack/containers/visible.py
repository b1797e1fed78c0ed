"""FAKEGPU_VISIBLE_DEVICES: which GPUs a container asks its hook for. Pure.

Owns the meaning of the variable, that of NVIDIA_VISIBLE_DEVICES. It is a wish
of the container's, no isolation: what a container may open is decided by its
nodes and its device list alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

VARIABLE = "FAKEGPU_VISIBLE_DEVICES"


class VisibleError(Exception):
    """A device was asked for that is not there; one line."""


@dataclass(frozen=True)
class Wish:
    """What is asked for.

    Attributes:
        driver: whether the driver's libraries and shared nodes come in.
        devices: names of GPUs, by index or UUID.
    """

    driver: bool
    devices: tuple[str, ...] = ()


def wish(environ: Mapping[str, str], known: Sequence[str]) -> Wish:
    """What an environment asks for.

    unset, empty, ``void``: nothing at all; ``none``: the driver but no GPU;
    ``all``: every GPU; else a list with commas between, of the names known.

    Raises:
        VisibleError: a name that is not among ``known``.
    """
    text = environ.get(VARIABLE, "").strip()
    if text in ("", "void"):
        return Wish(False)
    if text == "none":
        return Wish(True)
    if text == "all":
        return Wish(True, ("all",))
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        if name not in known:
            raise VisibleError(f"{VARIABLE} names {name!r}, and no GPU is called so: {', '.join(known)}")
    return Wish(True, names)
