"""One world: its state, the problem of its next step, and all the room that a step needs.

A step allocates nothing but where contacts or rows outgrow their room. Everything is documented here, once;
kernels take the struct as `w`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.experimental import structref

from perp.compilation.kernel import kernel
from perp.dynamics.place import PlaceType
from perp.dynamics.scene_tables import F2, F3, I2, F, I, SceneType
from perp.kernels.arrays import fill
from perp.kernels.structs import StructType, address_of, set_fields, zeros
from perp.kernels.tree_newton import prepare
from perp.kernels.tree_problem import TreeProblem, TreeProblemType, problem_view
from perp.kernels.tree_workspace import WorkspaceType, tree_workspace, workspace_view
from perp.stepping.worlds import WorldsType

_i, _f = types.int64, types.float64

# Sizes of `info` and `figure`.
INFOS, FIGURES = 16, 32
# Name, type, and of arrays that are room the shape, in numbers of coordinates, freedoms, activations,
# controls, rows between bodies, all joint rows, contacts, bodies, bodies of mujoco (parents), trees, entries
# of M.
FIELDS: list[tuple[Any, ...]] = [
    ("scene", SceneType),
    ("start", PlaceType),
    ("end", PlaceType),
    ("problem", TreeProblemType),
    ("workspace", WorkspaceType),
    # state at the start: coordinates, velocities, activations, whole turns of joint rows; given controls and
    # wrenches
    ("q", F, ("q",)),
    ("v", F, ("v",)),
    ("act", F, ("act",)),
    ("turns", F, ("rows",)),
    ("control", F, ("control",)),
    ("wrench", F2, ("bodies", 6)),
    # state at the end; the velocity that moves the scene over the step is problem.velocity
    ("q_end", F, ("q",)),
    ("v_end", F, ("v",)),
    ("act_end", F, ("act",)),
    ("turns_end", F, ("rows",)),
    # smooth part: forces but Coriolis', what is added to the diagonal of M, factor of M in mujoco's layout,
    # velocity
    # after the forces, Coriolis' share δ of the moving velocity, room
    ("force", F, ("v",)),
    ("extra", F, ("v",)),
    ("factor", F, ("M",)),
    ("kick", F, ("v",)),
    ("delta", F, ("v",)),
    ("coriolis", F, ("v",)),
    # in how many parts the drift is taken, none in a step of fourth order; where it is not one, what the
    # velocity of the end has over the moving one
    ("gained", F, ("v",)),
    ("parts", _i),
    ("weight", F, ("v",)),
    ("guess", F, ("v",)),
    ("twist", F2, ("parents", 6)),
    ("body_velocity", F2, ("bodies", 6)),
    # joint rows of the step, the first j_count: group and index of each (see `scalar_tables`), law, value at
    # the
    # start, constant part of the value over the step, force F₀ of drives, their stiffness and gain K, share
    # of the
    # compliance, bounds of the force
    ("group", I, ("joints",)),
    ("index", I, ("joints",)),
    ("law", I, ("joints",)),
    ("value", F, ("joints",)),
    ("linear", F, ("joints",)),
    ("drive", F, ("joints",)),
    ("stiffness", F, ("joints",)),
    ("gain", F, ("joints",)),
    # values and Jacobians of the rows between bodies at the start and the end
    ("table_value", F, ("rows",)),
    ("table_row", F2, ("rows", 12)),
    ("table_value_end", F, ("rows",)),
    ("table_row_end", F2, ("rows", 12)),
    # rotors of cut joints: rate of each at the start
    ("rotor_rate", F, ("rotors",)),
    # contacts of the step: points where impulses act and whose distance is the gap, in bodies and at the
    # start
    ("acts", F3, ("contacts", 2, 3)),
    ("local", F3, ("contacts", 2, 3)),
    ("carried", F3, ("contacts", 2, 3)),
    # how far above midway between the surfaces impulses act, in gaps
    ("height", F, ("contacts",)),
    # constant part of the gap over the step, speed of approach, restitution in force, whether a row is left
    # out
    ("gap_linear", F, ("contacts",)),
    ("approach", F, ("contacts",)),
    ("bounce", F, ("contacts",)),
    ("left_out", I, ("contacts",)),
    # normals and gaps of the start where normals turn, errors of their rows, whether they were turned
    ("normal0", F2, ("contacts", 3)),
    ("gap0", F, ("contacts",)),
    ("off", F, ("contacts",)),
    ("turned", I, ("contacts",)),
    # whose face or edges a normal belongs to, and that normal or those edges in the frames of their bodies
    ("facing", I, ("contacts",)),
    ("facet", F3, ("contacts", 2, 3)),
    # restitution: bounds of its scale with the energies gained there, and the scale; shape (contacts, 5)
    ("lively", F2, ("contacts", 5)),
    # carried points of one contact of the end, there and back at the start, shape (2, 3); its gap there
    ("end_carried", F2, (2, 3)),
    ("end_back", F2, (2, 3)),
    ("end_gap", F, (1,)),
    # impulses of the last step as forces: joint rows by identity; contacts: shapes, carried points
    # in their bodies, force and torque
    ("old_joint", F, ("joints",)),
    ("old_count", I, (1,)),
    ("old_geom", I2, (0, 2)),
    ("old_local", F3, (0, 2, 3)),
    ("old_force", F3, (0, 2, 3)),
    # options
    ("h", _f),
    ("tolerance", _f),
    # share of an error that velocity level removes in a step (Υ) and displacement per force (Σ): of contacts,
    # and of joint rows by identity; whether any contact gives way, how far each has; whether Υ is in force
    ("contact_correction", _f),
    ("contact_compliance", _f),
    ("row_correction", F, ("joints",)),
    ("row_compliance", F, ("joints",)),
    ("gives", _i),
    ("sag", F, ("contacts",)),
    ("corrected", _i),
    ("joints_at_end", _i),
    ("contacts_at_end", _i),
    ("newton_steps", _i),
    ("rounds", _i),
    # whether joints are held by velocities first, and positions are then put right without a change of them
    ("stiff", _i),
    # scales of velocities and positions
    ("speed", _f),
    ("length", _f),
    # joint rows, contacts, those found at the end of the step, whether any step has ended without overlap …:
    # see JOINTS …; then two for each tree, see PAUSES
    ("count", I, ("counts",)),
    # what a step did and how well, see `finish`; outcome of a solve
    ("info", I, (INFOS,)),
    ("figure", F, (FIGURES,)),
    ("solve_info", I, (4,)),
    ("solve_worst", F, (1,)),
    # factor of M at the end, and the velocities that the rates of rotors belong to
    ("factor_end", F, ("M",)),
    ("rotor_v", F, ("v",)),
    # where the step is, see `course`; the answer whose rows were nearest to holding at the end, and how near
    ("course", I, (13,)),
    ("near_velocity", F, ("v",)),
    ("near_impulse", F, ("problem_rows",)),
    ("nearest", _f),
    # settings that a step may leave for a while: levels and speed of recovery; whether a solver
    # of `perp.solve` is asked for, and whether joints may be held in two stages
    ("level", I, (2,)),
    ("recovery_speed", _f),
    ("foreign", _i),
    ("two_stages", _i),
    # whether motion on which no row acts is of fourth order
    ("fourth", _i),
    # sleep, see `sleeping`: seconds at rest before it (0 for never), those of each tree, islands of sleepers,
    # wrenches of the last step; tree of each body and where the coordinates of a tree begin
    ("sleep", _f),
    ("still_time", F, ("trees",)),
    ("sleep_island", I),
    ("sleep_wrench", F2, ("bodies", 6)),
    ("body_tree", I),
    ("tree_q", I),
    # room: a row over freedoms, one over those of cut bodies, whether a body is in that
    ("freedom", I, ("freedoms",)),
    ("entry", F, ("entries",)),
    ("spread", F, ("v",)),
    ("spread_over", I, ("bodies",)),
    # speed at which each tree undoes overlap in this step, whether its island is without an answer
    ("undoing", F, ("trees",)),
    ("stuck", I, ("trees",)),
    # a chunk of many worlds that are stepped one after the other as this one; empty but for `many_steps`
    ("worlds", WorldsType),
]
WorldType = StructType([field[:2] for field in FIELDS])
JOINTS, CONTACTS, LATE, ROTORS, CLEAN, ALONG = range(6)
# Where `count` has, of each tree in turn, the steps that its pause has left and the length of its last one.
PAUSES, LAST_PAUSES = 6, 7
# Where `info` counts the contacts that no freedom can open, and whether `end` has the poses (1) and motions
# (2) of its coordinates; see `verdict` for the rest.
LEFT_OUT, PLACED = 5, 11
# What a contact's normal belongs to: nothing that turns, the face of a side (0 or 1), two edges.
FIXED, EDGES = -1, 2
# Rows that the velocities of contacts are measured along in rounds of a step.
START_ROWS, END_ROWS, START_ROWS_ONLY = range(3)


@kernel
def pack_world(x):
    """The struct of a tuple of all fields but the last."""
    w = structref.new(WorldType)  # pyright: ignore[reportCallIssue]
    set_fields(w, x)
    w.worlds = structref.new(WorldsType)  # pyright: ignore[reportCallIssue]
    return w


@kernel
def _address(w):
    return address_of(w)


@kernel
def _replace_problem(w, problem, workspace, near_impulse):
    w.problem, w.workspace, w.near_impulse = problem, workspace, near_impulse


@kernel
def set_worlds(w, worlds):
    """The chunk that is stepped next."""
    w.worlds = worlds


@kernel
def _measure(problem, workspace):
    return prepare(problem_view(problem), workspace_view(workspace))


@kernel
def _set_options(w, numbers, flags):
    w.h, w.tolerance, w.recovery_speed, w.sleep, w.contact_correction, w.contact_compliance = numbers
    w.corrected = 1
    (w.joints_at_end, w.contacts_at_end, w.newton_steps, w.rounds, w.foreign, w.two_stages, w.gives,
     w.fourth) = flags  # fmt: skip
    w.level[0], w.level[1] = w.joints_at_end, w.contacts_at_end
    fill(w.course, 0)


class World:
    """The arrays of a world by name, and the struct that kernels take.

    Args:
        tables: Of the scene, by name.
        scene: Its struct.
        places: Structs of two places.
        tree_size: Freedoms of each tree.
        coordinates: Number of coordinates.
        activations, controls: Numbers of them.
    """

    def __init__(
        self,
        tables: dict[str, Any],
        scene: Any,
        places: tuple[Any, Any],
        tree_size: np.ndarray,
        coordinates: int,
        activations: int,
        controls: int,
    ) -> None:
        n, nv, rows = tables["mass"].size, int(tree_size.sum()), tables["law"].size
        joints = int(tables["identity_base"][-1])
        self._tree_size, self._tables = tree_size, tables
        self.width = self._width(tables, nv)
        self._entries = self._joint_entries(tables, nv)
        self.joints = joints
        self.problem = TreeProblem(tree_size, joints + 64, joints + 192, self._entries + 192 * self.width)
        sizes = {
            "q": coordinates, "v": nv, "act": activations, "control": controls, "rows": rows,
            "joints": joints, "contacts": 64, "bodies": n, "parents": tables["body_parent"].size,
            "trees": tree_size.size, "M": tables["M_column"].size, "problem_rows": self.problem.bias.size,
            "counts": PAUSES + 2 * tree_size.size, "rotors": tables["rotor_dof"].size,
            "freedoms": max(3, tables["dof_body"].size), "entries": max(7, tables["dof_body"].size),
        }  # fmt: skip
        values: dict[str, Any] = {
            name: zeros(kind, of[0], sizes) if of else 0.0 if kind == _f else 0 for name, kind, *of in FIELDS
        }
        values |= {
            "scene": scene, "start": places[0], "end": places[1], "problem": self.problem.struct,
            "workspace": tree_workspace(self.problem), "sleep_island": np.arange(tree_size.size),
            "body_tree": tables["body_tree"], "tree_q": tables["tree_q"],
        }  # fmt: skip
        self.struct = pack_world(tuple(values[field[0]] for field in FIELDS[:-1]))
        self.address = _address(self.struct)
        self.workspace: Any = values["workspace"]
        self.control: np.ndarray = values["control"]
        self.wrench: np.ndarray = values["wrench"]
        self.count: np.ndarray = values["count"]
        self.info: np.ndarray = values["info"]
        self.figure: np.ndarray = values["figure"]
        self.solve_info: np.ndarray = values["solve_info"]
        self.solve_worst: np.ndarray = values["solve_worst"]
        self.course: np.ndarray = values["course"]
        self.row_correction: np.ndarray = values["row_correction"]
        self.row_compliance: np.ndarray = values["row_compliance"]
        self.still_time: np.ndarray = values["still_time"]
        self.sleep_island: np.ndarray = values["sleep_island"]
        self.sleep_wrench: np.ndarray = values["sleep_wrench"]

    @staticmethod
    def _width(tables: dict[str, Any], nv: int) -> int:
        """Entries of a row between two bodies at most."""
        parent, depth = tables["dof_parent"], np.zeros(nv, dtype=np.int64)
        for j in range(nv):
            depth[j] = 1 + (depth[parent[j]] if parent[j] >= 0 else 0)
        return max(1, min(nv, 2 * int(depth.max(initial=0))))

    def _joint_entries(self, tables: dict[str, Any], nv: int) -> int:
        """Entries of all joint rows at most."""
        single = 2 * tables["limit_at"].size + 3 * tables["ball_at"].size + tables["rub_dof"].size
        single += tables["yield_dof"].size + tables["rotor_dof"].size
        whole = 4 * tables["tendon_count"].size + len(tables["couple"]) + tables["motor_output"].size
        return (tables["law"].size + single) * self.width + nv * whole

    def grow(self, constraints: int, rows: int, entries: int) -> None:
        """Twice the room that is needed."""
        self.problem = TreeProblem(self._tree_size, 2 * constraints, 2 * rows, 2 * entries)
        self.workspace = tree_workspace(self.problem)
        _replace_problem(self.struct, self.problem.struct, self.workspace, np.zeros(2 * rows))

    def measure(self) -> None:
        """Mobilities of the constraints and islands, where another solver than the kernel was at work."""
        self.solve_info[0] = _measure(self.problem.struct, self.workspace)

    def set_options(self, step: float, settings: Any, two_stages: bool, fourth: bool) -> None:
        """Length of the step and what the settings say."""
        joints, contacts = settings.at_end
        numbers = (
            step, settings.tolerance, settings.recovery_speed, settings.sleep, settings.contact_correction,
            settings.contact_compliance,
        )  # fmt: skip
        flags = (
            joints, contacts, settings.newton_steps, settings.rounds, settings.solver is not None,
            two_stages and joints, settings.contacts_give, fourth,
        )  # fmt: skip
        _set_options(self.struct, tuple(map(float, numbers)), tuple(map(int, flags)))
