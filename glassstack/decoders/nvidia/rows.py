"""Rows of a table as layouts: which one counts for a size and a driver, how its members are read. Pure."""

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from glassstack.decoders.nvidia import table_escapes as escapes
from glassstack.decoders.nvidia.table_classes import class_text
from glassstack.decoders.nvidia.table_controls import control_text
from glassstack.model.values import Scalar

Fields = dict[str, Scalar]
Version = tuple[int, ...]
"""A driver's version, () where it is not known."""

GONE = -2
ANY = -1
_CODES = {
    **dict.fromkeys(("", "x", "class", "cmd", "heap", "check", "reply"), "I"),
    **dict.fromkeys(("p", "q"), "Q"),
    **dict.fromkeys(("t64", "T64"), "64s"),
    "i": "i",
    "b": "B",
    "w": "H",
    "uuid": "16s",
}
_AFTER = ("reply", "T64")
_APART = (*_AFTER, "t64")


def _text(raw: bytes) -> str:
    end = raw.find(b"\0")
    return raw[:end].decode("utf-8", "replace") if end >= 0 else raw.decode("utf-8", "replace") + " (no NUL)"


def _uuid(raw: bytes) -> str:
    digits = raw.hex()
    return f"GPU-{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _words(known: dict[int, str]) -> Callable[[int], Scalar]:
    return lambda value: known.get(value, value)


_CONVERT: dict[str, Callable[..., Scalar]] = {
    "class": class_text,
    "cmd": control_text,
    "heap": _words(escapes.HEAP),
    "check": _words(escapes.CHECK),
    "reply": _words(escapes.REPLY),
    "t64": _text,
    "T64": _text,
    "uuid": _uuid,
}


class Member(NamedTuple):
    """A member of a structure; ``kind`` is a type of the tables."""

    name: str
    offset: int
    kind: str

    @property
    def end(self) -> int:
        """Offset behind it."""
        return self.offset + struct.calcsize("=" + _CODES[self.kind])

    def read(self, data: bytes) -> Scalar:
        """Its value; the caller made sure that it is there."""
        (value,) = struct.unpack_from("=" + _CODES[self.kind], data, self.offset)
        convert = _CONVERT.get(self.kind)
        return convert(value) if convert else value


Plan = tuple[
    Callable[[bytes], tuple[Any, ...]], int, tuple[tuple[str, int, Callable[..., Scalar] | None], ...]
]
"""Unpacks all members at once, from so many bytes; name, place and meaning of each."""


@dataclass(frozen=True, eq=False)
class Layout:
    """One row. ``size`` is bytes, ANY or GONE; ``status`` the offset of the NV_STATUS, ``None`` for none.

    ``why`` says why a status that there is can't be found.
    """

    number: int
    name: str
    since: Version
    size: int
    status: int | None
    members: tuple[Member, ...]
    array: bool = False
    why: str = ""

    @cached_property
    def _plan(self) -> Plan | None:
        """How to read it at one go; ``None`` where members overlap or have their own source."""
        code, end = "=", 0
        places: dict[str, int] = {}
        for member in sorted(self.members, key=lambda member: member.offset):
            if member.kind in _APART or member.offset < end:
                return None
            code += f"{member.offset - end}x{_CODES[member.kind]}"
            end = member.end
            places[member.name] = len(places)
        found = tuple((m.name, places[m.name], _CONVERT.get(m.kind)) for m in self.members)
        return struct.Struct(code).unpack_from, end, found

    def fits(self, size: int) -> bool:
        """Whether a call with that many bytes can be this."""
        if self.array:
            return size % self.size == 0
        return self.size in (ANY, size)

    def into(self, fields: Fields, before: bytes, after: bytes) -> None:
        """Reads the members; one that only the answer has is left out without it."""
        data = after or before
        plan = self._plan
        if plan is None or len(data) < plan[1]:
            self._one_by_one(fields, before, after)
            return
        values = plan[0](data)
        for name, place, convert in plan[2]:
            fields[name] = values[place] if convert is None else convert(values[place])

    def _one_by_one(self, fields: Fields, before: bytes, after: bytes) -> None:
        data = after or before
        short = False
        for member in self.members:
            late = member.kind in _AFTER
            if late and not after:
                continue
            source = before if member.kind == "t64" else data
            if member.end > len(source):
                short = True
            else:
                fields[member.name] = member.read(source)
        if short:
            fields["argument"] = f"missing: {len(data)} of {self.size} bytes could be read"

    def rows(self, data: bytes) -> str:
        """An array's entries as text; the unused ones of it are left out."""
        entries = []
        for at in range(0, len(data) - self.size + 1, self.size):
            part = data[at : at + self.size]
            if any(part):
                entries.append(" ".join(f"{m.name}={_shown(m, part)}" for m in self.members))
        return "; ".join(entries)


def _shown(member: Member, data: bytes) -> str:
    value = member.read(data)
    return f"0x{value:x}" if member.kind in ("x", "p") else str(value)


def version_of(text: str) -> Version:
    """(550, 54, 14) of "550.54.14"; () of what is no version."""
    words = text.split(".")
    return tuple(map(int, words)) if all(word.isascii() and word.isdigit() for word in words) else ()


def _member(word: str) -> Member:
    name, _, rest = word.partition("@")
    offset, _, kind = rest.partition(":")
    return Member(name, int(offset), kind)


def _size(text: str) -> tuple[int, bool]:
    special = {"?": ANY, "gone": GONE}.get(text)
    if special is not None:
        return special, False
    return int(text.removesuffix("*")), text.endswith("*")


def parse(table: str) -> dict[int, tuple[Layout, ...]]:
    """The layouts of a table by number, oldest first."""
    found: dict[int, tuple[Layout, ...]] = {}
    for line in table.strip().splitlines():
        number, name, since, size, status, *members = line.split()
        nr = int(number, 0)
        length, array = _size(size)
        row = Layout(
            nr,
            name,
            version_of(since),
            length,
            None if status == "-" else int(status),
            tuple(map(_member, members)),
            array,
        )
        found[nr] = (*found.get(nr, ()), row)
    return found


def _common(rows: tuple[Layout, ...]) -> Layout:
    """What several layouts agree on."""
    newest = rows[-1]
    members = tuple(m for m in newest.members if all(m in row.members for row in rows))
    statuses = {row.status for row in rows}
    if len(statuses) == 1:
        return replace(newest, members=members)
    where = ", ".join(f"at {row.status} from {'.'.join(map(str, row.since))}" for row in rows)
    return replace(
        newest,
        members=members,
        status=None,
        size=max(row.size for row in rows),
        why=f"missing: the driver's version is not known, and its place differs ({where})",
    )


@lru_cache(maxsize=4096)
def choose(rows: tuple[Layout, ...], size: int | None, driver: Version) -> Layout | None:
    """The layout for ``size`` bytes (``None``: the number does not say) and a driver; ``None``: no such."""
    fitting = tuple(row for row in rows if row.size == GONE or size is None or row.fits(size))
    if driver:
        known = [row for row in fitting if row.since <= driver]
        if known and known[-1].size == GONE:
            return None
        return known[-1] if known else next((row for row in fitting if row.size != GONE), None)
    fitting = tuple(row for row in fitting if row.size != GONE)
    if not fitting:
        return None
    return fitting[0] if len(fitting) == 1 else _common(fitting)
