"""perp: hard frictional contact and complementarity problems, solved and verified.

import perp

solution = perp.solve(perp.LCP(M, q))
solution.z, solution.status, solution.residual
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from perp import problems
from perp.problems import *  # noqa: F403

if TYPE_CHECKING:
    from perp.certify import Certificate, certify
    from perp.derivatives import derivative
    from perp.derivatives.errors import DerivativeError
    from perp.files import load, load_guess
    from perp.formulations.equilibria import from_game, from_nlp, from_qp, from_variational_inequality
    from perp.formulations.from_gams import from_gams
    from perp.formulations.from_pyomo import from_pyomo
    from perp.formulations.function_libraries import from_casadi, from_jax, from_torch
    from perp.scenes.model import SceneError
    from perp.simulation.batches.batch import Batch
    from perp.simulation.gradients.identifying import Identification, Motion, identify
    from perp.simulation.gradients.rollouts import RolloutGradient, rollout_gradient
    from perp.simulation.recordings.recording import Recording
    from perp.simulation.simulation import Simulation
    from perp.simulation.sweeps.sweep import sweep
    from perp.simulation.sweeps.table import Table
    from perp.solvers import SolverInfo, register, solve, solve_many, solvers
    from perp.stepping.record import StepFailed

__version__ = "0.1.0"


# Imported on first use, so that `import perp` stays light.
_MODULES = {
    "certify": "Certificate certify",
    "derivatives": "derivative",
    "derivatives.errors": "DerivativeError",
    "files": "load load_guess",
    "formulations.equilibria": "from_game from_nlp from_qp from_variational_inequality",
    "formulations.from_gams": "from_gams",
    "formulations.from_pyomo": "from_pyomo",
    "formulations.function_libraries": "from_casadi from_jax from_torch",
    "scenes.model": "SceneError",
    "simulation.batches.batch": "Batch",
    "simulation.gradients.identifying": "Identification Motion identify",
    "simulation.gradients.rollouts": "RolloutGradient rollout_gradient",
    "simulation.recordings.recording": "Recording",
    "simulation.simulation": "Simulation",
    "simulation.sweeps.sweep": "sweep",
    "simulation.sweeps.table": "Table",
    "solvers": "SolverInfo register solve solve_many solvers",
    "stepping.record": "StepFailed",
}
_LAZY = {name: f"perp.{module}" for module, names in _MODULES.items() for name in names.split()}

__all__ = [
    "Batch",
    "Certificate",
    "DerivativeError",
    "Identification",
    "Motion",
    "Recording",
    "RolloutGradient",
    "SceneError",
    "Simulation",
    "SolverInfo",
    "StepFailed",
    "Table",
    "certify",
    "derivative",
    "from_casadi",
    "from_game",
    "from_gams",
    "from_jax",
    "from_nlp",
    "from_pyomo",
    "from_qp",
    "from_torch",
    "from_variational_inequality",
    "identify",
    "load",
    "load_guess",
    "register",
    "rollout_gradient",
    "solve",
    "solve_many",
    "solvers",
    "sweep",
]
__all__ += problems.__all__


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'perp' has no attribute {name!r}")
    package = import_module(module)
    # `perp.solvers` is the package itself, which can be called: importing it binds that name anyway.
    value = package if name == "solvers" else getattr(package, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
