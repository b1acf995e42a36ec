"""M⁻¹ in three forms: one block per body, a dense factorisation, a sparse factorisation.

A sparse mass whose unknowns fall into small independent groups (rigid bodies) is inverted group by group and
stays sparse; only a mass that couples many unknowns (deformable bodies) needs a sparse factorisation.
"""

from typing import Any, TypeAlias

import numpy as np

from perp.problems.errors import ProblemError
from perp.problems.validation import Matrix, Vector, is_sparse

# A rigid body has 6 unknowns, two welded ones 12; inverting larger groups densely would fill in too much.
LARGEST_GROUP = 24
# Columns of Jᵀ solved at a time with a sparse factorisation: bounds the dense workspace.
COLUMNS_AT_A_TIME = 256


class InverseMass:
    """M⁻¹ held as a matrix: for dense masses and for small independent groups."""

    def __init__(self, inverse: Matrix) -> None:
        self.inverse = inverse

    def solve(self, x: Vector) -> Vector:
        """M⁻¹ x."""
        return self.inverse @ x

    def delassus(self, jacobian: Matrix) -> Any:
        """J M⁻¹ Jᵀ."""
        return jacobian @ (self.inverse @ jacobian.T)

    def condition(self, mass: Any) -> float:
        """Of `mass`, scaled to a diagonal of 1, by the largest row sum: units do not change it."""
        root = np.sqrt(mass.diagonal())
        whole = (abs(mass) @ (1.0 / root)) / root
        inverse = root * (abs(self.inverse) @ root)
        return float(whole.max(initial=0.0) * inverse.max(initial=0.0))


class FactorisedMass:
    """A sparse LU factorisation: for masses that couple many unknowns."""

    def __init__(self, mass: Any) -> None:
        from scipy.sparse.linalg import splu

        self._mass = mass
        try:
            self._factor = splu(mass.tocsc())
        except RuntimeError as error:
            raise ProblemError(f"mass cannot be factorised: {error}") from None

    def __reduce__(self) -> tuple[type, tuple[Any]]:
        return FactorisedMass, (self._mass,)  # a factor cannot be sent to another process, its matrix can

    def solve(self, x: Vector) -> Vector:
        return self._factor.solve(x)

    def condition(self, mass: Any) -> float:
        """What the error of one solve lets expect."""
        ones = np.ones(mass.shape[0])
        return float(np.abs(self.solve(mass @ ones) - ones).max(initial=0.0)) * 2.0**53

    def delassus(self, jacobian: Matrix) -> Any:
        transposed = jacobian.T.tocsc() if is_sparse(jacobian) else jacobian.T
        blocks = []
        for first in range(0, jacobian.shape[0], COLUMNS_AT_A_TIME):
            columns = transposed[:, first : first + COLUMNS_AT_A_TIME]
            dense = columns.toarray() if is_sparse(columns) else np.ascontiguousarray(columns)
            blocks.append(jacobian @ self._factor.solve(dense))
        W = np.hstack(blocks) if blocks else np.zeros((0, 0))
        if not is_sparse(jacobian):
            return W
        from scipy.sparse import csr_array

        return csr_array(W)


MassSolver: TypeAlias = InverseMass | FactorisedMass


def mass_solver(mass: Matrix) -> MassSolver:
    """The cheapest form of M⁻¹ for this mass, which must be positive definite."""
    if mass.ndim == 3:
        return InverseMass(_block_diagonal(_inverse(mass)))
    if not is_sparse(mass):
        return InverseMass(_inverse(mass[np.newaxis])[0] if mass.size else mass)
    from scipy.sparse.csgraph import connected_components

    _, group = connected_components(mass, directed=False)
    if mass.shape[0] == 0 or np.bincount(group).max() <= LARGEST_GROUP:
        return InverseMass(_invert_groups(mass, group))
    return FactorisedMass(mass)


def _inverse(blocks: np.ndarray) -> np.ndarray:
    """Inverse of each symmetric positive definite block, shape (count, k, k)."""
    try:
        np.linalg.cholesky(blocks)
        return np.linalg.inv(blocks)
    except np.linalg.LinAlgError:
        raise ProblemError("mass is not positive definite") from None


def _block_diagonal(blocks: np.ndarray) -> Any:
    from scipy.sparse import bsr_array

    count, k, _ = blocks.shape
    return bsr_array((blocks, np.arange(count), np.arange(count + 1)), shape=(count * k, count * k)).tocsr()


def _invert_groups(mass: Any, group: np.ndarray) -> Any:
    """Inverse of a sparse matrix whose unknowns form small independent groups, group sizes batched."""
    from scipy.sparse import coo_array

    order = np.argsort(group, kind="stable")
    sizes = np.bincount(group)
    first = np.concatenate([[0], np.cumsum(sizes)])
    position = np.empty_like(order)
    position[order] = np.arange(order.size) - first[group[order]]
    entries = mass.tocoo()
    rows, columns, values = [], [], []
    for size in np.unique(sizes):
        members = np.flatnonzero(sizes == size)
        slot = np.full(sizes.size, -1)
        slot[members] = np.arange(members.size)
        blocks = np.zeros((members.size, size, size))
        mine = slot[group[entries.row]] >= 0
        blocks[slot[group[entries.row[mine]]], position[entries.row[mine]], position[entries.col[mine]]] = (
            entries.data[mine]
        )
        unknowns = order[first[members][:, None] + np.arange(size)]
        values.append(_inverse(blocks).ravel())
        rows.append(np.repeat(unknowns, size, axis=1).ravel())
        columns.append(np.tile(unknowns, (1, size)).ravel())
    if not rows:
        return mass
    return coo_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=mass.shape
    ).tocsr()
