"""Siconos's text format, written for tests: each function gives the text that Siconos would print."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

BANNER = "CSparse Version 3.2.0, Sept 12, 2017.  Copyright (c) Timothy A. Davis, 2006-2016"
STORAGES = ("dense", "blocks", "triplets", "columns", "rows")


def vector(values: np.ndarray) -> str:
    return "".join(f"{value:32.24e} " for value in values) + "\n"


def matrix(M: np.ndarray, storage: str, block: int = 1) -> str:
    """A matrix in one of the `STORAGES`; `block` is the size of square blocks."""
    rows, columns = M.shape
    head = {"dense": 0, "blocks": 1}.get(storage, 2)
    return f"{head}\n{rows}\n{columns}\n" + {
        "dense": _dense,
        "blocks": lambda M: _blocks(M, block),
        "triplets": _triplets,
        "columns": lambda M: f"2\n{BANNER}\n" + _columns(M),
        "rows": lambda M: f"3\n{BANNER}\n" + _columns(M.T),
    }[storage](M)


def _dense(M: np.ndarray) -> str:
    return f"{M.shape[0]}\t{M.shape[1]}\n" + vector(M.ravel(order="F"))


def _blocks(M: np.ndarray, size: int) -> str:
    down, across = M.shape[0] // size, M.shape[1] // size
    pieces, start, column = [], [0], []
    for i in range(down):
        for j in range(across):
            piece = M[i * size : (i + 1) * size, j * size : (j + 1) * size]
            if piece.any():
                pieces.append(f"{len(pieces)}\n" + "".join(f"{x:32.24e}\n" for x in piece.ravel(order="F")))
                column.append(j)
        start.append(len(pieces))
    if not pieces:
        return "0\n"
    numbers = [
        [len(pieces)],
        [down],
        [across],
        [size * (i + 1) for i in range(down)],
        [size * (j + 1) for j in range(across)],
        [len(start)],
        [len(column)],
        start,
        column,
    ]
    return "".join("\t".join(map(str, line)) + "\n" for line in numbers) + "".join(pieces)


def _triplets(M: np.ndarray) -> str:
    entries = [(i, j) for j in range(M.shape[1]) for i in range(M.shape[0]) if M[i, j]]
    lines = [f"    {i} {j} : {M[i, j]!r}\n" for i, j in entries]
    head = f"triplet: {M.shape[0]}-by-{M.shape[1]}, nzmax: {len(entries) + 3} nnz: {len(entries)}\n"
    return f"1\n{BANNER}\n" + head + "".join(lines).replace("np.float64(", "").replace(")", "")


def _columns(M: np.ndarray) -> str:
    C = sp.csc_array(M)
    text = f"{M.shape[0]}-by-{M.shape[1]}, nzmax: {C.nnz} nnz: {C.nnz}, 1-norm: 1.5\n"
    for j in range(M.shape[1]):
        first, end = C.indptr[j], C.indptr[j + 1]
        text += f"    col {j} : locations {first} to {end - 1}\n"
        text += "".join(f"      {C.indices[k]} : {float(C.data[k])!r}\n" for k in range(first, end))
    return text
