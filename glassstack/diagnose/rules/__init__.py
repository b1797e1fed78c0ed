"""All rules. A new one is a row in the file of its family; a new family is a file and a line here."""

from glassstack.diagnose.rules import (
    cgroup,
    codes,
    fabric,
    kernel,
    libraries,
    limits,
    module,
    nodes,
    runtime,
    versions,
    xid,
)
from glassstack.diagnose.rules.base import LAYERS, Candidate, Match, Rule

RULES: tuple[Rule, ...] = (
    *kernel.RULES,
    *module.RULES,
    *versions.RULES,
    *nodes.RULES,
    *cgroup.RULES,
    *libraries.RULES,
    *runtime.RULES,
    *limits.RULES,
    *fabric.RULES,
    *xid.RULES,
    *codes.RULES,
)

__all__ = ["LAYERS", "RULES", "Candidate", "Match", "Rule"]
