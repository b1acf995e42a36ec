"""Derivatives of one time step by its state, its controls and parameters of the scene.

The step ends where its own equations hold: momentum balance, velocities of its rows and their laws. The
implicit function theorem differentiates these (`equations`, `implicit`), never the iterations that solved
them.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from perp.compilation.kernel import kernel, part
from perp.derivatives.adjoint import backward
from perp.derivatives.contact_slopes import contact_slopes
from perp.derivatives.equations import HELD, TreeType, new_equations, pack_tree, tree_of
from perp.derivatives.errors import DerivativeError
from perp.derivatives.implicit import fold_bounds, forward
from perp.derivatives.islands import find_islands
from perp.derivatives.joint_slopes import joint_slopes
from perp.derivatives.laws import MODE_NAMES
from perp.derivatives.mujoco_forces import curved_transmissions, differences, others_act
from perp.derivatives.parameter_slopes import parameter_slopes
from perp.derivatives.parameters import Asked, asked_parameters, check_sizes
from perp.derivatives.smooth import smooth_slopes, unsettled
from perp.dynamics import libmujoco
from perp.dynamics.rows import LIMIT
from perp.problems.errors import ProblemError
from perp.scenes.engine import engine
from perp.stepping import Stepper
from perp.stepping.contact_rows import bounces
from perp.stepping.explaining import cause
from perp.stepping.pauses import recovery_of
from perp.stepping.settings import Softness
from perp.stepping.verdict import CAUSE, RESIDUAL, UNSOLVED
from perp.stepping.world import JOINTS, WorldType

# Overlap below this share of the scene's size counts as none.
_CLOSED = 1e-7
# Cause of a step that misses only how fast overlap is undone, as a bounce does: its equations hold.
_OVERLAP = 3
# What `_equations` says.
_READY, _STIFF, _UNSOLVED, _UNSETTLED, _LOOSE, _FOURTH = range(6)
_WHY_NOT = {
    _STIFF: "put positions right after velocities",
    _UNSOLVED: "was not solved",
    _UNSETTLED: "ended before its Coriolis forces settled",
    _FOURTH: "is one of integrator='RK4', which 'leapfrog' is not",
}
# How far Coriolis forces may be from those of the step's velocities, as shares of its speed, for a derivative
# that says so, and for one that does not: a step asks for the latter.
_WRONG, _SETTLED = 1e-3, 1e-6


@kernel(nogil=True)
def _equations(w, t, given, asked, every):
    """All equations of the step that a world has just taken.

    Returns:
        Why there are none, rows, in how many parts the drift was taken, the equations.
    """
    e = new_equations(w, t, given, asked[2], every)
    if w.stiff:
        return _STIFF, 0, 0, e
    if w.info[UNSOLVED]:
        return _UNSOLVED, 0, 0, e
    if w.parts == 0:
        return _FOURTH, 0, 0, e
    off = unsettled(w)
    if off > _WRONG:
        return _UNSETTLED, 0, 0, e
    smooth_slopes(w, t, e)
    joint_slopes(w, t, e)
    contact_slopes(w, t, e)
    parameter_slopes(w, t, e, asked[0], asked[1])
    e.bound = fold_bounds(e)
    find_islands(w, e)
    _find_switches(w, e)
    return _LOOSE if off > _SETTLED else _READY, e.J.shape[0], w.parts, e


def compile_equations() -> None:
    """Compile the largest kernel of derivatives before there is a step to differentiate."""
    from numba import types

    libmujoco.load()
    numbers, table = types.float64[::1], types.float64[:, ::1]
    asked = types.Tuple((types.int64[:, ::1], numbers, types.int64))
    _equations.compile((WorldType, TreeType, types.UniTuple(table, 6), asked, types.int64))


@part
def _find_switches(w, e):
    """Rows at a switch of what corrects them."""
    joints, small = w.count[JOINTS], _CLOSED * w.scene.size
    for c in range(e.mode.size):
        # at velocity level overlap is corrected otherwise than a gap is
        exact = False
        if c < joints:
            exact = not w.joints_at_end and w.law[c] == LIMIT and abs(w.value[c]) <= small
        elif not (w.start.restitution[c - joints] > 0.0 and bounces(w, c - joints)):
            # what bounces holds no gap; what overlaps gives back what it can in the step, and keeps the rest
            gap, deep = w.start.gap[c - joints], w.start.gap[c - joints] + w.sag[c - joints]
            exact = not w.contacts_at_end and abs(gap) <= small
            exact |= abs(deep + w.h * recovery_of(w, c) + w.start.accuracy[c - joints]) <= small
        e.degenerate[c] |= exact and e.impulse[e.start[c]] > 0.0


@kernel
def _verdict(e):
    """Mode of each constraint, and whether it is at a switch."""
    at_switch = np.zeros(e.mode.size, np.bool_)
    for c in range(e.mode.size):
        at_switch[c] = not e.left_out[c] and (e.margin[c] <= e.near[c] or e.degenerate[c])
    return e.mode, at_switch


@kernel
def _state(w):
    """Where the step began, with its controls and activations of its end; its length."""
    return (w.q.copy(), w.v.copy(), w.act.copy(), w.control.copy(), w.act_end.copy()), w.h


@kernel
def _held(e):
    return e.held, e.geom


def _lacking(stepper: Stepper) -> str:
    """Laws of coordinates that have no derivatives where joints are cut; empty where there are none."""
    if stepper.reduced:
        return ""
    m, tables, kinds = stepper.mujoco_model, stepper.tables, engine().mjtTrn
    straight = [int(kinds.mjTRN_JOINT), int(kinds.mjTRN_TENDON), int(kinds.mjTRN_BODY)]
    found = {
        "tendons": m.ntendon, "equalities of joints": len(tables["couple"]), "motors with a state": m.na,
        "forces of fluids and compensation of gravity": tables["passive"],
        "motors of other kinds": tables["other_output"].size,
        "motors whose lever changes": (~np.isin(m.actuator_trntype, straight)).any(),
    }  # fmt: skip
    return ", ".join(name for name, some in found.items() if some)


class StepDerivative:
    """Derivatives of a step in the tangent space: coordinates first, then velocities, then activations.

    They are computed when they are asked for: `vjp` alone costs less than the matrices.

    Attributes:
        one_sided: Which derivative is taken at a switch.
        smoothing: κ of a smoothed derivative, zero for the derivative itself.
    """

    one_sided = "the contact stays open, friction sticks, the row rests at its bound, shapes part"

    def __init__(
        self, equations: Any, sizes: tuple[int, ...], asked: Asked, words: Any, smoothing: float
    ) -> None:
        self.smoothing = smoothing
        self._equations, self._asked, self._words = equations, asked, words
        self._nv, self._na, self._nu, self._rows = sizes

    @cached_property
    def _whole(self) -> tuple[np.ndarray, np.ndarray, tuple[bool, bool, bool]]:
        lines, columns = 2 * self._nv + self._na, 2 * self._nv + self._na + self._nu + self._asked.columns
        whole, impulse = np.zeros((lines, columns)), np.zeros((self._rows, columns))
        *known, fine = forward(self._equations, self.smoothing, whole, impulse)
        self._check(fine)
        return whole, impulse, tuple(known)

    def _check(self, fine: bool) -> None:
        if not fine:
            raise DerivativeError(
                f"smoothing = {self.smoothing}: the central path was not found"
                if self.smoothing
                else "the equations of the step are singular: it has no derivative"
            )

    @property
    def A(self) -> np.ndarray:
        """By the state, shape (2 nv + na, 2 nv + na), as mujoco's `mjd_transitionFD` has it."""
        return self._whole[0][:, : 2 * self._nv + self._na]

    @property
    def B(self) -> np.ndarray:
        """By the controls, shape (2 nv + na, motors)."""
        first = 2 * self._nv + self._na
        return self._whole[0][:, first : first + self._nu]

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """By each asked parameter, shape (2 nv + na, size)."""
        columns = self._whole[0][:, 2 * self._nv + self._na + self._nu :]
        return {name: columns[:, of] for name, of in self._asked.slices}

    @property
    def impulse(self) -> np.ndarray:
        """Of the impulses by state, controls and parameters, in the order of the rows of the step."""
        return self._whole[1]

    def vjp(self, gradient: Any) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Gradients of a scalar by state, controls and parameters, from that by the state of the end."""
        n = 2 * self._nv + self._na
        g = np.ascontiguousarray(gradient, dtype=np.float64)
        if g.shape != (n,):
            raise ProblemError(f"gradient has shape {g.shape}: ({n},) is needed")
        out = np.empty(n + self._nu + self._asked.columns)
        self._check(backward(self._equations, self.smoothing, g, out))
        by_parameter = out[n + self._nu :]
        named = {name: by_parameter[of] for name, of in self._asked.slices}
        return out[:n], out[n : n + self._nu], named

    @cached_property
    def _modes(self) -> tuple[np.ndarray, np.ndarray]:
        return _verdict(self._equations)

    @property
    def mode(self) -> list[str]:
        """Of each row of joints and each contact."""
        return [MODE_NAMES[c] for c in self._modes[0]]

    @property
    def degenerate(self) -> np.ndarray:
        """Whether a constraint is at a switch of modes, shape (constraints,)."""
        return self._modes[1] & (self.smoothing == 0.0)

    @property
    def redundant(self) -> bool:
        """Whether impulses are not unique; their derivative is the one of least norm."""
        return self._whole[2][0]

    @property
    def velocity_unique(self) -> bool:
        """Whether velocities are unique: redundant contacts that slide may leave them open."""
        return self._whole[2][1]

    @property
    def consistent(self) -> bool:
        """Whether redundant constraints agree after a small change; otherwise some of them switch."""
        return self._whole[2][2]

    @cached_property
    def frozen(self) -> tuple[str, ...]:
        """What was held or is only approximate, in words: normals that cannot be differentiated."""
        names, others = self._words
        (held, pairs), out = _held(self._equations), list(others)
        for c in np.flatnonzero(held):
            pair = " on ".join(names(int(g)) for g in pairs[c])
            out += [word.format(pair=pair) for k, word in enumerate(HELD) if held[c] >> k & 1]
        return tuple(dict.fromkeys(out))


class StepDifferentiator:
    """Derivatives of the steps of one stepper: of the one it has just taken, or of one that it is given."""

    def __init__(self, stepper: Stepper) -> None:
        self.stepper, self.m = stepper, stepper.mujoco_model
        cut = not stepper.reduced
        self._fields = tree_of(stepper.world, self.m, cut=cut)
        self._tree = pack_tree(self._fields)
        self._asked: dict[tuple[str, ...], Asked] = {}
        self._data = engine().MjData(self.m) if not cut and others_act(self.m) else None
        self._held = () if cut else curved_transmissions(self.m)
        if stepper.settings.softness == Softness.FILE:
            self._held += ("softness of the file",)
        self._lacking = _lacking(stepper)
        nv, na, nu = stepper.sizes[1], stepper.sizes[2], stepper.world.control.size
        self._sizes = nv, na, nu
        # derivatives of what mujoco computes: none as a rule
        self._nothing = tuple(np.zeros(shape) for shape in ((0, 0),) * 5 + ((0, nu),))

    def next(
        self, state: Any, h: float, wrench: np.ndarray, parameters: Sequence[str] = (), smoothing: float = 0.0
    ) -> StepDerivative:
        """Of the step from a state; what the stepper remembers is kept."""
        memory = self.stepper.memory()
        try:
            self.stepper.step(state, h, wrench)
            return self.last(parameters, smoothing)
        finally:
            self.stepper.set_memory(memory)

    def last(self, parameters: Sequence[str] = (), smoothing: float = 0.0) -> StepDerivative:
        """Of the step that was just taken.

        Raises:
            DerivativeError: The step has no derivative: it misses its tolerance, or took positions apart.
        """
        if not smoothing >= 0.0 or smoothing == np.inf:
            raise ProblemError(f"smoothing = {smoothing!r}: a number from 0 on is needed")
        if self.stepper.settings.solver is not None:
            raise DerivativeError("only steps of the stepper's own solver have derivatives")
        if self._lacking:
            raise DerivativeError(
                f"{self._lacking} have no derivatives in maximal coordinates: take coordinates='reduced'"
            )
        w, names = self.stepper.world, tuple(parameters)
        why = cause(self.stepper, float(w.figure[RESIDUAL])) if w.info[CAUSE] else ""
        if why and w.info[CAUSE] != _OVERLAP:
            # its equations do not hold where it ended, and nothing follows from them there
            raise DerivativeError(f"the step misses its tolerance and has no derivative: {why}")
        asked = self._asked.get(names)
        if asked is None:
            asked = self._asked[names] = asked_parameters(self.stepper, names)
        numbers = asked.codes, asked.rest, asked.columns
        code, rows, parts, e = _equations(w.struct, self._tree, self._given(), numbers, int(smoothing > 0.0))
        if code in _WHY_NOT:
            raise DerivativeError(f"the step {_WHY_NOT[code]}: it has no derivative")
        words = (*self._held, why) if why else self._held
        if code == _LOOSE:
            words += ("Coriolis forces, which had not settled to a millionth of the speed",)
        if parts > 1 and asked.inertial and self.stepper.reduced:
            words += ("inertia in long turns, as if they were taken at once",)
        if asked.sizes:
            check_sizes(asked, self.m.geom_type, _held(e)[1])
        return StepDerivative(e, (*self._sizes, rows), asked, (self._name, words), float(smoothing))

    def _name(self, geom: int) -> str:
        return self.m.geom(geom).name or f"geom{geom}"

    def _given(self) -> tuple[np.ndarray, ...]:
        """Derivatives of what mujoco computes: zero as a rule."""
        if self._data is None:
            return self._nothing
        state, h = _state(self.stepper.world.struct)
        return differences(self.m, self._data, state, h)
