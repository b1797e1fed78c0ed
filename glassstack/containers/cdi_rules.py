"""The rules of the Container Device Interface as tables: which fields there are, of what kind, since when.

Owns facts only; ``cdi_check`` applies them. They are those of version 1.1.0 of
the specification and of its reference implementation, which refuses more than
the published JSON schema does.
"""

import re
from dataclasses import dataclass

VERSIONS = ("0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0")
"""All released ones, oldest first."""
EARLIEST = "0.3.0"
"""What a specification without any newer feature says."""

HOOK_POINTS = ("prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop")
NODE_TYPES = ("b", "c", "u", "p")

VENDOR = re.compile(r"[A-Za-z](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?", re.ASCII)
"""A vendor or a class: the two halves of a kind."""
DEVICE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.:-]*[A-Za-z0-9])?", re.ASCII)
PERMISSIONS = re.compile(r"[rwm]+|none")
ENV = re.compile(r"[^=]+=.*", re.DOTALL)
ANNOTATION = re.compile(r"(?:[a-z0-9.-]{1,253}/)?[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?", re.ASCII)


@dataclass(frozen=True)
class Field:
    """A member of an object.

    Attributes:
        kind: a key of SHAPES, that in brackets (a list of them), or one of text, path, integer, id,
            flag, [text], [env], [id], annotations.
        required: must be there and must not be empty.
        since: the first version that has it, when it is there and not empty.
        pattern: what a text must look like, from its first to its last character.
        choices: the only texts allowed.
        hint: what to write instead, for the error.
    """

    kind: str
    required: bool = False
    since: str = EARLIEST
    pattern: re.Pattern[str] | None = None
    choices: tuple[str, ...] = ()
    hint: str = ""


_NAME_HINT = "begin and end with a letter or digit; between them also _ - . :"

SHAPES: dict[str, dict[str, Field]] = {
    "spec": {
        "cdiVersion": Field("text", required=True, hint=f"one of {', '.join(VERSIONS)}"),
        "kind": Field("text", required=True, hint="VENDOR/CLASS, such as glassstack.dev/gpu"),
        "annotations": Field("annotations", since="0.6.0"),
        "devices": Field("[device]", required=True, hint="at least one device"),
        "containerEdits": Field("edits"),
    },
    "device": {
        "name": Field("text", required=True, pattern=DEVICE, hint=_NAME_HINT),
        "annotations": Field("annotations", since="0.6.0"),
        "containerEdits": Field("edits", required=True, hint="what the device brings into a container"),
    },
    "edits": {
        "env": Field("[env]"),
        "deviceNodes": Field("[node]"),
        "netDevices": Field("[net]", since="1.1.0"),
        "hooks": Field("[hook]"),
        "mounts": Field("[mount]"),
        "intelRdt": Field("rdt", since="0.7.0"),
        "additionalGids": Field("[id]", since="0.7.0"),
    },
    "node": {
        "path": Field("path", required=True),
        "hostPath": Field("path", since="0.5.0"),
        "type": Field("text", choices=NODE_TYPES),
        "major": Field("integer"),
        "minor": Field("integer"),
        "fileMode": Field("id"),
        "permissions": Field("text", pattern=PERMISSIONS, hint='letters of "rwm", or "none"'),
        "uid": Field("id"),
        "gid": Field("id"),
    },
    "net": {
        "hostInterfaceName": Field("text", required=True),
        "name": Field("text", required=True),
    },
    "mount": {
        "hostPath": Field("text", required=True),
        "containerPath": Field("path", required=True),
        "type": Field("text", since="0.4.0"),
        "options": Field("[text]"),
    },
    "hook": {
        "hookName": Field("text", required=True, choices=HOOK_POINTS),
        "path": Field("path", required=True),
        "args": Field("[text]"),
        "env": Field("[env]"),
        "timeout": Field("integer"),
    },
    "rdt": {
        "closID": Field("text"),
        "l3CacheSchema": Field("text"),
        "memBwSchema": Field("text"),
        "schemata": Field("[text]", since="1.1.0"),
        "enableMonitoring": Field("flag", since="1.1.0"),
    },
}
"""Every object of a specification; a member that is not here is refused."""


def later(one: str, other: str) -> str:
    """The later of two known versions."""
    return max(one, other, key=VERSIONS.index)


def split_kind(kind: str) -> tuple[str, str]:
    """VENDOR and CLASS; both "" where it is not of that form."""
    vendor, slash, name = kind.partition("/")
    return (vendor, name) if slash and VENDOR.fullmatch(vendor) and VENDOR.fullmatch(name) else ("", "")


def split_name(name: str) -> tuple[str, str]:
    """KIND and DEVICE of a fully qualified name; both "" where it is not of that form."""
    kind, equals, device = name.partition("=")
    return (kind, device) if equals and split_kind(kind)[0] and DEVICE.fullmatch(device) else ("", "")
