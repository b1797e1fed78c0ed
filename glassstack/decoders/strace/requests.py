"""How strace writes an ioctl's number: as a name, as its parts, as a number, in any version. Pure."""

import re
from functools import lru_cache

from glassstack.decoders import ioc

_DIRECTIONS = {"_IOC_NONE": 0, "_IOC_WRITE": ioc.WRITE, "_IOC_READ": ioc.READ}
_MACROS = {"_IO": 0, "_IOW": ioc.WRITE, "_IOR": ioc.READ, "_IOWR": ioc.READ | ioc.WRITE}
_IOC = re.compile(r"_IOC\(([^,]+), ([^,]+), ([^,]+), ([^,)]+)\)")
_MACRO = re.compile(r"(_IO[WR]*)\(([^,]+), ([^,)]+)(?:, ([^)]+))?\)")
_NAMED = {"FIBMAP": 1, "FIGETBSZ": 2}
"""Names of other drivers for numbers that UVM uses as well."""
_COMMENT = re.compile(r"/\*.*?\*/")


def _number(text: str) -> int:
    text = text.strip()
    if len(text) == 3 and text[0] == text[2] == "'":
        return ord(text[1])
    return int(text, 0)


def _direction(text: str) -> int:
    words = text.strip().split("|")
    return sum(_DIRECTIONS[word] if word in _DIRECTIONS else int(word, 0) for word in words)


@lru_cache(maxsize=4096)
def number_of(text: str) -> int | None:
    """The number of a request, ``None`` where only a name is there."""
    text = _COMMENT.sub("", text).strip()
    try:
        whole = _IOC.fullmatch(text)
        if whole:
            direction, kind, number, size = whole.groups()
            return ioc.join(_direction(direction), _number(kind), _number(number), _number(size))
        macro = _MACRO.fullmatch(text)
        if macro:
            name, kind, number, size = macro.groups()
            return ioc.join(_MACROS[name], _number(kind), _number(number), _number(size or "0"))
        return _NAMED[text] if text in _NAMED else _number(text)
    except (ValueError, KeyError):
        # A name, or several joined by "or": which driver's it is, the descriptor says.
        return next((_NAMED[word] for word in text.split(" or ") if word in _NAMED), None)
