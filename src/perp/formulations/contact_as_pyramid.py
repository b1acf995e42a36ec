"""A contact problem with friction pyramids of k facets, as an LCP.

The disc of admissible friction becomes the regular polygon with the k corners d_j, so that
λ_T = Σ β_j d_j with β ≥ 0 and Σ β_j ≤ μ λ_N, and the multiplier σ is the sliding speed:

    0 ≤ λ_N ⊥ u_N ≥ 0       0 ≤ β_j ⊥ σ + d_jᵀ u_T ≥ 0       0 ≤ σ ⊥ μ λ_N − Σ β_j ≥ 0

Stewart and Trinkle take the normal rows as they are given, with the gap over the step in their bias. Anitescu
and Potra work with velocities alone: contacts with a positive bias are open and left out, the others get
none. The direction of friction is off by up to
π/k and its size by up to 1 − cos(π/k); a contact has k + 2 unknowns. Joints, limits and motors pass
through as boxes and are brought to the LCP by the shifted form.

References: Stewart and Trinkle, Int. J. Numer. Meth. Engng. 39 (1996); Anitescu and Potra, Nonlinear Dynamics
14 (1997).
"""

from typing import Any

import numpy as np

from perp.formulations.boxed_as_lcp import boxed_as_shifted_lcp
from perp.formulations.contact_as_boxed import _relaxed_cones, rows_of
from perp.formulations.registry import Reformulated, composed, formulation
from perp.problems import LCP, BoxedLCP, ContactProblem, ProblemError, Status, residual
from perp.problems.discs import discs
from perp.problems.sets import COULOMB, ELLIPTIC, Sets
from perp.problems.validation import Vector, is_sparse

DEFAULT_FACETS = 8
# Of the matrix of the LCP; solvers take a few times as much.
LARGEST_BYTES = 2e9
# Gaps that the fastest free velocity closes within this share of the step are round-off: contacts are closed.
CLOSED = 1e-6


@formulation(
    "stewart-trinkle", source=ContactProblem, target=LCP, exact=False, refuses=_relaxed_cones,
    shortfall=Status.APPROXIMATE, summary="friction pyramids as an LCP; stewart-trinkle:16 has 16 facets",
)  # fmt: skip
def stewart_trinkle(problem: ContactProblem, facets: int = DEFAULT_FACETS) -> Reformulated:
    """The pyramid LCP with the normal rows as given."""
    return contact_as_pyramid(problem, facets)


@formulation(
    "anitescu-potra", source=ContactProblem, target=LCP, exact=False, refuses=_relaxed_cones,
    shortfall=Status.APPROXIMATE, summary="pyramids at velocity level; anitescu-potra:16 has 16 facets",
)  # fmt: skip
def anitescu_potra(problem: ContactProblem, facets: int = DEFAULT_FACETS) -> Reformulated:
    """The pyramid LCP of the closed contacts, without gaps."""
    return contact_as_pyramid(problem, facets, velocity_level=True)


def contact_as_pyramid(
    problem: ContactProblem, facets: int = DEFAULT_FACETS, *, velocity_level: bool = False
) -> Reformulated:
    """The LCP with a pyramid of `facets` sides, an even number of at least 4, for every cone.

    `velocity_level` leaves out contacts with a positive normal bias and ignores the bias of the others.
    """
    if facets < 4 or facets % 2:
        raise ProblemError(f"facets = {facets}: an even number of at least 4 is needed")
    _check_size(problem, facets)
    kept, q = np.ones(problem.size, dtype=bool), problem.q
    if velocity_level and problem.dynamics is not None:
        kept, q = _closed_contacts(problem)
    pyramids = _Pyramids(problem.sets, facets, kept)
    boxed = pyramids.boxed(problem.W, q)

    def info(x: Vector) -> dict[str, Any]:
        return {"facets": facets, "cone_error": residual(problem, pyramids.impulse(x))}

    turned = Reformulated(boxed, pyramids.impulse, None, info)
    if (boxed.lo == 0.0).all() and np.isinf(boxed.hi).all():
        lcp = LCP(boxed.M, boxed.q, copy=False)
        return Reformulated(lcp, turned.back, None, info)
    return composed(turned, boxed_as_shifted_lcp(boxed))


