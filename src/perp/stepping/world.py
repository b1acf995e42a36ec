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
from perp.kernels.structs import StructType, address_of
from perp.kernels.tree_newton import prepare
from perp.kernels.tree_problem import TreeProblem, TreeProblemType, problem_view
from perp.kernels.tree_workspace import WorkspaceType, tree_workspace, workspace_view
from perp.stepping.worlds import WorldsType

_i, _f = types.int64, types.float64

FIELDS = [
    ("scene", SceneType),
    ("start", PlaceType),
    ("end", PlaceType),
    ("problem", TreeProblemType),
    ("workspace", WorkspaceType),
    # state at the start: coordinates, velocities, activations, whole turns of joint rows; given controls and
    # wrenches
    ("q", F),
    ("v", F),
    ("act", F),
    ("turns", F),
    ("control", F),
    ("wrench", F2),
    # state at the end; the velocity that moves the scene over the step is problem.velocity
    ("q_end", F),
    ("v_end", F),
    ("act_end", F),
    ("turns_end", F),
    # smooth part: forces but Coriolis', what is added to the diagonal of M, factor of M in mujoco's layout,
    # velocity
    # after the forces, Coriolis' share δ of the moving velocity, room
    ("force", F),
    ("extra", F),
    ("factor", F),
    ("kick", F),
    ("delta", F),
    ("coriolis", F),
    # in how many parts the drift is taken, none in a step of fourth order; where it is not one, what the
    # velocity of the end has over the moving one
    ("gained", F),
    ("parts", _i),
    ("weight", F),
    ("guess", F),
    ("twist", F2),
    ("body_velocity", F2),
    # joint rows of the step, the first j_count: group and index of each (see `scalar_tables`), law, value at
    # the
    # start, constant part of the value over the step, force F₀ of drives, their stiffness and gain K, share
    # of the
    # compliance, bounds of the force
    ("group", I),
    ("index", I),
    ("law", I),
    ("value", F),
    ("linear", F),
    ("drive", F),
    ("stiffness", F),
    ("gain", F),
    # values and Jacobians of the rows between bodies at the start and the end
    ("table_value", F),
    ("table_row", F2),
    ("table_value_end", F),
    ("table_row_end", F2),
    # rotors of cut joints: rate of each at the start
    ("rotor_rate", F),
    # contacts of the step: points where impulses act and whose distance is the gap, in bodies and at the
    # start
    ("acts", F3),
    ("local", F3),
    ("carried", F3),
    # how far above midway between the surfaces impulses act, in gaps
    ("height", F),
    # constant part of the gap over the step, speed of approach, restitution in force, whether a row is left
    # out
    ("gap_linear", F),
    ("approach", F),
    ("bounce", F),
    ("left_out", I),
    # normals and gaps of the start where normals turn, errors of their rows, whether they were turned
    ("normal0", F2),
    ("gap0", F),
    ("off", F),
    ("turned", I),
    # whose face or edges a normal belongs to, and that normal or those edges in the frames of their bodies
    ("facing", I),
    ("facet", F3),
    # restitution: bounds of its scale with the energies gained there, and the scale; shape (contacts, 5)
    ("lively", F2),
    # carried points of one contact of the end, there and back at the start, shape (2, 3); its gap there
    ("end_carried", F2),
    ("end_back", F2),
    ("end_gap", F),
    # impulses of the last step as forces: joint rows by identity; contacts: shapes, carried points
    # in their bodies, force and torque
    ("old_joint", F),
    ("old_count", I),
    ("old_geom", I2),
    ("old_local", F3),
    ("old_force", F3),
    # options
    ("h", _f),
    ("tolerance", _f),
    # share of an error that velocity level removes in a step (Υ) and displacement per force (Σ): of contacts,
    # and of joint rows by identity; whether any contact gives way, how far each has; whether Υ is in force
    ("contact_correction", _f),
    ("contact_compliance", _f),
    ("row_correction", F),
    ("row_compliance", F),
    ("gives", _i),
    ("sag", F),
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
    ("count", I),
    # what a step did and how well, see `finish`; outcome of a solve
    ("info", I),
    ("figure", F),
    ("solve_info", I),
    ("solve_worst", F),
    # factor of M at the end, and the velocities that the rates of rotors belong to
    ("factor_end", F),
    ("rotor_v", F),
    # where the step is, see `course`; the answer whose rows were nearest to holding at the end, and how near
    ("course", I),
    ("near_velocity", F),
    ("near_impulse", F),
    ("nearest", _f),
    # settings that a step may leave for a while: levels and speed of recovery; whether a solver
    # of `perp.solve` is asked for, and whether joints may be held in two stages
    ("level", I),
    ("recovery_speed", _f),
    ("foreign", _i),
    ("two_stages", _i),
    # whether motion on which no row acts is of fourth order
    ("fourth", _i),
    # sleep, see `sleeping`: seconds at rest before it (0 for never), those of each tree, islands of sleepers,
    # wrenches of the last step; tree of each body and where the coordinates of a tree begin
    ("sleep", _f),
    ("still_time", F),
    ("sleep_island", I),
    ("sleep_wrench", F2),
    ("body_tree", I),
    ("tree_q", I),
    # room: a row over freedoms, one over those of cut bodies, whether a body is in that
    ("freedom", I),
    ("entry", F),
    ("spread", F),
    ("spread_over", I),
    # speed at which each tree undoes overlap in this step, whether its island is without an answer
    ("undoing", F),
    ("stuck", I),
    # a chunk of many worlds that are stepped one after the other as this one; empty but for `many_steps`
    ("worlds", WorldsType),
]
WorldType = StructType(FIELDS)
JOINTS, CONTACTS, LATE, ROTORS, CLEAN, ALONG = range(6)
# Where `count` has, of each tree in turn, the steps that its pause has left and the length of its last one.
PAUSES, LAST_PAUSES = 6, 7
# Where `info` counts the contacts that no freedom can open, and whether `end` has the poses (1) and motions
# (2) of its coordinates; see `verdict` for the rest.
LEFT_OUT, PLACED = 5, 11
# Sizes of `info` and `figure`.
INFOS, FIGURES = 16, 32
# What a contact's normal belongs to: nothing that turns, the face of a side (0 or 1), two edges.
FIXED, EDGES = -1, 2
# Rows that the velocities of contacts are measured along in rounds of a step.
START_ROWS, END_ROWS, START_ROWS_ONLY = range(3)


