"""Proofs of contact answers: an exact solution lies in a small box around the answer (Krawczyk's test).

The states of the answer (open, sticking, slipping; at a bound or free) turn the law into as many smooth
equations as there are rows. With Y an approximate inverse of their Jacobian, the box X around the refined
answer x holds exactly one zero where x − Y F(x) + (1 − Y F'(X)) (X − x) lies inside of X; every inequality of
the law is then checked for all numbers of the box, in balls of 192 bits. Where contacts are redundant the
Jacobian is singular and nothing is proved.

Reference: Krawczyk (1969); Rump, Verification methods (2010), section 13.
"""

from typing import Any, NamedTuple

import numpy as np

from perp.certify.certificate import ENCLOSED, Certificate, not_proved
from perp.certify.solved_sides import PRECISION
from perp.problems import ContactProblem, Solution
from perp.problems.discs import discs as discs_of
from perp.problems.sets import BOX, COHESION, COULOMB, NONNEGATIVE
from perp.problems.validation import Vector, is_sparse

# Steps that take the answer to the digits of the balls, boxes that are tried, and by how much each is wider.
REFINEMENTS, BOXES, WIDER = 12, 4, 100.0


class _Disc(NamedTuple):
    """Rows of a friction set that slip together, with their coefficients (positive and finite)."""

    rows: list[int]
    mu: list[float]
    slips: bool


def enclose_contact(problem: ContactProblem, solution: Solution) -> Certificate:
    """Enclose the solution with the states of an answer, and check the law in the whole enclosure."""
    import flint

    if not np.isfinite(solution.z).all():
        return not_proved("solution", ["the answer is not finite"])
    before = flint.ctx.prec
    flint.ctx.prec = PRECISION
    try:
        return _Law(problem, solution.z).certificate(solution.z)
    finally:
        flint.ctx.prec = before


