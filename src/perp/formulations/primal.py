"""The primal: velocities minimise ½ vᵀ M v − pᵀ v over shifted dual cones, with an outer fixed point.

The program asks for u_N + s ≥ μ ‖u_T‖, whose multipliers are the impulses. With s = μ ‖u_T‖ of its own answer
that is exact Coulomb friction, so that s is iterated to its fixed point, accelerated and with a stopping
test. Joints become equations, motors a cost for velocities that exceed their limits. `primal_published`
subtracts s, stops after ten programs and works in impulse units, as published in 2014: the sign is wrong,
which sticking hides. Costs one cone program over the bodies' velocities an iteration.

Reference: Acary, Cadoux, Lemaréchal and Malick, A formulation of the linear discrete Coulomb friction problem
via convex optimization (2011).
"""

import numpy as np

from perp.formulations.fixed_point import FixedPoint
from perp.formulations.registry import Reformulated, formulation
from perp.formulations.scaled_contact import ScaledContact, refuses_asymmetric
from perp.problems import ContactProblem
from perp.problems.cone_program import ConeProgram, Row, sparse_rows
from perp.problems.sets import BOX, COULOMB, FREE, ROLLING
from perp.problems.validation import Vector

PUBLISHED_ITERATIONS = 10


@formulation(
    "primal", source=ContactProblem, target=ConeProgram, exact=True, refuses=refuses_asymmetric,
    summary="velocities minimise over the dual cones, with the fixed point on the sliding speed",
)  # fmt: skip
def primal(problem: ContactProblem) -> Reformulated:
    """Cone programs over velocities, to the fixed point on the sliding speeds."""
    layout = _Layout(ScaledContact(problem))
    return _shifted(layout, np.zeros(problem.size), FixedPoint(), 1.0)


@formulation(
    "primal_published", source=ContactProblem, target=ConeProgram, exact=lambda problem: problem.relaxed,
    refuses=refuses_asymmetric,
    summary="the primal with the opposite sign and ten iterations, as published in 2014",
)  # fmt: skip
def primal_published(problem: ContactProblem) -> Reformulated:
    """The primal as published: −μ s, ten plain iterations, impulse units."""
    layout = _Layout(ScaledContact(problem, units="impulse"))
    first = np.zeros(problem.size)
    if not problem.relaxed:
        first = layout.sliding_shift(layout.scaled.free_body_velocity)
    return _shifted(layout, first, FixedPoint(memory=0, limit=PUBLISHED_ITERATIONS), -1.0)


