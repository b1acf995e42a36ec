"""Matrices as Siconos writes them in `.dat` files: dense, sparse in blocks, or sparse.

All three begin with the storage type and the numbers of rows and columns.

0, dense: rows and columns again, then the entries column by column.
1, sparse in blocks: number of blocks and nothing more if it is 0; numbers of block rows and block columns;
   the cumulated sizes of both; the lengths of the two index vectors and the vectors (compressed block rows);
   then block by block its number and its entries column by column.
2, sparse: how it is kept (1 triplets, 2 compressed columns, 3 compressed rows), then CSparse's own print-out.
   Compressed rows are printed as the columns of the transpose.
"""

import re
from typing import Any

import numpy as np

from perp.files.dat_words import BANNER, Words, numbers, show, whole_numbers
from perp.files.matrices import compressed, triplets
from perp.problems.errors import ProblemError

DENSE, BLOCKS, SPARSE = range(3)
TRIPLETS, COLUMNS, ROWS = 1, 2, 3
_SHAPE = re.compile(rb"(\d{1,18})-by-(\d{1,18}),")


def read_shape(words: Words, name: str) -> tuple[int, tuple[int, int]]:
    """The storage type and the shape, with which every matrix begins."""
    storage = words.whole_number(f"{name} storage type")
    if storage not in (DENSE, BLOCKS, SPARSE):
        raise ProblemError(f"{name} has storage type {storage}: 0, 1 or 2 is needed")
    rows, columns = words.whole_numbers(2, f"{name} size").tolist()
    return storage, (rows, columns)


def read_matrix(words: Words, name: str, storage: int, shape: tuple[int, int]) -> Any:
    """The rest of a matrix, after its shape: a dense array or compressed rows.

    The shape must be known to fit the problem, since memory is taken for it.
    """
    if storage == DENSE:
        return _read_dense(words, name, shape)
    return _read_blocks(words, name, shape) if storage == BLOCKS else _read_sparse(words, name, shape)


def _read_dense(words: Words, name: str, shape: tuple[int, int]) -> np.ndarray:
    again = tuple(words.whole_numbers(2, f"{name} size").tolist())
    if again != shape:
        raise ProblemError(f"{name} has shape {shape} and then {again}")
    return np.ascontiguousarray(words.numbers(shape[0] * shape[1], name).reshape(shape, order="F"))


def _read_blocks(words: Words, name: str, shape: tuple[int, int]) -> Any:
    count = words.whole_number(f"{name} number of blocks")
    nothing = np.zeros(0, dtype=np.int64)
    if count == 0:
        return triplets(name, shape, nothing, nothing, np.zeros(0), 0)
    block_rows, block_columns = words.whole_numbers(2, f"{name} numbers of blocks")
    row_ends = _read_ends(words, name, block_rows, shape[0])
    column_ends = _read_ends(words, name, block_columns, shape[1])
    pointers, filled = words.whole_numbers(2, f"{name} index lengths")
    start = words.whole_numbers(pointers, f"{name} block rows")
    column = words.whole_numbers(filled, f"{name} block columns")
    # Siconos leaves out the pointers of empty block rows at the end.
    if not 1 <= start.size <= block_rows + 1 or start[0] != 0 or (np.diff(start) < 0).any():
        raise ProblemError(f"{name} has block rows that do not start at 0 and grow")
    if start[-1] > column.size or (column >= block_columns).any():
        raise ProblemError(f"{name} has a block outside of the matrix")
    rows, columns, values = [nothing], [nothing], [np.zeros(0)]
    for row in range(start.size - 1):
        for block in range(start[row], start[row + 1]):
            if words.whole_number(f"{name} block number") != block:
                raise ProblemError(f"{name} has blocks that are not in order at block {block}")
            row_indices = np.arange(*row_ends[row : row + 2].tolist())
            column_indices = np.arange(*column_ends[column[block] : column[block] + 2].tolist())
            values.append(words.numbers(row_indices.size * column_indices.size, f"{name} block {block}"))
            rows.append(np.tile(row_indices, column_indices.size))
            columns.append(np.repeat(column_indices, row_indices.size))
    entries = np.concatenate(values)
    return triplets(name, shape, np.concatenate(rows), np.concatenate(columns), entries, entries.size)


def _read_ends(words: Words, name: str, count: int, end: int) -> np.ndarray:
    """Where block rows or columns begin, with the end of the last one, shape (count + 1,)."""
    ends = np.concatenate([[0], words.whole_numbers(count, f"{name} block sizes")])
    if (np.diff(ends) < 0).any() or ends[-1] != end:
        raise ProblemError(f"{name} has blocks that end at {ends[-1]}: {end} is needed")
    return ends


def _read_sparse(words: Words, name: str, shape: tuple[int, int]) -> Any:
    form = words.whole_number(f"{name} sparse form")
    if form not in (TRIPLETS, COLUMNS, ROWS):
        raise ProblemError(f"{name} has sparse form {form}: 1, 2 or 3 is needed")
    words.expect(BANNER, name)
    if form == TRIPLETS:
        words.expect(b"triplet:", name)
    printed = shape[::-1] if form == ROWS else shape
    text = words.words(1, f"{name} size")[0]
    match = _SHAPE.fullmatch(text)
    if match is None or (int(match[1]), int(match[2])) != printed:
        raise ProblemError(f"{name} has shape {shape} and then {show(text)}")
    words.expect(b"nzmax:", name)
    words.whole_number(f"{name} nzmax")
    words.expect(b"nnz:", name)
    if form == TRIPLETS:
        return _read_triplets(words, name, shape)
    return _read_lines(words, name, shape, by_rows=form == ROWS)


def _read_triplets(words: Words, name: str, shape: tuple[int, int]) -> Any:
    """Entries of the form `row column : value`."""
    count = words.whole_number(f"{name} nnz")
    entries = words.words(4 * count, name)
    if any(colon != b":" for colon in entries[2::4]):
        raise ProblemError(f"{name} has an entry that is not of the form 'row column : value'")
    rows, columns = whole_numbers(entries[::4], name), whole_numbers(entries[1::4], name)
    return triplets(name, shape, rows, columns, numbers(entries[3::4], name), count)


def _read_lines(words: Words, name: str, shape: tuple[int, int], *, by_rows: bool) -> Any:
    """Lines `col j : locations first to last`, each followed by its entries `index : value`."""
    words.words(1, name)  # the number of entries, with a comma: the locations say it again
    words.expect(b"1-norm:", name)
    words.words(1, name)
    ends, indices, values = [0], [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
    for line in range(shape[0] if by_rows else shape[1]):
        head = words.words(7, f"{name} column {line}")
        if head[0] != b"col" or head[2:4] != [b":", b"locations"] or head[5] != b"to":
            raise ProblemError(f"{name} has no line 'col {line} : locations … to …'")
        number, first, last = whole_numbers([head[1], head[4], head[6]], name, least=-1).tolist()
        if number != line or first != ends[-1] or last < first - 1:
            raise ProblemError(f"{name} has column {number} at {first} … {last}, after entry {ends[-1] - 1}")
        ends.append(last + 1)
        entries = words.words(3 * (last + 1 - first), name)
        if any(colon != b":" for colon in entries[1::3]):
            raise ProblemError(f"{name} has an entry that is not of the form 'index : value'")
        indices.append(whole_numbers(entries[::3], name))
        values.append(numbers(entries[2::3], name))
    return compressed(
        name, shape, np.array(ends), np.concatenate(indices), np.concatenate(values), by_rows=by_rows
    )
