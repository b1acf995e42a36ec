"""The application: its commands, and how each kind of failure becomes one line and an exit code."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from cyclopts import App, CycloptsError, Parameter

from perp.cli.exit_codes import ExitCode
from perp.problems.errors import PerpError

if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_CODES = "Exit codes: 0 solved, 1 not solved, 2 bad input."


def _version() -> str:
    import perp

    return f"perp {perp.__version__}"


app = App(
    name="perp",
    help=f"Hard frictional contact: solve it, and know what the answer is worth.\n\n{EXIT_CODES}",
    version=_version,
    help_format="markdown",
    result_action="return_value",
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(negative=()),  # a flag is given or not: no option takes it back
)

# A command is imported when it is used, so what the list of commands says about it stands here.
COMMANDS = {
    "solve": "Solve the problem in a file.\n\nExit code 0: solved, 1: not solved, 2: bad input.",
    "solvers": "List the solvers, what each takes, and how to get those that are missing.",
    "residual": "Measure an answer, wherever it came from.\n\nExit code 0: within tol, 1: not, 2: bad input.",
    "convert": "Write a problem in another file format; the suffix decides which.",
    "simulate": "Run a scene, record it, and say what the run is worth.\n\n"
    "Exit code 0: all steps taken, 1: a step failed, 2: bad input.",
    "info": "Say what is in a recording.",
    "plot": "Draw a recording: energy, residual, contact forces, stick and slip, time.",
    "compare": "Solve one problem in every formulation with every solver.\n\n"
    "Exit code 0: the table was made, whatever is in it; 2: bad input.",
    "view": "Replay a recording in the browser, or write it as one html file that plays offline.",
    "bench": "Run solvers over test sets, and report what came out.",
    "completion": "Print a script that completes commands, options and their values in bash, zsh or fish.",
    "warm-up": "Compile everything that perp can use, on all cores, and keep it for later runs.",
}
for command, text in COMMANDS.items():
    module = command.replace("-", "_")
    app.command(f"perp.cli.{module}:{module}", name=command, help=text)


def run(tokens: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; failures become one line on stderr."""
    words = sys.argv[1:] if tokens is None else list(tokens)
    try:
        code = app(words, exit_on_error=False, print_error=False) or ExitCode.SOLVED
        sys.stdout.flush()  # a reader that has gone away must be noticed here, not at interpreter exit
    except CycloptsError as error:
        return _fail(f"{error} See `perp --help`.", ExitCode.BAD_INPUT)
    except (PerpError, MemoryError) as error:
        return _fail(str(error) or "not enough memory", ExitCode.BAD_INPUT)
    except KeyboardInterrupt:
        return _fail("interrupted", ExitCode.INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.READER_GONE)
    except OSError as error:
        return _fail(str(error), ExitCode.BAD_INPUT)
    except Exception as error:
        if os.environ.get("PERP_DEBUG"):
            raise
        message = f"a bug in perp: {type(error).__name__}: {error} (PERP_DEBUG=1 shows the traceback)"
        return _fail(message, ExitCode.BUG)
    return int(code)


def _fail(message: str, code: ExitCode) -> int:
    from perp.cli.printing import visible

    line = visible(" ".join(message.split()))  # a message of several lines is still one line
    sys.stderr.write(f"perp: {line}\n")
    return int(code)
