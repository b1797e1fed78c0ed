"""From files to evidence: streams every text through the recognisers. Memory does not grow with the input."""

import tarfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from glassstack.diagnose.evidence import Evidence, Fact
from glassstack.diagnose.intake import Piece, pieces
from glassstack.diagnose.recognise import Recogniser
from glassstack.diagnose.scan import interesting


@dataclass
class Look:
    """What was read: the evidence, the texts by name, and what had to be done or could not be."""

    evidence: Evidence = field(default_factory=Evidence)
    texts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def readable(self) -> bool:
        """Whether there was any text at all."""
        return bool(self.texts)


def gather(names: Sequence[str]) -> Look:
    """Reads the named files ("-" is stdin)."""
    look = Look()
    read_into(look, pieces(names, look.notes))
    return look


def read_into(look: Look, given: Iterable[Piece], facts: Iterable[Fact] = ()) -> None:
    """Reads texts, and adds facts that need no reading."""
    for piece in given:
        did: Counter[str] = Counter()
        recogniser = Recogniser(piece.name, did)
        try:
            for raw in interesting(piece.stream):
                for fact in recogniser.feed(raw):
                    look.evidence.add(fact)
        except (OSError, EOFError, tarfile.TarError) as error:
            look.notes.append(f"{piece.name}: reading stopped, what came before was read: {error}")
        for fact in recogniser.end():
            look.evidence.add(fact)
        look.texts.append(piece.name)
        look.notes += [f"{piece.name}: {count} {what}" for what, count in sorted(did.items())]
    for fact in facts:
        look.evidence.add(fact)
