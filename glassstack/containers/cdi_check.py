"""Whether a CDI specification may be used: its form, its names, its version. Pure.

Owns the walk over a decoded document by the tables of ``cdi_rules``. Every
fault is found, each with the path of the member and what to write instead.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from glassstack.containers import cdi_rules as rules
from glassstack.containers.cdi_rules import EARLIEST, SHAPES, VERSIONS, Field, later, split_kind

_ID_MAX = 2**32 - 1
_INTEGER_MAX = 2**63 - 1
_ANNOTATIONS_MAX = 256 * 1024


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong: where (a JSON path such as "devices[0].name"), what, what to do."""

    path: str
    cause: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.path or 'document'}: {self.cause}; {self.remedy}"


def check(document: object) -> list[Fault]:
    """What keeps a decoded document from being a CDI specification; nothing when it is one."""
    faults = list(_object("spec", document, ""))
    if not isinstance(document, dict):
        return faults
    faults += _kind(document.get("kind"))
    faults += _doubled(document.get("devices"))
    faults += _version(document)
    return faults


def minimum_version(document: dict[str, Any]) -> str:
    """The oldest version that has all that a specification uses."""
    needed = _newest("spec", document)
    if "." in str(document.get("kind", "")).partition("/")[2]:
        needed = later(needed, "0.6.0")
    names = [one.get("name") for one in _dicts(document.get("devices"))]
    if any(isinstance(name, str) and name[:1].isdigit() for name in names):
        needed = later(needed, "0.5.0")
    return needed


def _newest(shape: str, value: object) -> str:
    needed = EARLIEST
    if not isinstance(value, dict):
        return needed
    for key, member in value.items():
        field = SHAPES[shape].get(key)
        if field is None or not member:
            continue  # unknown, or left empty, which needs nothing
        needed = later(needed, field.since)
        inner = field.kind.strip("[]")
        if inner in SHAPES:
            for one in member if isinstance(member, list) else [member]:
                needed = later(needed, _newest(inner, one))
    return needed


def _dicts(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _version(document: dict[str, Any]) -> Iterator[Fault]:
    said = document.get("cdiVersion")
    if not isinstance(said, str) or not said:
        return  # told already
    version = said.removeprefix("v")
    if version not in VERSIONS:
        yield Fault("cdiVersion", f"{said!r} is no version of CDI", SHAPES["spec"]["cdiVersion"].hint)
        return
    needed = minimum_version(document)
    if later(version, needed) != version:
        yield Fault("cdiVersion", f"{said} has not all that is used here", f"write {needed} or newer")


def _kind(kind: object) -> Iterator[Fault]:
    if isinstance(kind, str) and kind and not split_kind(kind)[0]:
        yield Fault("kind", f"{kind!r} is not VENDOR/CLASS", SHAPES["spec"]["kind"].hint)


def _doubled(devices: object) -> Iterator[Fault]:
    seen: set[object] = set()
    for index, one in enumerate(devices if isinstance(devices, list) else []):
        name = one.get("name") if isinstance(one, dict) else None
        if isinstance(name, str) and name in seen:
            yield Fault(f"devices[{index}].name", f"a second device {name!r}", "give each its own name")
        if isinstance(name, str):
            seen.add(name)


def _object(shape: str, value: object, path: str) -> Iterator[Fault]:
    if not isinstance(value, dict):
        yield Fault(path, f"is {_is(value)}, not an object", "write {…}")
        return
    fields = SHAPES[shape]
    for key in value:
        if key not in fields:
            known = ", ".join(fields)
            yield Fault(_join(path, key), "there is no such member", f"remove it; known here: {known}")
    for key, field in fields.items():
        if key in value:
            yield from _member(field, value[key], _join(path, key))
        elif field.required:
            yield Fault(_join(path, key), "is missing", f"add it: {field.hint or field.kind}")
    edits = value.get("containerEdits")
    if shape == "device" and isinstance(edits, dict) and not any(edits.values()):
        yield Fault(_join(path, "containerEdits"), "is empty", SHAPES[shape]["containerEdits"].hint)


def _member(field: Field, value: object, path: str) -> Iterator[Fault]:
    if field.kind.startswith("["):
        yield from _list(field, value, path)
    elif field.kind in SHAPES:
        yield from _object(field.kind, value, path)
    elif field.kind == "annotations":
        yield from _annotations(value, path)
    elif why := _KINDS[field.kind](value):
        yield Fault(path, f"is {_is(value)}, not {why}", field.hint or f"write {why}")
    else:
        yield from _text(field, value, path)


def _text(field: Field, value: object, path: str) -> Iterator[Fault]:
    if field.required and value == "":
        yield Fault(path, "is empty", f"write {field.hint or 'a value'}")
    elif field.choices and value and value not in field.choices:
        yield Fault(path, f"{value!r} is unknown", f"one of {', '.join(field.choices)}")
    elif field.pattern and value and not field.pattern.fullmatch(str(value)):
        yield Fault(path, f"{value!r} is not allowed", field.hint)


def _list(field: Field, value: object, path: str) -> Iterator[Fault]:
    if not isinstance(value, list):
        yield Fault(path, f"is {_is(value)}, not a list", "write […]")
        return
    if field.required and not value:
        yield Fault(path, "is empty", field.hint)
    inner = Field(field.kind.strip("[]"))
    for index, one in enumerate(value):
        yield from _member(inner, one, f"{path}[{index}]")


def _annotations(value: object, path: str) -> Iterator[Fault]:
    if not isinstance(value, dict):
        yield Fault(path, f"is {_is(value)}, not an object", "write {…}")
        return
    for key, text in value.items():
        if not rules.ANNOTATION.fullmatch(key):
            yield Fault(_join(path, key), "is no annotation key", "write [DOMAIN/]NAME")
        if not isinstance(text, str):
            yield Fault(_join(path, key), f"is {_is(text)}, not a text", "put it in quotes")
    if sum(len(key) + len(str(text)) for key, text in value.items()) > _ANNOTATIONS_MAX:
        yield Fault(path, "is larger than 256 KiB", "say less")


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _is(value: object) -> str:
    """A value of the wrong kind in the words of JSON."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    return "a list" if isinstance(value, list) else "an object"


def _number(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _no_text(value: object) -> str:
    good = isinstance(value, str) and "\0" not in value
    return "" if good else "a text"


def _no_path(value: object) -> str:
    good = isinstance(value, str) and "\0" not in value and (value == "" or value.startswith("/"))
    return "" if good else "an absolute path"


def _no_env(value: object) -> str:
    good = isinstance(value, str) and "\0" not in value and rules.ENV.fullmatch(value)
    return "" if good else "NAME=VALUE"


# What a value of each simple kind must be, "" when it is.
_KINDS: dict[str, Callable[[object], str]] = {
    "text": _no_text,
    "path": _no_path,
    "env": _no_env,
    "flag": lambda value: "" if isinstance(value, bool) else "true or false",
    "id": lambda value: "" if _number(value, 0, _ID_MAX) else "a number from 0 to 2³²-1",
    "integer": lambda value: "" if _number(value, -1, _INTEGER_MAX) else "a whole number",
}
