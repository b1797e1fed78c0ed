"""Exit codes, and the one way a command fails."""

OK = 0
FAILED = 1
USAGE = 2
MISSING = 4
LAUNCH_FAILED = 125
NOT_EXECUTABLE = 126
NOT_FOUND = 127


class CommandError(Exception):
    """Ends a command with one line on stderr: cause and remedy.

    Args:
        cause: what is wrong, one line.
        remedy: what to do, one line or "".
        code: exit code.
    """

    def __init__(self, cause: str, remedy: str = "", code: int = FAILED) -> None:
        super().__init__(cause)
        self.cause = cause
        self.remedy = remedy
        self.code = code

    def __str__(self) -> str:
        return f"{self.cause}; {self.remedy}" if self.remedy else self.cause
