"""Driver ↔ CUDA: which driver a toolkit came with, what runs on what. Pure.

Numbers are from NVIDIA's release notes; the last two toolkits' drivers from a third party.
"""

from collections.abc import Sequence

Version = tuple[int, ...]

TOOLKITS: dict[str, str] = {
    "11.0.3": "450.51.06",
    "11.1": "455.23",
    "11.1.1": "455.32",
    "11.2": "460.27.03",
    "11.2.1": "460.32.03",
    "11.2.2": "460.32.03",
    "11.3": "465.19.01",
    "11.4": "470.42.01",
    "11.4.1": "470.57.02",
    "11.4.2": "470.57.02",
    "11.4.3": "470.82.01",
    "11.4.4": "470.82.01",
    "11.5": "495.29.05",
    "11.6": "510.39.01",
    "11.6.1": "510.47.03",
    "11.6.2": "510.47.03",
    "11.7": "515.43.04",
    "11.7.1": "515.48.07",
    "11.8": "520.61.05",
    "12.0": "525.60.13",
    "12.0.1": "525.85.12",
    "12.1": "530.30.02",
    "12.2": "535.54.03",
    "12.2.1": "535.86.09",
    "12.2.2": "535.104.05",
    "12.3": "545.23.06",
    "12.3.1": "545.23.08",
    "12.4": "550.54.14",
    "12.4.1": "550.54.15",
    "12.5": "555.42.02",
    "12.5.1": "555.42.06",
    "12.6": "560.28.03",
    "12.6.1": "560.35.03",
    "12.6.2": "560.35.03",
    "12.6.3": "560.35.05",
    "12.8": "570.26",
    "12.8.1": "570.124.06",
    "12.9": "575.51.03",
    "12.9.1": "575.57.08",
    "13.0": "580.65.06",
    "13.0.1": "580.82.07",
    "13.0.2": "580.95.05",
    "13.1": "590.44.01",
    "13.1.1": "590.48.01",
    "13.2": "595.45.04",
}
"""CUDA toolkit → the x86-64 Linux driver packaged with it: the least for all its features."""

MINOR_VERSION = {11: "450.80.02", 12: "525.60.13", 13: "580.65.06"}
"""CUDA major version → the least driver that runs any of its minor versions."""


def parse(text: str) -> Version:
    """``"550.54.14"`` → ``(550, 54, 14)``. Raises ValueError where a part is no number."""
    return tuple(int(part) for part in text.strip().rstrip(".").split("."))


def compatible(version: Sequence[int], minimum: Sequence[int], maximum: Sequence[int] | None = None) -> bool:
    """Whether ``minimum <= version <= maximum``; missing parts are 0. Raises ValueError on an empty one."""
    given = [version, minimum, *([] if maximum is None else [maximum])]
    if not all(given):
        raise ValueError("a version needs at least one number")
    longest = max(len(one) for one in given)
    padded = [(*one, *(0,) * (longest - len(one))) for one in given]
    return padded[1] <= padded[0] and (maximum is None or padded[0] <= padded[2])


def older(one: str, other: str) -> bool:
    """Whether version ``one`` is older than ``other``; False where either is no version."""
    try:
        return not compatible(parse(one), parse(other))
    except ValueError:
        return False


def needs(cuda: str) -> str:
    """The driver packaged with a CUDA version, "" for one that is not in the table."""
    return TOOLKITS.get(cuda) or TOOLKITS.get(cuda.removesuffix(".0")) or ""


def minor_rule(cuda: str, driver: str) -> bool | None:
    """Whether the driver runs this CUDA by the minor-version rule; None for a major not in the table."""
    try:
        least = MINOR_VERSION.get(parse(cuda)[0])
        if least is None:
            return None
        packaged = needs(cuda)  # a toolkit older than the rule brought an older driver than the rule asks for
        return compatible(parse(driver), parse(least)) or bool(packaged and not older(driver, packaged))
    except ValueError:
        return None


def highest(driver: str) -> str:
    """The newest CUDA whose packaged driver is not newer than ``driver``, "" for none."""
    fits = [cuda for cuda, least in TOOLKITS.items() if not older(driver, least)]
    return max(fits, key=parse, default="")
