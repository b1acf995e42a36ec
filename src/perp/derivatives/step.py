"""Derivatives of one time step by its state, its controls and parameters of the scene.

The step ends where its own equations hold: momentum balance G(q, v, u; v̄, λ) = 0, velocities U of its rows
and their laws. The implicit function theorem differentiates these, never the iterations that solved them:

    G_v dv̄ − Jᵀ dλ + G_θ dθ = 0,   du = U_v dv̄ + Σ dλ + U_θ dθ,   B dλ + C du + D dp = 0
    dq⁺ = P dq + h Q dv̄,           M̃⁺ dv⁺ = … (`smooth`)

Redundant rows leave impulses that are not unique; the change of least norm has the velocities of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.derivatives.errors import DerivativeError
from perp.derivatives.forces import Slopes, add_motors, add_mujoco_forces, add_scalar_rows
from perp.derivatives.laws import MODE_NAMES, REST, UPPER, law_modes
from perp.derivatives.rows_of_step import StepContacts, Ways, add_joint_rows
from perp.derivatives.smooth import Smooth, smooth_part
from perp.derivatives.structure import Structure
from perp.derivatives.tree_dynamics import add_carried
from perp.derivatives.world_view import WorldView
from perp.dynamics.actuators import actuator_tables
from perp.dynamics.rows import LIMIT
from perp.dynamics.scalar_tables import scalar_tables
from perp.scenes.engine import engine
from perp.stepping.settings import Softness
from perp.stepping.verdict import UNSOLVED

if TYPE_CHECKING:
    from perp.stepping import Stepper

# Velocities below this share of the step's speed within which a mode counts as at a switch.
DEGENERATE = 1e-6
# Reciprocal condition below which rows are taken for redundant, and the share of singular values that counts.
_CONDITION, _RANK = 1e-12, 1e-9


@dataclass(frozen=True)
class StepDerivative:
    """Derivatives of a step in the tangent space: coordinates first, then velocities, then activations.

    Attributes:
        A: By the state, shape (2 nv + na, 2 nv + na), as mujoco's `mjd_transitionFD` has it.
        B: By the controls, shape (2 nv + na, motors).
        parameters: By each asked parameter, shape (2 nv + na, size).
        impulse: Of the impulses by state, controls and parameters, in the order of the rows of the step.
        mode: Of each row of joints and each contact.
        degenerate: Whether it is at a switch of modes, shape (constraints,).
        one_sided: Which derivative is taken at a switch.
        frozen: What was held or is only approximate, in words: normals that cannot be differentiated.
        redundant: Whether impulses are not unique; their derivative is the one of least norm.
    """

    A: np.ndarray
    B: np.ndarray
    parameters: dict[str, np.ndarray]
    impulse: np.ndarray
    mode: list[str]
    degenerate: np.ndarray
    one_sided: str
    frozen: tuple[str, ...]
    redundant: bool

    def vjp(self, gradient: Any) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Gradients of a scalar by state, controls and parameters, from that by the state of the end."""
        g = np.asarray(gradient, float)
        return self.A.T @ g, self.B.T @ g, {name: J.T @ g for name, J in self.parameters.items()}


class StepDifferentiator:
    """Derivatives of the steps of one stepper.

    Args:
        stepper: It has just taken the step to differentiate, and nothing has been done with it since.
    """

    def __init__(self, stepper: Stepper) -> None:
        self.stepper = stepper
        self.m = stepper.mujoco_model
        model, reduced = stepper.model, stepper.reduced
        flags = int(model.shapes.opt.disableflags)
        self.tables = scalar_tables(self.m, flags, model.shapes, stepper.table.law.size, cut=not reduced)
        self.tables |= actuator_tables(self.m, cut=not reduced)
        self.data = engine().MjData(self.m)
        self._structure: Structure | None = None

    def next(
        self, state: Any, h: float, wrench: np.ndarray, parameters: Sequence[str] = ()
    ) -> tuple[StepDerivative, Any]:
        """Of the step from a state, and the state that it leads to; what the stepper remembers is kept."""
        memory = self.stepper.memory()
        try:
            after, _ = self.stepper.step(state, h, wrench)
            return self.last(parameters), after
        finally:
            self.stepper.set_memory(memory)

    def last(self, parameters: Sequence[str] = ()) -> StepDerivative:
        """Of the step that was just taken.

        Raises:
            DerivativeError: The step has no derivative: it was not solved, or took positions apart.
        """
        view = WorldView.of(self.stepper.world)
        self._check(view)
        if self._structure is None:
            self._structure = Structure.of(view, self.m)
        return _Solve(self, view, self._structure).result(parameters)

    def _check(self, view: WorldView) -> None:
        if view.numbers["stiff"]:
            raise DerivativeError("the step put positions right after velocities: it has no derivative")
        if view.world.info[UNSOLVED]:
            raise DerivativeError("the step was not solved: it has no derivative")
        if self.stepper.settings.solver is not None:
            raise DerivativeError("only steps of the stepper's own solver have derivatives")