@kernel
def pack_world(x):
    """The struct of a tuple of the fields in their order."""
    w = structref.new(WorldType)  # pyright: ignore[reportCallIssue]
    (w.scene, w.start, w.end, w.problem, w.workspace, w.q, w.v, w.act, w.turns, w.control, w.wrench, w.q_end,
     w.v_end, w.act_end, w.turns_end, w.force, w.extra, w.factor, w.kick, w.delta) = x[:20]  # fmt: skip
    (w.coriolis, w.gained, w.parts, w.weight, w.guess, w.twist, w.body_velocity, w.group, w.index, w.law,
     w.value, w.linear, w.drive, w.stiffness, w.gain, w.table_value, w.table_row, w.table_value_end,
     w.table_row_end, w.rotor_rate, w.acts, w.local) = x[20:42]  # fmt: skip
    (w.carried, w.height, w.gap_linear, w.approach, w.bounce, w.left_out, w.normal0, w.gap0, w.off, w.turned,
     w.facing, w.facet, w.lively, w.end_carried, w.end_back, w.end_gap, w.old_joint, w.old_count,
     w.old_geom, w.old_local, w.old_force, w.h, w.tolerance) = x[42:65]  # fmt: skip
    (w.contact_correction, w.contact_compliance, w.row_correction, w.row_compliance, w.gives, w.sag,
     w.corrected, w.joints_at_end, w.contacts_at_end, w.newton_steps, w.rounds, w.stiff, w.speed,
     w.length, w.count, w.info, w.figure, w.solve_info, w.solve_worst, w.factor_end,
     w.rotor_v) = x[65:86]  # fmt: skip
    (w.course, w.near_velocity, w.near_impulse, w.nearest, w.level, w.recovery_speed,
     w.foreign, w.two_stages, w.fourth, w.sleep, w.still_time, w.sleep_island, w.sleep_wrench, w.body_tree,
     w.tree_q, w.freedom, w.entry, w.spread, w.spread_over, w.undoing, w.stuck) = x[86:]  # fmt: skip
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
        room = {
            "scene": scene, "start": places[0], "end": places[1], "problem": self.problem.struct,
            "workspace": tree_workspace(self.problem), "q": coordinates, "v": nv, "act": activations,
            "turns": rows, "control": controls, "wrench": (n, 6), "q_end": coordinates, "v_end": nv,
            "act_end": activations, "turns_end": rows, "force": nv, "extra": nv,
            "factor": tables["M_column"].size, "factor_end": tables["M_column"].size, "rotor_v": nv,
            "kick": nv, "delta": nv, "coriolis": nv, "gained": nv, "weight": nv,
            "guess": nv, "twist": (tables["body_parent"].size, 6), "body_velocity": (n, 6), "value": joints,
            "linear": joints, "drive": joints, "stiffness": joints, "gain": joints, "table_value": rows,
            "table_row": (rows, 12), "table_value_end": rows, "table_row_end": (rows, 12),
            "rotor_rate": tables["rotor_dof"].size, "acts": (64, 2, 3), "local": (64, 2, 3),
            "carried": (64, 2, 3), "height": 64, "gap_linear": 64, "approach": 64, "bounce": 64,
            "normal0": (64, 3), "gap0": 64, "off": 64, "facet": (64, 2, 3), "lively": (64, 5), "sag": 64,
            "row_correction": joints, "row_compliance": joints, "end_carried": (2, 3), "end_back": (2, 3),
            "end_gap": 1, "old_joint": joints, "old_local": (0, 2, 3), "old_force": (0, 2, 3),
            "figure": FIGURES, "solve_worst": 1, "near_velocity": nv, "near_impulse": self.problem.bias.size,
            "still_time": tree_size.size, "sleep_wrench": (n, 6), "entry": max(7, tables["dof_body"].size),
            "spread": nv, "undoing": tree_size.size,
        }  # fmt: skip
        whole = {
            "group": joints, "index": joints, "law": joints, "left_out": 64, "turned": 64, "facing": 64,
            "old_count": 1,
            "old_geom": (0, 2), "count": PAUSES + 2 * tree_size.size, "info": INFOS, "solve_info": 4,
            "course": 13, "level": 2, "freedom": max(3, tables["dof_body"].size), "spread_over": n,
            "stuck": tree_size.size,
        }  # fmt: skip
        given = {
            "sleep_island": np.arange(tree_size.size), "body_tree": tables["body_tree"],
            "tree_q": tables["tree_q"],
        }  # fmt: skip
        scalars = dict.fromkeys(
            ("h", "tolerance", "contact_correction", "contact_compliance", "speed", "length",
             "nearest", "recovery_speed", "sleep"), 0.0
        ) | dict.fromkeys(
            ("joints_at_end", "contacts_at_end", "newton_steps", "rounds", "stiff", "foreign",
             "two_stages", "fourth", "parts", "gives", "corrected"), 0
        )  # fmt: skip
        values = {name: np.zeros(x) if isinstance(x, int | tuple) else x for name, x in room.items()}
        values |= {name: np.zeros(x, np.int64) for name, x in whole.items()} | scalars | given
        self.struct = pack_world(tuple(values[name] for name, _ in FIELDS if name != "worlds"))
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
