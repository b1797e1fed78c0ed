"""Where one works when a drill has several nodes: a desk beside them, from which each is reached.

Owns the command ``on NODE COMMAND``. The desk is the machine itself, in a
folder of the run; only through ``on`` does one get into a node.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from glassstack.collectors.control import ENV
from glassstack.drills.journal import Journal
from glassstack.drills.outcome import Outcome, run
from glassstack.drills.scenario import Scenario
from glassstack.drills.tools import ON_NODE
from glassstack.drills.world import World


def worlds(scenario: Scenario, folder: Path, journal: Journal) -> dict[str, World]:
    """The nodes of a scenario by name; "" where there is one only."""
    if not scenario.nodes:
        return {"": World(folder, scenario.node, journal)}
    return {
        name: World(folder / name, node, journal, name=f"{folder.name}-{name}")
        for name, node in scenario.nodes.items()
    }


class Desk:
    """A place beside the nodes.

    Args:
        folder: the run's.
        nodes: by name, each in a folder of that name in it.
        journal: of the run.
    """

    def __init__(self, folder: Path, nodes: dict[str, World], journal: Journal) -> None:
        self.folder = folder
        self._nodes = nodes
        self._journal = journal

    def build(self) -> None:
        """Makes the way to each node. Raises OSError."""
        self._journal.note("processes", mark=f"DRILL={self.folder}")
        for name in ("bin", "home"):
            (self.folder / name).mkdir(exist_ok=True)
        for world in self._nodes.values():
            world.write_on()
        on = self.folder / "bin/on"
        on.write_text(ON_NODE.format(nodes="|".join(self._nodes)))
        on.chmod(0o755)

    def words(self, command: Sequence[str]) -> list[str]:
        """The command line that runs a command at the desk."""
        return ["env", "-C", str(self.folder / "home"), *command]

    def environ(self) -> dict[str, str]:
        """The environment there: the caller's, with the way to the nodes."""
        environ = {name: value for name, value in os.environ.items() if name != ENV}
        environ["PATH"] = f"{self.folder}/bin:{environ.get('PATH', '/usr/bin:/bin')}"
        environ["DRILL"] = str(self.folder)
        return environ

    def run(self, script: str, seconds: float = 20.0) -> Outcome:
        """Runs a shell script at the desk, stdout and stderr together."""
        return run(self.words(["sh", "-c", script]), self.environ(), seconds)
