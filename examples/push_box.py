"""Plan a push through contact: iLQR on the exact derivatives of the steps.

A finger, whose targets are planned, pushes a box over a floor to a goal. Contact and Coulomb friction are
exact; A and B of every step come from `sim.derivatives`, never from differences.

    python examples/push_box.py [--plot push.png]

Reference: Tassa, Erez and Todorov, Synthesis and stabilization of complex behaviors (2012).
"""

from __future__ import annotations

import argparse

import numpy as np

import perp
from perp.derivatives.tangent import between

STEPS, STEP = 40, 0.02
GOAL = np.array([0.35, 0.02])
# Three feet: what four corners carry is not unique, and with it how a box that slides turns.
FEET = "".join(
    f'<geom type="sphere" size=".02" pos="{x} {y} -.08" mass="0" friction="0.3"/>'
    for x, y in ((0.08, 0.0), (-0.06, 0.08), (-0.06, -0.08))
)
SCENE = f"""<mujoco><worldbody><geom type="plane" size="3 3 .1" friction="0.3"/>
<body name="finger" pos="-.151 0 .1" gravcomp="1">
<joint name="x" type="slide" axis="1 0 0" damping="2"/><joint name="y" type="slide" axis="0 1 0" damping="2"/>
<geom type="sphere" size=".05" mass=".5" friction="0.6" contype="2" conaffinity="2"/></body>
<body name="box" pos="0 0 .1"><freejoint/>
<geom type="box" size=".1 .1 .1" mass="1" friction="0.3" contype="2" conaffinity="2"/>{FEET}</body>
</worldbody><actuator><position joint="x" kp="300" kv="30"/><position joint="y" kp="300" kv="30"/></actuator>
</mujoco>"""
# What a distance from the goal, a turn and speed of the box at the end, and controls cost.
DISTANCE, TURN, SPEED, EFFORT = 200.0, 2.0, 0.5, 1e-2


def final_cost(sim: perp.Simulation) -> tuple[float, np.ndarray, np.ndarray]:
    """Cost of where the box ends, with gradient and Hessian in the tangent space (16 numbers)."""
    q, v = sim.qpos, sim.qvel
    gradient, weight = np.zeros(16), np.zeros(16)
    weight[2:4], weight[7], weight[10:12] = DISTANCE, TURN, SPEED
    off = np.zeros(16)
    off[2:4] = q[2:4] - GOAL
    off[7] = 2.0 * np.arctan2(q[8], q[5])
    off[10:12] = v[2:4]
    gradient = weight * off
    return 0.5 * float(gradient @ off), gradient, np.diag(weight)


def roll(
    sim: perp.Simulation, start: dict, plan: np.ndarray, feedback=None
) -> tuple[float, np.ndarray, list]:
    """Run a plan, with feedback on the way where given; cost, controls as they were, and states."""
    sim.restore(start)
    controls, states, met = [], [sim.state.packed.copy()], True
    for k, u in enumerate(plan):
        control = u if feedback is None else feedback(k, sim, u)
        met = sim.step(control).met and met
        controls.append(control)
        states.append(sim.state.packed.copy())
    used = np.array(controls)
    cost = final_cost(sim)[0] + 0.5 * EFFORT * float((used**2).sum())
    # a plan whose steps miss their tolerance is none: they have no derivative to go on from
    return cost if met else np.inf, used, states


def backward(slopes: list, used: np.ndarray, end: tuple, damping: float) -> tuple[list, list]:
    """Gains and steps of the controls from the last step to the first."""
    _, p, P = end
    steps, gains = [], []
    for (A, B), u in zip(reversed(slopes), used[::-1], strict=True):
        Qu, Quu = B.T @ p + EFFORT * u, B.T @ P @ B + EFFORT * np.eye(u.size)
        Qux = B.T @ P @ A
        inverse = np.linalg.inv(Quu + damping * np.eye(u.size))
        k, K = -inverse @ Qu, -inverse @ Qux
        p = A.T @ p + K.T @ Quu @ k + K.T @ Qu + Qux.T @ k
        P = A.T @ P @ A + K.T @ Quu @ K + K.T @ Qux + Qux.T @ K
        P = 0.5 * (P + P.T)
        steps.append(k)
        gains.append(K)
    return steps[::-1], gains[::-1]


class Policy:
    """Controls of the last run, changed by a share of the steps and by feedback on the way."""

    def __init__(self, states: list, steps: list, gains: list, share: float) -> None:
        self.states, self.steps, self.gains, self.share = states, steps, gains, share

    def __call__(self, k: int, sim: perp.Simulation, u: np.ndarray) -> np.ndarray:
        away = between(sim.stepper, sim.state.packed, self.states[k])
        return u + self.share * self.steps[k] + self.gains[k] @ away


def plan(iterations: int = 80) -> tuple[np.ndarray, list[float], np.ndarray]:
    """Controls, cost of each iteration, and where the box goes, shape (steps + 1, 2)."""
    sim = perp.Simulation(SCENE, step=STEP, coordinates="reduced")
    start, damping = sim.snapshot(), 1e-2
    guess = np.stack([np.minimum(0.4 * STEP * np.arange(STEPS), 0.2), np.zeros(STEPS)], axis=1)
    cost, used, states = roll(sim, start, guess)
    costs = [cost]
    for _ in range(iterations):
        sim.restore(start)
        slopes = []
        for u in used:
            sim.step(u)
            found = sim.derivatives(last=True)
            slopes.append((found.A, found.B))
        steps, gains = backward(slopes, used, final_cost(sim), damping)
        change = 0.0
        for share in (1.0, 0.5, 0.25, 0.1, 0.03):
            policy = Policy(states, steps, gains, share)
            trial = roll(sim, start, used, policy)
            if trial[0] < cost - 1e-9:
                change = cost - trial[0]
                cost, used, states = trial
                break
        damping = max(damping / 3, 1e-6) if change else damping * 10
        costs.append(cost)
        if 0.0 < change < 1e-5 * cost or damping > 1e4:
            break
    return used, costs, np.array([state[2:4] for state in states])


def main() -> None:
    """Plan, print, and draw where asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--plot")
    options = parser.parse_args()
    used, costs, way = plan()
    print(f"the box ends {1000 * np.linalg.norm(way[-1] - GOAL):.1f} mm from its goal", end=", ")
    print(f"cost {costs[0]:.3f} -> {costs[-1]:.4f} in {len(costs) - 1} iterations")
    if options.plot:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10, 3.2), layout="constrained")
        axes = figure.subplots(1, 3)
        axes[0].semilogy(costs, "o-")
        axes[0].set_xlabel("iteration")
        axes[0].set_ylabel("cost")
        axes[1].plot(way[:, 0], way[:, 1], ".-", label="box")
        axes[1].plot(*GOAL, "r*", markersize=12, label="goal")
        axes[1].set_xlabel("x [m]")
        axes[1].set_ylabel("y [m]")
        axes[1].legend()
        axes[2].step(STEP * np.arange(len(used)), used, label=["x", "y"])
        axes[2].legend()
        axes[2].set_xlabel("time [s]")
        axes[2].set_ylabel("target of the finger [m]")
        figure.savefig(options.plot, dpi=110)


if __name__ == "__main__":
    main()