class _Layout:
    """Which unknowns and rows the program has, and how its multipliers become impulses.

    Unknowns: v̂ of the bodies, a bound t per rolling contact, and the excess velocities of a motor, one for
        each of its
    finite limits.
    """

    def __init__(self, scaled: ScaledContact) -> None:
        self.scaled = scaled
        mass, jacobian, momentum, bias = scaled.bodies
        self.mass, self.jacobian, self.momentum, self.bias = mass, jacobian, momentum, bias
        self.body_count = momentum.size
        self.cost: list[float] = []
        zero: list[Row] = []
        nonnegative: list[Row] = []
        cones: list[Row] = []
        # (row of the contact problem, position among its kind of rows)
        zero_of, nonnegative_of, cone_of = [], [], []
        self.second_order: list[int] = []
        sets = scaled.problem.sets
        balls = {}
        for ball in scaled.balls:
            balls.setdefault(int(ball.normal), []).append(ball)
        for c in range(sets.count):
            row, kind = int(sets.start[c]), sets.kind[c]
            if kind == FREE:
                zero_of.append(row)
                zero.append(self._velocity(row))
            elif kind == BOX:
                zero_of.append(row)
                zero.append(self._motor(row, sets.a[c], sets.b[c], nonnegative, nonnegative_of))
            elif kind < COULOMB:
                nonnegative_of.append(row)
                nonnegative.append(self._velocity(row))
            else:
                first, *others = balls[row]
                head, bound = self._velocity(row), -1
                if kind == ROLLING:
                    bound = self._unknown(0.0)
                    head = ([*head[0], bound], [*head[1], -1.0], head[2])
                for ball in (first, *others):
                    top = head if ball is first else ([bound], [1.0], 0.0)
                    cone_of += [row if ball is first else -1, *(int(i) for i in ball.rows)]
                    cones += [top, *(self._velocity(int(i)) for i in ball.rows)]
                    self.second_order.append(1 + ball.rows.size)
        self.zero, self.nonnegative = len(zero), len(nonnegative)
        self.variable_count = self.body_count + len(self.cost)
        self.rows = zero + nonnegative + cones
        self.row_of = np.array(zero_of + nonnegative_of + cone_of, dtype=np.int64)

    def _velocity(self, row: int) -> Row:
        """û of a row as a function of the unknowns."""
        columns = np.flatnonzero(self.jacobian[row])
        return (
            [int(j) for j in columns],
            [float(x) for x in self.jacobian[row, columns]],
            float(self.bias[row]),
        )

    def _unknown(self, cost: float) -> int:
        self.cost.append(cost)
        return self.body_count + len(self.cost) - 1

    def _motor(self, row: int, lo: float, hi: float, nonnegative: list[Row], owners: list[int]) -> Row:
        """û = a − b with a, b ≥ 0 and the cost −lo a + hi b: the limits act only where they are exceeded."""
        columns, values, constant = self._velocity(row)
        for bound, sign in ((lo, -1.0), (hi, 1.0)):
            if np.isfinite(bound):
                excess = self._unknown(sign * bound / self.scaled.impulse_unit)
                columns.append(excess)
                values.append(sign)
                nonnegative.append(([excess], [1.0], 0.0))
                owners.append(-1)
        return columns, values, constant

    def program(self, shift: Vector) -> ConeProgram:
        """The cone program with û_N + shift in place of û_N."""
        from scipy.sparse import block_diag, csc_array

        G, h = sparse_rows(self.rows, self.variable_count)
        owned = self.row_of >= 0
        h[owned] += shift[self.row_of[owned]]
        extra = len(self.cost)
        P = csc_array(block_diag([self.mass, csc_array((extra, extra))])) if extra else csc_array(self.mass)
        start = np.concatenate([self.scaled.free_body_velocity, np.zeros(extra)])
        return ConeProgram(
            P, np.concatenate([-self.momentum, self.cost]), G, h, self.zero, self.nonnegative,
            tuple(self.second_order), start=start, needs_multipliers=True,
        )  # fmt: skip

    def impulse(self, z: Vector) -> Vector:
        """λ from the multipliers."""
        y = z[self.variable_count :]
        owned = self.row_of >= 0
        x = np.zeros(self.scaled.problem.size)
        x[self.row_of[owned]] = y[owned]
        return self.scaled.impulse(x)

    def sliding_shift(self, z: Vector) -> Vector:
        """Γ at the bodies' velocities of an answer."""
        return self.scaled.sliding_shift(self.jacobian @ z[: self.body_count] + self.bias)

    def start(self, impulse: Vector) -> Vector:
        """An answer to begin from: the bodies' velocities after the impulse."""
        x = self.scaled.unknown(impulse)
        v = np.linalg.solve(self.mass, self.momentum + self.jacobian.T @ x)
        y = np.where(self.row_of >= 0, x[self.row_of], 0.0)
        return np.concatenate([v, np.zeros(len(self.cost)), y])


def _shifted(layout: _Layout, shift: Vector, state: FixedPoint, sign: float) -> Reformulated:
    def update(z: Vector) -> Reformulated | None:
        following = state.advance(shift, layout.sliding_shift(z))
        return None if following is None else _shifted(layout, *following, sign)

    return Reformulated(
        layout.program(sign * shift),
        back=layout.impulse,
        start=layout.start,
        update=None if layout.scaled.problem.relaxed else update,
    )
