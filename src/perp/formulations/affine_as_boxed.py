"""An affine MCP is a boxed LCP: the same box, w = M z + q in place of f(z)."""

from perp.formulations.registry import Reformulated, formulation
from perp.problems import MCP, BoxedLCP


def _refuses(problem: MCP) -> str | None:
    return None if problem.M is not None else "its function is not known to be affine"


@formulation(
    "affine", source=MCP, target=BoxedLCP, exact=True, automatic=True, refuses=_refuses,
    summary="an affine MCP as a boxed LCP",
)  # fmt: skip
def affine_as_boxed(problem: MCP) -> Reformulated:
    """The boxed LCP with the same unknowns."""
    boxed = BoxedLCP(problem.M, problem.q, problem.lo, problem.hi, copy=False)  # type: ignore[arg-type]
    return Reformulated(boxed, back=lambda z: z, start=lambda z: z)