class _Law:
    """The equations and inequalities of a problem with the states of one answer."""

    def __init__(self, problem: ContactProblem, z: Vector) -> None:
        from flint import arb

        self.problem = problem
        W: Any = problem.W
        self.dense = np.asarray(W.toarray() if is_sparse(W) else W, dtype=np.float64)
        self.W = np.array([[arb(float(x)) for x in row] for row in self.dense], dtype=object)
        self.q = np.array([arb(float(x)) for x in problem.q], dtype=object)
        # impulses with a given value, rows without velocity, and closed friction sets with their discs
        self.given: dict[int, float] = {}
        self.held: list[int] = []
        self.closed: dict[int, list[_Disc]] = {}
        u = self.dense @ z + problem.q
        for c in range(problem.contact_count):
            self._state(c, z, u)

    def _rows(self, c: int) -> tuple[int, int, int, Vector]:
        sets = self.problem.sets
        return int(sets.kind[c]), int(sets.start[c]), int(sets.start[c + 1]), sets.parameters[c]

    def _bounds(self, c: int) -> tuple[float, float]:
        """Bounds of the impulse of a scalar row."""
        kind, _, _, parameter = self._rows(c)
        if kind == BOX:
            return float(parameter[0]), float(parameter[1])
        return (0.0 if kind == NONNEGATIVE else -np.inf), np.inf

    def _discs(self, c: int) -> list[tuple[list[int], list[float]]]:
        return [(rows.tolist(), mu.tolist()) for rows, mu in discs_of(self.problem.sets, c)]

    def _state(self, c: int, z: Vector, u: Vector) -> None:
        kind, i, end, parameter = self._rows(c)
        d = abs(self.dense[i, i]) or 1.0
        if kind < COULOMB:
            low, high = self._bounds(c)
            if d * (z[i] - low) <= u[i]:
                self.given[i] = float(low)
            elif d * (high - z[i]) <= -u[i]:
                self.given[i] = float(high)
            else:
                self.held.append(i)
            return
        push, discs = z[i] + parameter[COHESION], []
        slip = sum(
            float(np.linalg.norm([m * u[row] for row, m in zip(rows, mu, strict=True) if m < np.inf]))
            for rows, mu in self._discs(c)
        )
        if d * push <= u[i] - (slip if self.problem.relaxed else 0.0):
            self.given.update({i: -float(parameter[COHESION]), **dict.fromkeys(range(i + 1, end), 0.0)})
            return
        for rows, mu in self._discs(c):
            for row, m in zip(rows, mu, strict=True):
                if m == 0.0:
                    self.given[row] = 0.0
                elif m == np.inf:
                    self.held.append(row)
            some = [(row, m) for row, m in zip(rows, mu, strict=True) if 0.0 < m < np.inf]
            x = [z[row] / m for row, m in some]
            speed = float(np.linalg.norm([m * u[row] for row, m in some]))
            slips = bool(some) and d * (push - float(np.linalg.norm(x))) <= speed
            discs.append(_Disc([row for row, _ in some], [m for _, m in some], slips))
            if not slips:
                self.held.extend(row for row, _ in some)
        self.closed[i] = discs

    def equations(self, x: Any) -> tuple[Any, Any, Any]:
        """F, its Jacobian and the velocities at impulses that are balls."""
        from flint import arb

        n = x.size
        u = self.W @ x + self.q
        F, J = np.full(n, arb(0), dtype=object), np.full((n, n), arb(0), dtype=object)
        for i, value in self.given.items():
            F[i] = x[i] - arb(value)
            J[i, i] = arb(1)
        for i in self.held:
            F[i], J[i] = u[i], self.W[i]
        for i, discs in self.closed.items():
            F[i], J[i] = u[i], self.W[i]
            push = x[i] + arb(self._cohesion(i))
            for disc in discs:
                if not disc.slips:
                    continue
                squares = [(r, arb(m) * arb(m)) for r, m in zip(disc.rows, disc.mu, strict=True)]
                speed = sum((m * u[r] * u[r] for r, m in squares), arb(0)).sqrt()
                change = sum((m * u[r] / speed * self.W[r] for r, m in squares), 0 * self.W[0])
                if self.problem.relaxed:
                    F[i], J[i] = F[i] - speed, J[i] - change
                for r, m in squares:
                    F[r] = x[r] * speed + push * m * u[r]
                    J[r] = x[r] * change + push * m * self.W[r]
                    J[r, r] = J[r, r] + speed
                    J[r, i] = J[r, i] + m * u[r]
        return F, J, u

    def _cohesion(self, i: int) -> float:
        c = int(np.searchsorted(self.problem.sets.start, i, side="right")) - 1
        return float(self.problem.sets.parameters[c, COHESION])

    def certificate(self, z: Vector) -> Certificate:
        """Krawczyk's test around the refined answer."""
        from flint import arb, arb_mat

        n = z.size
        x = np.array([arb(float(value)) for value in z], dtype=object)
        inverse: Any = None
        for _ in range(REFINEMENTS):
            F, J, _ = self.equations(x)
            middle = np.array([[float(value.mid()) for value in row] for row in J]).reshape(n, n)
            size = np.abs(middle).max(axis=1, initial=0.0)[:, None]
            scaled = middle / size
            if not np.isfinite(scaled).all() or np.linalg.cond(scaled) > 1e14:
                return not_proved("solution", ["the contacts are redundant: the impulses are not unique"])
            inverse = arb_mat(n, n, [arb(float(v)) for v in (np.linalg.inv(scaled) / size.T).ravel()])
            step = inverse * arb_mat(n, 1, list(F))
            x = np.array([(x[i] - step[i, 0]).mid() for i in range(n)], dtype=object)
        step = inverse * arb_mat(n, 1, list(self.equations(x)[0]))
        radius = np.array([2.0 * float(abs(step[i, 0]).upper()) for i in range(n)])
        radius += 1e-30 * max(1.0, float(np.abs(z).max(initial=0.0)))
        for _ in range(BOXES):
            box = np.array([x[i] + arb(0, float(radius[i])) for i in range(n)], dtype=object)
            _, J, u = self.equations(box)
            remainder = arb_mat(n, n, [arb(int(i == j)) for i in range(n) for j in range(n)])
            remainder = remainder - inverse * arb_mat(n, n, [value for row in J for value in row])
            image = remainder * arb_mat(n, 1, list(box - x))
            if all(bool(abs(image[i, 0] - step[i, 0]) < arb(float(radius[i]))) for i in range(n)):
                break
            radius *= WIDER
        else:
            return not_proved("solution", ["no box around the answer was found to hold a solution"])
        failures = self._doubtful(box, u)
        if failures:
            return not_proved("solution", failures)
        center = np.array([float(value.mid()) for value in x])
        return Certificate(
            ENCLOSED, "solution", active_set=tuple(i for i in range(n) if i not in self.given), center=center,
            radius=radius + np.spacing(np.abs(center)), distance=float(np.abs(center - z).max(initial=0.0)),
        )  # fmt: skip

    def _doubtful(self, x: Any, u: Any) -> list[str]:
        """Every inequality of the law that does not hold in the whole box."""
        from flint import arb

        failures = []
        for c in range(self.problem.contact_count):
            kind, i, _, parameter = self._rows(c)
            if kind < COULOMB:
                low, high = self._bounds(c)
                if i in self.given:
                    right = u[i] >= 0 if self.given[i] == low else u[i] <= 0
                    if not (low == high or bool(right)):
                        failures.append(f"the velocity of row {i} may have the wrong sign at its bound")
                elif not (bool(x[i] >= arb(low)) and bool(x[i] <= arb(high))):
                    failures.append(f"the impulse of row {i} may be outside of its bounds")
                continue
            if i not in self.closed:
                least = arb(0)
                for rows, mu in self._discs(c) if self.problem.relaxed else ():
                    squares = (arb(m) ** 2 * u[r] ** 2 for r, m in zip(rows, mu, strict=True))
                    least += sum(squares, arb(0)).sqrt()
                if not bool(u[i] >= least):
                    failures.append(f"contact {c} is open and may approach")
                continue
            push = x[i] + arb(float(parameter[COHESION]))
            if not bool(push >= 0):
                failures.append(f"contact {c} may pull")
            for disc in self.closed[i]:
                parts = [x[r] / arb(m) for r, m in zip(disc.rows, disc.mu, strict=True)]
                if not disc.slips and not bool(sum((p * p for p in parts), arb(0)) <= push * push):
                    failures.append(f"contact {c} sticks and may rub with more than its friction")
        return failures
