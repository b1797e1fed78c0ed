"""What a pattern alone can't tell: Xid lines in detail, values under their command, CDI specs.

Pure. One class holds what the lines before said; one function per kind of line.
"""

import re
from collections.abc import Iterator

from glassstack.decoders.kmsg import parse_xid
from glassstack.diagnose.evidence import Fact, Where
from glassstack.diagnose.rpc import rpc

_CAUSED = re.compile(r"caused by previous Xid (\d+)")
_UNIT = re.compile(r"(?P<unit>[A-Z][A-Z0-9_]+) (?P<severity>Fatal|Nonfatal) XC\d+ i\d+ Link (?P<link>-?\d+)")
_ACTION = re.compile(r"changed from 0x[0-9a-f]+ \((?P<before>[^)]*)\) to 0x[0-9a-f]+ \((?P<action>[^)]*)\)")
_RPC = re.compile(
    r"function (?P<number>\d+) \(GSP_(?P<function>\w+)\) \((?P<what>0x[0-9a-f]+) (?P<size>0x[0-9a-f]+)\)"
)
_FAULT = re.compile(
    r"(?:ENGINE (?P<engine>\S+).*?)?faulted @ (?P<va>0x[0-9a-f_]+)\..*?(?P<fault>FAULT_\w+) "
    r"ACCESS_TYPE_(?P<access>\w+)"
)
_LIMIT_FILE = re.compile(r"(?P<path>/\S*?)/(?P<file>memory\.(?:max|high|limit_in_bytes))\b")
_VALUE = re.compile(r"^(?:max|unlimited|\d{1,20})$")
_PATH = re.compile(r"\"?(?:path|hostPath)\"?: *\"?(?P<path>/dev/[\w/-]+)")
_MAJOR = re.compile(r"\"?major\"?: *(?P<major>\d+)")
_KIND = re.compile(r"^\s*\"?kind\"?: *\"?(?P<kind>[\w.-]+/[\w-]+)")
_NAME = re.compile(r"^\s*(?:- )?\"?name\"?: *\"?(?P<name>[\w:.-]+)")
_LOCKED = re.compile(r"^Max locked memory +(?P<limit>\d+|unlimited)")
_SPEC = ("path", "major", "kind", "name")
_WITHIN = 6


class Special:
    """What is known from the lines before."""

    def __init__(self) -> None:
        self._cdi: tuple[str, int] = ("", 0)
        self._kind = ""

    def begin(self, command: str, where: Where) -> None:
        """A new command's output starts."""
        self._cdi, self._kind = ("", 0), ""

    def feed(self, text: str, low: str, where: Where, command: str) -> Iterator[Fact]:
        """The facts of one line; ``command`` is what printed it, "" for the command line itself."""
        if "xid" in low:
            yield from _xid(text, where)
        yield from self._value(text, where, command)
        if ":" in text and any(word in low for word in _SPEC):
            yield from self._spec(text, where)
        locked = _LOCKED.match(text) if low.startswith("max locked") else None
        if locked:
            limit = locked["limit"]
            yield Fact(
                "memlock", {"limit": limit if limit == "unlimited" else str(int(limit) // 1024)}, where, text
            )

    def _value(self, text: str, where: Where, command: str) -> Iterator[Fact]:
        if not command or len(text) > 40 or not _VALUE.match(text.strip()):
            return
        limit = _LIMIT_FILE.search(command)
        value = text.strip()
        if limit:
            yield Fact("memory_limit", {**limit.groupdict(), "value": value}, where, f"{limit[0]}: {value}")
        elif "ulimit" in command:
            yield Fact("memlock", {"limit": value}, where, f"{command}: {value}")
        elif "max_map_count" in command:
            yield Fact("map_count", {"limit": value}, where, f"{command}: {value}")

    def _spec(self, text: str, where: Where) -> Iterator[Fact]:
        kind = _KIND.match(text)
        if kind:
            self._kind = kind["kind"]
        path = _PATH.search(text)
        if path:
            self._cdi = (path["path"], where.line)
            yield Fact("cdi_path", {"path": path["path"]}, where, text)
        major = _MAJOR.search(text)
        if major and self._cdi[0] and where.line - self._cdi[1] <= _WITHIN:
            values = {"path": self._cdi[0], "major": major["major"]}
            yield Fact("cdi_node", values, where, f"{self._cdi[0]}: major {major['major']}")
            self._cdi = ("", 0)
        name = _NAME.match(text) if self._kind else None
        if name:
            yield Fact("cdi_name", {"kind": self._kind, "name": name["name"]}, where, text)


def _xid(text: str, where: Where) -> Iterator[Fact]:
    found = parse_xid(text)
    if found is None:
        return
    values = {"xid": str(found.xid), "pci": found.pci, "name": found.name, "rest": found.text}
    if found.pid is not None:
        values["pid"] = str(found.pid)
    caused = _CAUSED.search(found.text)
    if caused:
        values["by"] = caused[1]
    for form in (_UNIT, _ACTION, _FAULT):
        detail = form.search(found.text)
        if detail:
            values |= {name: value for name, value in detail.groupdict().items() if value}
    asked = _RPC.search(found.text)
    if asked:
        values["rpc"] = rpc(asked["function"], int(asked["what"], 16))
    yield Fact("xid", values, where, text)
