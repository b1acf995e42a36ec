"""How a problem leaves the process: `problem.save(path)`, and pickled for another one."""

from os import PathLike
from typing import Any

import numpy as np


def _freeze(part: Any) -> None:
    """Make the arrays of a problem read-only, as they were.

    Pickling forgets that, and code that is compiled for read-only arrays would be compiled again.
    """
    for value in vars(part).values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        elif type(value).__module__.startswith(("perp.problems.", "scipy.sparse.")):
            _freeze(value)  # sets, dynamics, a sparse matrix


class Savable:
    """Gives a problem its `save` method, and lets it be pickled."""

    def __getstate__(self) -> dict[str, Any]:
        # what solvers keep with a problem, such as its packed form, belongs to this process
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        _freeze(self)

    def _repr_html_(self) -> str:
        from perp.view.notebook import problem_html

        return problem_html(self)  # type: ignore[arg-type]

    def save(self, path: str | PathLike[str]) -> None:
        """Write this problem to a file; the suffix decides the format (.npz, or .hdf5 for FCLib).

        Raises:
            FileError: The path cannot be written, or the format cannot hold this problem.
        """
        from perp.files import save  # the only upward reference: a method users expect on the object

        save(self, path)  # type: ignore[arg-type]
