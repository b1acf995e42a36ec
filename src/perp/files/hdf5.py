"""Numbers out of HDF5 files, without trusting what a header says about their size or place."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.files.reading import Budget, PathName, open_regular, reason, refusals
from perp.problems.errors import FileError

if TYPE_CHECKING:
    import h5py

MAGIC = b"\x89HDF\r\n\x1a\n"
# What h5py raises on damaged files, found by changing bytes of real ones.
_ERRORS = (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError, OverflowError)
_DEFLATE, _SHUFFLE, _CHECKSUM = 1, 2, 3
_DEFLATE_RATIO = 1032  # no deflated byte expands further


class NumberFile:
    """The datasets of one open HDF5 file; each is checked before memory is taken for it."""

    def __init__(self, path: PathName, file: h5py.File, budget: Budget) -> None:
        self.path = path
        self._file = file
        self._budget = budget

    def __contains__(self, name: str) -> bool:
        return self._find(name) is not None

    def whole_numbers(self, name: str) -> np.ndarray:
        """A dataset of integers, as it is stored."""
        return self._read(name, "iu", "whole numbers")

    def numbers(self, name: str) -> np.ndarray:
        """A dataset of real numbers as float64, as one vector."""
        return self._read(name, "iuf", "real numbers").astype(np.float64, copy=False)

    def whole_number(self, name: str) -> int:
        """A dataset with a single integer."""
        array = self.whole_numbers(name)
        if array.size != 1:
            raise FileError(self.path, f"{name} has {array.size} entries: one is needed")
        return int(array[0])

    def attribute(self, name: str, key: str) -> int | None:
        """A whole number attached to a group; None where there is none."""
        with _hdf5_refusals(self.path, name):
            node = self._find(name)
            if node is None or key not in node.attrs:
                return None
            space, code = node.attrs.get_id(key).shape, node.attrs.get_id(key).dtype
            return int(node.attrs[key]) if space == () and code.kind in "iu" else None

    def _find(self, name: str) -> Any:
        """The group or dataset called `name`; None where there is none. Links out of the file are refused."""
        import h5py

        node: Any = self._file
        with _hdf5_refusals(self.path, name):
            for part in name.split("/"):
                if not isinstance(node, h5py.Group) or part not in node:
                    return None
                if not isinstance(node.get(part, getlink=True), h5py.HardLink):
                    raise FileError(self.path, f"{name} is a link to elsewhere, which is not followed")
                node = node[part]
        return node

    def _read(self, name: str, kinds: str, wanted: str) -> np.ndarray:
        import h5py

        dataset = self._find(name)
        if dataset is None:
            raise FileError(self.path, f"has no {name}")
        if not isinstance(dataset, h5py.Dataset):
            raise FileError(self.path, f"{name} is not a dataset")
        with _hdf5_refusals(self.path, name):
            element, shape = dataset.dtype, dataset.shape
            if element.kind not in kinds or element.itemsize > 8 or shape is None:
                raise FileError(self.path, f"{name} has entries of type {element}: {wanted} are needed")
            if len(shape) > 1:
                raise FileError(self.path, f"{name} has shape {shape}: a vector is needed")
            self._check_storage(name, dataset, math.prod(shape) * element.itemsize)
            array = np.asarray(dataset[()]).reshape(-1)
        return array.astype(element.newbyteorder("="), copy=False)

    def _check_storage(self, name: str, dataset: h5py.Dataset, claim: int) -> None:
        """Refuses a dataset whose numbers are not in this file, or that claims more than is there."""
        if dataset.is_virtual or dataset.external:
            raise FileError(self.path, f"{name} keeps its numbers in other files, which are not opened")
        stored = dataset.id.get_storage_size()
        limit = stored
        if dataset.chunks is not None:
            limit = self._check_chunks(name, dataset, stored)
        if stored == 0:
            limit = self._budget.file_size  # FCLib files have vectors of zeros that were never written
        if stored > self._budget.file_size or claim > limit:
            raise FileError(self.path, f"{name} claims {claim} bytes, of which the file holds {stored}")
        self._budget.spend(claim, name)

    def _check_chunks(self, name: str, dataset: h5py.Dataset, stored: int) -> int:
        """How many bytes a dataset stored in chunks can really expand to."""
        properties = dataset.id.get_create_plist()
        filters = [properties.get_filter(k)[0] for k in range(properties.get_nfilters())]
        if not {_DEFLATE, _SHUFFLE, _CHECKSUM}.issuperset(filters) or len(set(filters)) < len(filters):
            raise FileError(
                self.path, f"{name} is compressed in a way that is not read: use h5repack -f NONE"
            )
        ratio = _DEFLATE_RATIO if _DEFLATE in filters else 1
        # HDF5 unpacks a chunk without knowing where to stop: each of them has to fit the budget.
        largest = math.prod(dataset.chunks or ()) * dataset.dtype.itemsize
        for k in range(dataset.id.get_num_chunks() if stored else 0):
            largest = max(largest, ratio * dataset.id.get_chunk_info(k).size)
        if largest > self._budget.left:
            raise FileError(self.path, f"{name} may expand to {largest} bytes: use h5repack -l CONTI")
        return ratio * stored


@contextmanager
def open_numbers(path: PathName) -> Iterator[NumberFile]:
    """Open an HDF5 file for reading.

    Raises:
        FileError: The path cannot be opened or is not an HDF5 file.
    """
    import h5py

    with open_regular(path) as (handle, size), refusals(path):
        with _hdf5_refusals(path, "the file"):
            # Through Python's handle: HDF5's own driver takes locks and follows families of files.
            file = h5py.File(handle, "r")
        try:
            yield NumberFile(path, file, Budget(path, size))
        finally:
            with _hdf5_refusals(path, "the file"):
                file.close()


@contextmanager
def _hdf5_refusals(path: PathName, name: str) -> Iterator[None]:
    """Turns what h5py raises on damaged data into a `FileError`."""
    try:
        yield
    except _ERRORS as error:
        raise FileError(path, f"{name} is damaged: {reason(error)}") from error
