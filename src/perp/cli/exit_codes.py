"""What the exit code of `perp` says."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Scripts may rely on these."""

    SOLVED = 0
    NOT_SOLVED = 1
    BAD_INPUT = 2
    BUG = 70  # sysexits.h calls it EX_SOFTWARE; 1 would read as "not solved"
    INTERRUPTED = 130  # 128 + SIGINT, as shells report it
    READER_GONE = 141  # 128 + SIGPIPE