class _Solve:
    """One step: its equations, their solution."""

    def __init__(self, owner: StepDifferentiator, view: WorldView, structure: Structure) -> None:
        self.owner, self.view, self.structure = owner, view, structure
        self.ways = Ways.of(view, structure)
        p, w = view.problem, view.world
        self.nv, self.rows = view.freedoms, int(p.count[1])
        self.constraints = int(p.count[0])
        cut = structure.cut
        self.na = 0 if cut else int(w.act.size)
        self.nu = len(owner.stepper.motor_names)
        self.smooth: Smooth = smooth_part(view, structure, owner.m, self.ways.S, self.ways.E)
        self.slopes = slopes = Slopes.empty(self.nv, self.rows, self.na, self.nu)
        slopes.Gq += self.smooth.by_q
        slopes.Gv += self.smooth.by_v
        slopes.Go += self.smooth.by_old
        add_mujoco_forces(view, structure, owner.m, owner.data, slopes)
        self._wrenches()
        if not cut:
            add_motors(view, owner.tables, slopes)
            add_scalar_rows(view, owner.tables, slopes)
        add_joint_rows(view, structure, self.ways, slopes)
        StepContacts(view, structure, self.ways, owner.m, owner.stepper.model.geom_body).add(slopes)
        if cut:
            self._cut_controls()
        self._linear_system()

    def _wrenches(self) -> None:
        """External forces are fixed in the world and act at centres of mass that move."""
        view, structure = self.view, self.structure
        h = view.numbers["h"]
        for b in np.flatnonzero(np.abs(view.world.wrench).any(axis=1)):
            f, t, x = view.world.wrench[b, :3], view.world.wrench[b, 3:], view.start.x[b]
            end = int(structure.last_dof[b])
            W = h * np.concatenate([np.cross(x, f) + t, f])
            add_carried(
                self.ways.S, structure.parent, structure.before, structure.last, end, -W,
                structure.siblings, self.slopes.Gq,
            )  # fmt: skip
            path = structure.path(end)
            for j in path:
                moved = self.ways.S[j, 3:] + np.cross(self.ways.S[j, :3], x)
                for k in path:
                    self.slopes.Gq[k, j] -= h * float(self.ways.S[k, :3] @ np.cross(moved, f))

    def _cut_controls(self) -> None:
        """Motors of cut joints are rows between bodies whose target, rate or force is given."""
        from perp.dynamics.rows import DAMPING, FORCE, RATE, STIFFNESS

        stepper, view, h = self.owner.stepper, self.view, self.view.numbers["h"]
        w, s = view.world, view.scene
        row_of = {int(w.index[k]): k for k in range(int(w.count[0])) if w.group[k] == 0}
        for i, motor in enumerate(stepper.model.motors):
            line = int(stepper.table.motor_row[i])
            par = s.parameters[line]
            control = float(motor.control)
            step = 1e-6 * max(1.0, abs(control))
            slope = (motor.asked(control + step) - motor.asked(control - step)) / (2 * step)
            if s.law[line] == FORCE:
                row = w.table_row[line]
                for side in range(2):
                    b = int(s.links[line, 1 + side])
                    if b < 0:
                        continue
                    f, t = row[6 * side : 6 * side + 3], row[6 * side + 3 : 6 * side + 6]
                    W = np.concatenate([np.cross(view.start.x[b], f) + t, f])
                    for j in self.structure.path(int(self.structure.last_dof[b])):
                        self.slopes.Gu[j, i] -= h * slope * float(self.ways.S[j] @ W)
                continue
            k = row_of[line]
            gain = float(w.gain[k])
            rate = motor.kind.name == "VELOCITY"
            if gain < 1e300:
                by = par[DAMPING] if rate else par[STIFFNESS]
                self.slopes.Uu[k, i] -= h * by * slope / gain
            elif rate:
                self.slopes.Uu[k, i] -= slope
        _ = RATE

    def _linear_system(self) -> None:
        """The equations in v̄ and λ, with the end of the step eliminated."""
        slopes, p, h = self.slopes, self.view.problem, self.view.numbers["h"]
        v = np.array(p.velocity)
        self.P, self.Q = self.structure.kinematic_map(v, h)
        reach = h * self.Q
        self.Gv = slopes.Gv + slopes.Gp @ reach
        self.Uv = slopes.Uv + slopes.Up @ reach
        self.by_state = np.hstack([slopes.Gq + slopes.Gp @ self.P, slopes.Go, slopes.Ga, slopes.Gu])
        self.rows_by_state = np.hstack([slopes.Uq + slopes.Up @ self.P, slopes.Uo, slopes.Ua, slopes.Uu])
        self.J = np.zeros((self.rows, self.nv))
        for i in range(self.rows):
            a, b = int(p.row_begin[i]), int(p.row_begin[i + 1])
            self.J[i, p.column[a:b]] = p.value[a:b]
        compliance = np.array(p.compliance[: self.rows])
        self.inverse = np.linalg.inv(self.Gv)
        self.W = self.Uv @ self.inverse @ self.J.T + np.diag(compliance)
        self._laws()

    def _laws(self) -> None:
        view, p = self.view, self.view.problem
        n = self.constraints
        self.start = np.array(p.start[: n + 1])
        start, kind = np.array(p.start[: n + 1]), np.array(p.kind[:n])
        diagonal = np.abs(np.diag(self.W)) if self.rows else np.zeros(0)
        mobility = np.ones((n, 3))
        for c in range(n):
            a, b = int(start[c]), int(start[c + 1])
            mobility[c, 0] = diagonal[a] or 1.0
            mobility[c, 1] = diagonal[a + 1 : min(b, a + 3)].mean() if b > a + 1 else mobility[c, 0]
            mobility[c, 2] = diagonal[a + 3 : b].mean() if b > a + 3 else mobility[c, 1]
        mobility[mobility == 0.0] = 1.0
        near = np.full(n, DEGENERATE * view.numbers["speed"])
        impulse = np.array(p.impulse[: self.rows])
        self.impulse_at = impulse
        self.code, margin, self.B, self.C, self.D = law_modes(
            kind,
            start,
            np.array(p.parameter[:n]),
            mobility,
            impulse,
            np.array(p.row_velocity[: self.rows]),
            near,
        )
        self.left_out = np.zeros(n, bool)
        joints = int(view.world.count[0])
        self.left_out[joints:] = np.array(view.world.left_out[: n - joints]) != 0
        self.degenerate = ((margin <= near) | self._at_corrections()) & ~self.left_out

    def _approximate(self) -> list[str]:
        """What the equations of the step have only nearly."""
        numbers, settings = self.view.numbers, self.owner.stepper.settings
        inertia = np.array(self.view.scene.inertia)
        turns = numbers["parts"] > 1 and not (inertia == inertia[:, :1]).all()
        return ["long turns, as if taken at once"] * turns + ["softness of the file"] * (
            settings.softness == Softness.FILE
        )

    def _at_corrections(self) -> np.ndarray:
        """Rows at velocity level that are exactly closed: overlap is corrected otherwise than a gap is."""
        view, n = self.view, self.constraints
        w, joints = view.world, int(view.world.count[0])
        out = np.zeros(n, bool)
        small = 1e-9 * float(view.scene.size)
        pushed = self.impulse_at[self.start[:-1]] > 0.0 if n else out
        if not view.numbers["contacts_at_end"]:
            out[joints:] = (np.abs(view.contacts.gap[: n - joints]) <= small) & pushed[joints:]
        if not view.numbers["joints_at_end"]:
            limit = np.array(w.row_law[:joints]) == LIMIT
            out[:joints] = limit & (np.abs(w.value[:joints]) <= small) & pushed[:joints]
        return out

    def result(self, parameters: Sequence[str]) -> StepDerivative:
        """All derivatives."""
        from perp.derivatives.parameters import parameter_columns

        asked = parameter_columns(self, parameters)
        G = np.hstack([self.by_state, *(column.G for column in asked)])
        U = np.hstack([self.rows_by_state, *(column.U for column in asked)])
        Dp = np.hstack([np.zeros((self.rows, self.by_state.shape[1])), *(column.D for column in asked)])
        dv, dx, redundant = self._solved(G, U, Dp)
        whole = self._end(dv, asked)
        n, nv = 2 * self.nv + self.na, self.nv
        widths = np.cumsum([n + self.nu, *(column.G.shape[1] for column in asked)])
        named = {
            column.name: whole[:, a:b] for column, a, b in zip(asked, widths[:-1], widths[1:], strict=True)
        }
        _ = nv
        return StepDerivative(
            whole[:, :n], whole[:, n : n + self.nu], named, dx, [MODE_NAMES[c] for c in self.code],
            self.degenerate, "the contact stays open, friction sticks, the row rests at its bound",
            tuple(dict.fromkeys([*self.slopes.frozen, *self._approximate()])), redundant,
        )  # fmt: skip

    def _solved(self, G: np.ndarray, U: np.ndarray, D: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        """dv̄ and dλ for all columns."""
        free = -self.inverse @ G
        dx = np.zeros((self.rows, G.shape[1]))
        if not self.rows:
            return free, dx, False
        r = U + self.Uv @ free
        fixed = np.isin(self.code, (REST, UPPER - 1, UPPER, 5)) | self.left_out
        owner = np.repeat(np.arange(self.constraints), np.diff(self.start))
        still, active = fixed[owner], ~fixed[owner]
        diagonal = np.diag(self.B)
        gone = np.repeat(self.left_out, np.diff(self.start))
        safe = np.where(diagonal[still] != 0.0, diagonal[still], 1.0)
        dx[still] = -D[still] / safe[:, None]
        dx[gone] = 0.0
        redundant = False
        if active.any():
            at = np.ix_(active, active)
            C = self.C[at]
            A = self.B[at] + C @ self.W[at]
            right = -(C @ (r[active] + self.W[np.ix_(active, still)] @ dx[still]) + D[active])
            dx[active], redundant = _least_norm(A, right)
        return free + self.inverse @ (self.J.T @ dx), dx, redundant

    def _end(self, dv: np.ndarray, asked: list[Any]) -> np.ndarray:
        """State of the end by all columns."""
        smooth, nv, h = self.smooth, self.nv, self.view.numbers["h"]
        dq = h * self.Q @ dv
        dq[:, :nv] += self.P
        right = smooth.end_v @ dv + smooth.end_p @ dq
        right[:, :nv] += smooth.end_q
        change = np.array(self.view.world.v_end) - np.array(self.view.problem.velocity)
        at = 2 * nv
        right[:, at : at + self.na] -= change[:, None] * self.slopes.extra_a
        right[:, at + self.na : at + self.na + self.nu] -= change[:, None] * self.slopes.extra_u
        at += self.na + self.nu
        for column in asked:
            width = column.G.shape[1]
            right[:, at : at + width] += column.end
            at += width
        final = np.linalg.solve(smooth.end_mass, right)
        act = np.zeros((self.na, dv.shape[1]))
        act[:, 2 * nv : 2 * nv + self.na] = self.slopes.act_a
        act[:, 2 * nv + self.na : 2 * nv + self.na + self.nu] = self.slopes.act_u
        return np.vstack([dq, final, act])


def _least_norm(A: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, bool]:
    """A⁻¹ right, or the answer of least norm where A is singular; whether it is."""
    from scipy.linalg import lapack

    dgetrf, dgetrs, dgecon = (getattr(lapack, name) for name in ("dgetrf", "dgetrs", "dgecon"))
    scale = 1.0 / np.maximum(np.abs(A).max(axis=1), 1e-300)
    weighed = scale[:, None] * A
    lu, pivots, info = dgetrf(weighed)
    if info == 0:
        rcond, _ = dgecon(lu, float(np.abs(weighed).sum(axis=0).max()))
        if rcond > _CONDITION:
            return dgetrs(lu, pivots, scale[:, None] * right)[0], False
    u, s, vt = np.linalg.svd(weighed)
    kept = s > _RANK * s.max(initial=0.0)
    return (vt[kept].T / s[kept]) @ (u[:, kept].T @ (scale[:, None] * right)), True
