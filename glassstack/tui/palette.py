"""The command palette: panes and actions, found by their words."""

from collections.abc import Sequence

from textual.command import DiscoveryHit, Hit, Hits, Provider

from glassstack.tui.keys import ACTIONS, Action
from glassstack.tui.panes import PANES


def commands(actions: Sequence[Action] = ACTIONS) -> list[tuple[str, str, str]]:
    """(words, help, action) of everything that can be done."""
    panes = [(f"show {s.title}", f"{s.about}  [{s.key}]", f"show_pane('{s.id}')") for s in PANES]
    return panes + [(a.title, f"key: {a.shown}", a.call) for a in actions if a.call != "command_palette"]


class GlassCommands(Provider):
    """Everything that has a key, by name."""

    @property
    def _actions(self) -> Sequence[Action]:
        return getattr(self.app, "actions", ACTIONS)

    async def discover(self) -> Hits:
        """All of it, while nothing is typed."""
        for words, text, action in commands(self._actions):
            yield DiscoveryHit(words, self._runner(action), help=text)

    async def search(self, query: str) -> Hits:
        """What matches the words typed."""
        matcher = self.matcher(query)
        for words, text, action in commands(self._actions):
            score = matcher.match(words)
            if score > 0:
                yield Hit(score, matcher.highlight(words), self._runner(action), help=text)

    def _runner(self, action: str):  # type: ignore[no-untyped-def]
        async def run() -> None:
            await self.app.run_action(action)

        return run
