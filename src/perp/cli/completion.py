"""`perp completion SHELL`: a script that lets a shell complete commands, options and their values."""

from typing import Literal

from perp.cli.exit_codes import ExitCode
from perp.cli.printing import print_line


def completion(shell: Literal["bash", "zsh", "fish"], /) -> int:
    """Print a script that completes commands, options, and names of solvers, keyframes, joints and motors.

    Args:
        shell: Which one. Scripts are read from ~/.local/share/bash-completion/completions/perp, a folder of
            $fpath as _perp, ~/.config/fish/completions/perp.fish.
    """
    from perp.cli.app import app

    print_line(app.generate_completion(shell=shell))
    return ExitCode.SOLVED
