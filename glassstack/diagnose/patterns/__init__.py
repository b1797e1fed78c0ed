"""One row per kind of line: the kind, a word that it must have, and what it looks like.

A row's named groups become the fields of the fact. A new kind of evidence is a new row.
"""

from glassstack.diagnose.patterns.base import Pattern
from glassstack.diagnose.patterns.containers import CONTAINERS
from glassstack.diagnose.patterns.kernel import JOINED, KERNEL
from glassstack.diagnose.patterns.programs import PROGRAMS
from glassstack.diagnose.patterns.system import SYSTEM

PATTERNS: tuple[Pattern, ...] = (*KERNEL, *SYSTEM, *CONTAINERS, *PROGRAMS)

__all__ = ["JOINED", "PATTERNS", "Pattern"]
