"""The one place where a problem reaches down to the files layer: `problem.save(path)`."""

from __future__ import annotations

from os import PathLike


class Savable:
    """Gives a problem its `save` method."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write this problem to a file; the suffix decides the format (.npz, or .hdf5 for FCLib).

        Raises:
            FileError: The path cannot be written, or the format cannot hold this problem.
        """
        from perp.files import save  # the only upward reference: a method users expect on the object

        save(self, path)  # type: ignore[arg-type]
