"""A new drill's folder, complete but for two lines: what breaks, and what mends it."""

import re
from pathlib import Path

from glassstack.drills.faults import FAULTS
from glassstack.drills.scenario import FILE, ScenarioError

_SCENARIO = """# A drill. `glassstack drill test {name}` proves it. Two lines are yours: injections and solve.
id = "{name}"
title = "{title}"
level = 1
minutes = 10
layers = ["umd"]
places = ["here", "rootless"]

# What works before the fault.
[healthy]
run = "vectoradd"
says = "Test PASSED"

# What fails after it. The check, in the end, is that `healthy` holds again.
[symptom]
run = "! vectoradd"

[[cause]]
id = "first"
text = "What it was, in a sentence or two; a seed chooses among several [[cause]]."
# Faults, with the words that they take:
{faults}
injections = []     # 1: for instance [{{ fault = "uvm-missing" }}]
solve = "false"     # 2: what a person would type, for instance "modprobe fakegpu-uvm"

[[wrong]]
text = "a fix that looks right and must be refused"
run = "gpu-reset"

[[hint]]
after_minutes = 3
text = "A question that points to the right layer."

[[hint]]
after_minutes = 6
cost = 20
text = "The tool that shows it."

[[hint]]
after_minutes = 9
cost = 30
text = "What it is and what to do."
"""
_BRIEF = """# {title}

"What somebody reports: the symptom, never the cause."

`vectoradd` should print `Test PASSED`.
"""
_DEBRIEF = """# Debrief: {title}

**What it was.** In a sentence.

| layer | what it says |
|---|---|
| app | |
| UMD | |
| boundary | |
| KMD | |
| device | |

**See it with plain tools.** **With glassstack.**

**Prevent it.**

**On NVIDIA.**

**They may ask you**
1.
2.
"""


def make(folder: Path) -> None:
    """Writes the skeleton. Raises ScenarioError: the name is unfit or taken; OSError."""
    name = folder.name
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
        raise ScenarioError(f"{name!r}: a drill is named in small letters, digits and dashes")
    if folder.exists():
        raise ScenarioError(f"{folder} is there already")
    folder.mkdir(parents=True)
    title = name.replace("-", " ").capitalize()
    faults = "\n".join(f"#   {word} {_takes(fault.takes)} {fault.about}" for word, fault in FAULTS.items())
    texts = {FILE: _SCENARIO, "brief.md": _BRIEF, "debrief.md": _DEBRIEF}
    for file, text in texts.items():
        (folder / file).write_text(text.format(name=name, title=title, faults=faults))


def _takes(words: dict[str, object]) -> str:
    return f"({', '.join(words)})" if words else "()"
