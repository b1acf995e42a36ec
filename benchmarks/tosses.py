"""Friction and restitution of a real cube from 50 recorded tosses, and predictions of 450 others.

The data are 500 tosses of a cube onto a floor (ContactNets, DAIR Lab), read from ../shared/data/tosses.
Fitted on the same windows of the same tosses: perp's two coefficients by `perp.identify`, MuJoCo's friction,
time constant and damping ratio by differences. Compared on the other tosses, beside the values that the
authors publish.

    python benchmarks/tosses.py [--tosses 50] [--out docs/figures]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

import perp
from perp.scenes.engine import engine

mujoco: Any = engine()
DATA = Path(__file__).parents[2] / "shared" / "data" / "tosses" / "tosses.npz"
HALF, MASS = 0.0524, 0.37
INERTIA = 0.295 * HALF**2
PUBLISHED = {"friction": 0.18, "restitution": 0.125}
# Samples that are predicted from one recorded state: most of a toss.
WINDOW = 36
# A toss is over when it moves no faster than this [m/s] any more.
REST = 0.03
SUBSTEPS = 4
SCALE = np.array([HALF] * 3 + [1.0] * 3)


def scene(friction: float, step: float, contact: str = "") -> str:
    """The cube above a floor."""
    coefficient = f'friction="{friction} 0 0" {contact}'
    return f"""<mujoco><option timestep="{step}" cone="elliptic" impratio="10"/><worldbody>
    <geom name="floor" type="plane" size="9 9 1" {coefficient}/><body name="cube"><freejoint/>
    <inertial pos="0 0 0" mass="{MASS}" diaginertia="{INERTIA} {INERTIA} {INERTIA}"/>
    <geom name="cube" type="box" size="{HALF} {HALF} {HALF}" {coefficient}/></body></worldbody></mujoco>"""


def motions() -> list[perp.Motion]:
    """All tosses, in a random order that is always the same."""
    data = np.load(DATA)
    # cubes at rest are 2 mm lower than the half width that comes with the data: the floor is put under them
    floor = float(np.median(data["position"][data["start"][1:] - 1, 2])) - HALF
    out = []
    for k in np.random.default_rng(0).permutation(data["start"].size - 1):
        part = slice(data["start"][k], data["start"][k + 1])
        quaternion = data["quaternion"][part].astype(float)
        quaternion /= np.linalg.norm(quaternion, axis=1)[:, None]
        qpos = np.hstack([data["position"][part].astype(float) - [0, 0, floor], quaternion])
        qvel = np.hstack([data["velocity"][part], data["angular_velocity"][part]]).astype(float)
        moving = np.flatnonzero(np.linalg.norm(qvel[:, :3], axis=1) > REST)
        end = max(int(moving[-1]) + 2, WINDOW + 2)
        out.append(perp.Motion(qpos[:end], qvel[:end], float(data["dt"])))
    return out


class InPerp:
    """Runs of perp from recorded states."""

    def __init__(self, friction: float, restitution: float, dt: float) -> None:
        self.sim = perp.Simulation(
            scene(friction, dt), step=dt, coordinates="reduced", restitution=restitution
        )

    def run(self, qpos: np.ndarray, qvel: np.ndarray, steps: int) -> np.ndarray:
        """Coordinates after each sample, shape (steps, 7)."""
        stepper = self.sim.stepper
        stepper.forget()
        self.sim.state = stepper.state_of(qpos.copy(), qvel.copy(), np.zeros(0), 0.0)
        out = []
        for _ in range(steps):
            self.sim.step()
            out.append(self.sim.state.qpos.copy())
        return np.array(out)


class InMujoco:
    """Runs of MuJoCo from recorded states."""

    def __init__(self, friction: float, time: float, ratio: float, dt: float) -> None:
        contact = f'solref="{time} {ratio}"'
        self.model = mujoco.MjModel.from_xml_string(scene(friction, dt / SUBSTEPS, contact))
        self.data = mujoco.MjData(self.model)

    def run(self, qpos: np.ndarray, qvel: np.ndarray, steps: int) -> np.ndarray:
        """Coordinates after each sample, shape (steps, 7)."""
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = qpos, qvel
        out = []
        for _ in range(steps):
            mujoco.mj_step(self.model, self.data, SUBSTEPS)
            out.append(self.data.qpos.copy())
        return np.array(out)


def apart(found: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """Distances of coordinates, shape (samples, 6): positions [m], rotation vectors [rad]."""
    out = np.empty((len(found), 6))
    for k, (a, b) in enumerate(zip(found, measured, strict=True)):
        out[k, :3] = a[:3] - b[:3]
        mujoco.mju_subQuat(out[k, 3:], a[3:], b[3:])
    return out


def windows(tosses: list[perp.Motion]) -> list[tuple[perp.Motion, int]]:
    """Where windows begin, as `perp.identify` cuts them."""
    return [(m, i) for m in tosses for i in range(0, m.qpos.shape[0] - WINDOW, WINDOW)]


def fit_mujoco(tosses: list[perp.Motion], dt: float) -> np.ndarray:
    """Friction, time constant [s] and damping ratio by differences, with Huber's loss."""
    parts = windows(tosses)

    def distances(theta: np.ndarray) -> np.ndarray:
        friction, time, ratio = np.exp(theta)
        run = InMujoco(friction, time, ratio, dt).run
        each = [apart(run(m.qpos[i], m.qvel[i], WINDOW), m.qpos[i + 1 : i + 1 + WINDOW]) for m, i in parts]
        return np.linalg.norm(np.concatenate(each) / SCALE, axis=1)

    first = np.log([0.3, 0.01, 0.5])
    limit = 1.5 * float(np.median(distances(first)))
    bounds = np.log([[0.02, 2 * dt / SUBSTEPS, 0.02], [2.0, 0.2, 2.0]])
    best = least_squares(
        distances, first, bounds=bounds, loss="huber", f_scale=limit, diff_step=1e-2, max_nfev=25
    )
    return np.exp(best.x)


