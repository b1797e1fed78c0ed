"""The debugging ladder of this host: its texts read by the same recognisers and rules as a paste.

Owns the joining of host and ladder, and the bundle. Draws nothing.
"""

import io
import os
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from glassstack.collectors.host import Host, Text
from glassstack.diagnose.evidence import Fact, Where
from glassstack.diagnose.gather import Look, read_into
from glassstack.diagnose.intake import Piece
from glassstack.diagnose.ladder import Rung, climb
from glassstack.diagnose.redact import Redactor
from glassstack.diagnose.verdict import Verdict, judge


@dataclass(frozen=True)
class Visit:
    """What a look at the host gave."""

    look: Look
    verdict: Verdict
    rungs: tuple[Rung, ...]
    texts: tuple[Text, ...]
    missing: dict[str, list[str]]

    @property
    def driver(self) -> bool:
        """Whether there is a GPU or a driver to speak of."""
        evidence = self.look.evidence
        return any(evidence.first(kind) for kind in ("pci_nvidia", "proc_version", "node", "mapped"))


def visit(host: Host) -> Visit:
    """Reads the host and judges it."""
    look = Look()
    texts = tuple(host.texts())
    marker = Fact("host", {}, Where("this host", 0), "looked at by glassstack doctor")
    read_into(
        look,
        (Piece(one.name, io.BytesIO(one.content.encode("utf-8", "replace"))) for one in texts),
        (marker,),
    )
    verdict = judge(look.evidence)
    return Visit(look, verdict, climb(look.evidence, verdict), texts, host.missing)


def bundle(path: Path, texts: Iterable[Text], redactor: Redactor) -> int:
    """Writes the texts, redacted, to a .tar.gz that diagnose reads; returns how many. Raises OSError."""
    count = 0
    with tarfile.open(path, "w:gz") as archive:
        for one in texts:
            count += 1
            name = f"{count:02}-{one.rung}-{one.name.strip('/').replace('/', '_').replace(' ', '_')}.txt"
            content = redactor(f"==> {one.name.replace(' ', '_')} <==\n{one.content}\n").encode(
                "utf-8", "replace"
            )
            member = tarfile.TarInfo(redactor(name))
            member.size, member.mode = len(content), 0o600
            archive.addfile(member, io.BytesIO(content))
    os.chmod(path, 0o600)
    return count
