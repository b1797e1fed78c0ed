"""Numbers as people of this field read them: sizes, durations, counts, rates, addresses.

Owns the text of every unit on screen and in the headless commands, so that
the same number reads the same everywhere. Pure; knows nothing of terminals.
"""

from glassstack.model.values import Missing

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_DECIMAL = ("", "k", "M", "G", "T", "P", "E")
_TIME = (("ns", 1), ("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000))
_MINUTE_NS = 60_000_000_000


def _three_digits(value: float) -> str:
    """At most three significant digits, without exponent or trailing zeros: 9.99, 12.3, 999."""
    if value >= 99.95:
        return f"{value:.0f}"
    text = f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
    return text.rstrip("0").rstrip(".")


def _scaled(value: float, step: int, units: tuple[str, ...]) -> tuple[str, str]:
    """``value`` in the largest unit that leaves at least 1, never showing a rounded-up ``step``."""
    index = 0
    while index < len(units) - 1 and round(value, 0 if value >= 99.95 else 1) >= step:
        value /= step
        index += 1
    return _three_digits(value), units[index]


def size(count: int | float) -> str:
    """Bytes with a binary unit: ``0 B``, ``512 B``, ``64 KiB``, ``1.5 MiB``."""
    sign = "-" if count < 0 else ""
    return sign + " ".join(_scaled(abs(count), 1024, _BINARY))


def count(number: int | float) -> str:
    """A count with a decimal suffix: ``0``, ``950``, ``1.23k``, ``4.5M``."""
    sign = "-" if number < 0 else ""
    return sign + "".join(_scaled(abs(number), 1000, _DECIMAL))


def grouped(number: int) -> str:
    """A whole number in full: ``1,234,567``."""
    return f"{number:,}"


def duration(ns: int | float) -> str:
    """Nanoseconds in the unit that fits: ``0 ns``, ``13.2 µs``, ``1.5 s``, ``2m05s``, ``3h07m``."""
    if ns < 0:
        return "-" + duration(-ns)
    if ns >= _MINUTE_NS:
        return _long(int(ns // 1_000_000_000))
    for (unit, scale), (_, larger) in zip(_TIME, (*_TIME[1:], ("m", _MINUTE_NS)), strict=True):
        text = _three_digits(ns / scale)
        if ns < larger and float(text) * scale < larger:
            return f"{text} {unit}"
    return _long(60)


def _long(seconds: int) -> str:
    if seconds < 3600:
        return f"{seconds // 60}m{seconds % 60:02}s"
    if seconds < 86_400:
        return f"{seconds // 3600}h{seconds % 3600 // 60:02}m"
    return f"{seconds // 86_400}d{seconds % 86_400 // 3600:02}h"


def clock(ns: int, digits: int = 6) -> str:
    """Nanoseconds since a common start as seconds with ``digits`` decimals (0-9), cut, not rounded."""
    sign = "-" if ns < 0 else ""
    whole, rest = divmod(abs(ns), 1_000_000_000)
    return f"{sign}{whole}.{f'{rest:09}'[:digits]}" if digits else f"{sign}{whole}"


def rate(per_second: float) -> str:
    """A rate without its unit: ``0``, ``0.5``, ``12``, ``1.9k``."""
    return count(per_second)


def address(value: int) -> str:
    """An address or offset in hexadecimal: ``0x7f12c0000000``."""
    return f"-{-value:#x}" if value < 0 else f"{value:#x}"


def limit(name: str, value: int | float | None | Missing) -> str:
    """A cgroup limit in the unit its name asks for; ``None`` is ``max``, as the kernel writes it."""
    if value is None:
        return "max"
    if isinstance(value, Missing):
        return str(value)
    if name.startswith("memory."):
        return size(value)
    if name.startswith("cpu."):
        return f"{value:g} CPU" if value == 1 else f"{value:g} CPUs"
    return grouped(int(value))
