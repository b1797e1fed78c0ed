"""`glassstack` without a command: the TUI over the embedded GPU with two demonstration programs."""

from glassstack.cli.screen import check_terminal, watch


def run() -> int:
    """Starts the demonstration and shows it."""
    check_terminal()
    from glassstack.session.compose import demo_session

    return watch(demo_session)
