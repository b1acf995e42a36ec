"""`perp completion SHELL`: a script that lets a shell complete commands and options."""

from __future__ import annotations

from typing import Literal

from perp.cli.exit_codes import ExitCode


def completion(shell: Literal["bash", "zsh", "fish"], /) -> int:
    """Print a script that completes commands and options.

    bash: perp completion bash > ~/.local/share/bash-completion/completions/perp
    zsh: perp completion zsh > a folder of $fpath, as _perp
    fish: perp completion fish > ~/.config/fish/completions/perp.fish

    Args:
        shell: Which one.
    """
    from perp.cli.app import app
    from perp.cli.printing import print_line

    print_line(app.generate_completion(shell=shell))
    return ExitCode.SOLVED