def _check_size(problem: ContactProblem, facets: int) -> None:
    """Refuse what would not fit into memory before anything is built.

    Every 2×2 block of W between tangents becomes one of facets × facets numbers.
    """
    cones = int(np.count_nonzero(problem.sets.kind >= COULOMB))
    if is_sparse(problem.W):
        numbers = problem.W.nnz / 4 * facets**2
    else:
        numbers = (problem.size + cones * (facets + 1)) ** 2
    if 8 * numbers > LARGEST_BYTES:
        raise ProblemError(
            f"facets = {facets}: the LCP of {cones} contacts would take about {8e-9 * numbers:.3g} GB; "
            f"at most {1e-9 * LARGEST_BYTES:.0f} GB are built"
        )


def _closed_contacts(problem: ContactProblem) -> tuple[np.ndarray, Vector]:
    """Rows that stay, and q without the bias of normal rows."""
    dynamics: Any = problem.dynamics
    kept, q = np.ones(problem.size, dtype=bool), problem.q.copy()
    sets = problem.sets
    cones = np.flatnonzero(sets.kind >= COULOMB)
    speed = float(np.abs(problem.q - dynamics.bias).max(initial=0.0))
    for c in cones:
        first, last = sets.start[c], sets.start[c + 1]
        kept[first:last] = dynamics.bias[first] <= CLOSED * speed
    normal = sets.start[cones]
    q[normal] -= dynamics.bias[normal]
    return kept, q


class _Pyramids:
    """Unknowns x = (scalar rows and normals, β of all pyramids, σ of all pyramids)."""

    def __init__(self, sets: Sets, facets: int, kept: np.ndarray) -> None:
        from scipy.sparse import csr_array

        self.lo, self.hi, index = rows_of(sets)
        self.scalar = np.flatnonzero((index < 0) & kept)
        position = np.full(sets.rows, -1)
        position[self.scalar] = np.arange(self.scalar.size)
        rows, columns, values = list(self.scalar), list(range(self.scalar.size)), [1.0] * self.scalar.size
        owner: list[int] = []  # of each β: its pyramid
        self.normal: list[int] = []  # of each pyramid: the column of its normal
        self.mu: list[float] = []
        column = self.scalar.size
        for c in np.flatnonzero(sets.kind >= COULOMB):
            first = int(sets.start[c])
            if not kept[first]:
                continue
            for tangents, radii in discs(sets, int(c)):
                corners, mu = _corners(facets, len(tangents)), float(radii[0])
                if sets.kind[c] == ELLIPTIC:  # the half-axes of the disc; else a factor of the normal
                    corners, mu = corners * radii, 1.0
                for corner in corners:
                    rows += tangents.tolist()
                    columns += [column] * len(tangents)
                    values += list(corner)
                    owner.append(len(self.mu))
                    column += 1
                self.normal.append(int(position[first]))
                self.mu.append(mu)
        self.owner = np.array(owner, dtype=np.int64)
        self.width = column
        self.spread = csr_array((values, (rows, columns)), shape=(sets.rows, column))

    def impulse(self, x: Vector) -> Vector:
        """λ = P x."""
        return self.spread @ x[: self.width]

    def boxed(self, W: Any, q: Vector) -> BoxedLCP:
        from scipy.sparse import block_array, csr_array

        count, betas = len(self.mu), self.width - self.scalar.size
        P = self.spread
        top = P.T @ (W @ P)
        beta_columns = self.scalar.size + np.arange(betas)
        speed = csr_array((np.ones(betas), (beta_columns, self.owner)), shape=(self.width, count))
        room = csr_array((self.mu, (np.arange(count), self.normal)), shape=(count, self.width)) - speed.T
        M = block_array([[csr_array(top), speed], [room, None]], format="csr") if count else csr_array(top)
        added = betas + count
        return BoxedLCP(
            M if is_sparse(W) else M.toarray(),
            np.concatenate([P.T @ q, np.zeros(count)]),
            np.concatenate([self.lo[self.scalar], np.zeros(added)]),
            np.concatenate([self.hi[self.scalar], np.full(added, np.inf)]),
            copy=False,
        )


def _corners(facets: int, dimension: int) -> np.ndarray:
    """Unit vectors to the corners of the polygon, opposite ones exactly opposite, shape (k, dimension).

    With three tangents or more those of the cross-polytope, two on each axis.
    """
    if dimension != 2:
        return np.concatenate([np.eye(dimension), -np.eye(dimension)])
    angle = 2 * np.pi * np.arange(facets // 2) / facets
    half = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.concatenate([half, -half])