def errors(run: Any, tosses: list[perp.Motion]) -> dict[str, Any]:
    """Of windows and of whole tosses: positions in widths of the cube, rotations in degrees."""
    short, whole, angle = [], [], []
    for m, i in windows(tosses):
        short.append(apart(run(m.qpos[i], m.qvel[i], WINDOW), m.qpos[i + 1 : i + 1 + WINDOW])[-1])
    for m in tosses:
        away = apart(run(m.qpos[0], m.qvel[0], len(m.qpos) - 1), m.qpos[1:])
        whole.append(np.linalg.norm(away[:, :3], axis=1).mean() / (2 * HALF))
        angle.append(np.degrees(np.linalg.norm(away[:, 3:], axis=1)).mean())
    ends = np.array(short)
    return {
        "window position": float(np.linalg.norm(ends[:, :3], axis=1).mean() / (2 * HALF)),
        "window rotation": float(np.degrees(np.linalg.norm(ends[:, 3:], axis=1)).mean()),
        "toss position": float(np.mean(whole)), "toss rotation": float(np.mean(angle)),
        "per toss": np.array(whole),
    }  # fmt: skip


def draw(rows: dict[str, dict[str, Any]], runs: dict[str, Any], toss: perp.Motion, path: Path) -> None:
    """Errors of the tosses that were not seen, and one of these tosses."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4), layout="constrained")
    axes: Any = figure.subplots(1, 2)
    for k, (name, row) in enumerate(rows.items()):
        x = np.sort(row["per toss"])
        axes[0].plot(x, np.linspace(0, 1, x.size), color=f"C{k}", label=name)
    axes[0].set_xlabel("mean position error of a toss [widths of the cube]")
    axes[0].set_ylabel("share of the tosses not seen in the fit")
    axes[0].set_xlim(0, 1)
    axes[0].legend(loc="lower right")
    time = toss.dt * np.arange(len(toss.qpos))
    axes[1].plot(time, toss.qpos[:, 2], "k.", markersize=3, label="measured")
    for k, (name, run) in enumerate(runs.items()):
        found = run(toss.qpos[0], toss.qvel[0], len(toss.qpos) - 1)
        axes[1].plot(time[1:], found[:, 2], color=f"C{k}", label=name)
    axes[1].set_xlabel("time [s]")
    axes[1].set_ylabel("height of the centre [m]")
    axes[1].legend()
    figure.savefig(path, dpi=110)


def main() -> None:
    """Fit, predict, print, draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tosses", type=int, default=50)
    parser.add_argument("--out", type=Path, default=Path("docs/figures"))
    options = parser.parse_args()
    tosses = motions()
    seen, others = tosses[: options.tosses], tosses[options.tosses :]
    dt = seen[0].dt
    found = perp.identify(
        scene(0.3, dt),
        seen,
        ("friction", "restitution"),
        start={"restitution": 0.15},
        window=WINDOW,
        scale=SCALE,
    )
    print(found, f"{len(found.loss)} iterations, {found.windows} windows", sep="\n", flush=True)
    found.plot().savefig(options.out / "tosses-fit.png", dpi=110)
    fitted = fit_mujoco(seen, dt)
    print("MuJoCo: friction, time constant, damping ratio", fitted, flush=True)
    runs = {
        "perp, identified": InPerp(found.values[0], found.values[1], dt).run,
        "perp, published values": InPerp(PUBLISHED["friction"], PUBLISHED["restitution"], dt).run,
        "MuJoCo, fitted": InMujoco(fitted[0], fitted[1], fitted[2], dt).run,
    }
    rows = {name: errors(run, others) for name, run in runs.items()}
    draw(rows, runs, others[0], options.out / "tosses.png")
    for name, row in rows.items():
        print(name, json.dumps({k: round(v, 4) for k, v in row.items() if k != "per toss"}))


if __name__ == "__main__":
    main()
