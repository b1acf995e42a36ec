"""Proofs of answers: exact in rational arithmetic, or as rigorous enclosures for large problems."""

import sys
from dataclasses import replace
from fractions import Fraction
from types import ModuleType
from typing import Any

from perp.certify.certificate import PROVED, Certificate, not_proved
from perp.problems import (
    LCP,
    BoxedLCP,
    ContactProblem,
    Problem,
    ProblemError,
    Solution,
    SolverMismatch,
    SolverMissing,
)

# Rows up to which rational arithmetic is tried: 150 rows take seconds, and cost grows with the fourth power.
LARGEST_EXACT = 150

__all__ = ["Certificate", "certify"]


# An answer is that of an exact solution whose entries it has to six digits, the least of them to twelve of
# the largest: what a residual of 1e-8 and an ordinary condition leave.
ACCURACY, RELATIVE_ZERO = 1e-6, 1e-6


def certify(
    problem: Problem, solution: Solution, *, method: str = "auto", accuracy: float = ACCURACY
) -> Certificate:
    """Prove that an answer is an exact solution up to rounding, or that there is none.

    The sides of the answer (which rows are free, which rest at a bound) are taken over, the rows are solved
    without rounding, and every sign is checked. The exact solution is that of the problem's doubles as they
    stand. The proof is one about the answer: it has to agree with the exact solution in every entry z_i up to
    `accuracy` · (|z_i| + 1e-6 max |z|).

    Args:
        problem: An LCP or BoxedLCP, with or without friction index, or a ContactProblem, exact or relaxed.
        solution: An answer of `perp.solve` for it; one that claims infeasibility must carry its certificate.
        method: "exact" for rational arithmetic, "interval" for balls, "auto" for exact up to 150 rows;
            contact problems are always enclosed in balls.
        accuracy: How near the answer has to be to the exact solution, relative to its entries.

    Returns:
        What is proved, or why nothing is.

    Raises:
        SolverMissing: python-flint is not installed.
        SolverMismatch: The problem is of another kind.
        ProblemError: The solution is no answer of `perp.solve`.
    """
    from importlib.util import find_spec

    if find_spec("flint") is None:
        raise SolverMissing("certify: python-flint is not installed; add it with: pip install 'perp[proofs]'")
    if not isinstance(problem, (LCP, BoxedLCP, ContactProblem)):
        raise SolverMismatch(f"certify takes LCP, BoxedLCP and ContactProblem, not {type(problem).__name__}")
    if method not in ("auto", "exact", "interval"):
        raise SolverMismatch(f"method {method!r}: auto, exact or interval")
    if not isinstance(solution, Solution):
        raise ProblemError(
            f"solution is of type {type(solution).__name__}: an answer of perp.solve is needed, because "
            "a proof starts from its active set or its certificate"
        )
    if solution.z.shape != (problem.size,):
        raise SolverMismatch(f"the solution has {solution.z.size} rows, the problem {problem.size}")
    if not accuracy > 0:
        raise ProblemError(f"accuracy = {accuracy!r}: a positive number is needed")
    if isinstance(problem, ContactProblem):
        import numpy as np

        if method == "exact":
            raise SolverMismatch(
                "method 'exact': answers of contact problems are not rational; use 'interval'"
            )
        from perp.certify.contact import enclose_contact

        with np.errstate(all="ignore"):
            certificate = enclose_contact(problem, solution)
        return _of_the_answer(problem, certificate, solution, accuracy)
    if not solution.solved and solution.info.get("certificate") is not None:
        return _prove_infeasible(problem, solution.info["certificate"])
    exact = method == "exact" or (method == "auto" and problem.size <= LARGEST_EXACT)
    return _of_the_answer(problem, _prove(problem, solution, exact=exact), solution, accuracy)


def _of_the_answer(
    problem: Problem, certificate: Certificate, solution: Solution, accuracy: float
) -> Certificate:
    """The certificate, refused where the exact solution is not the one that was given."""
    if not certificate.proved:
        return certificate
    import numpy as np

    from perp.problems.residual import residual

    if certificate.z is not None:
        exact = np.array([float(x) for x in certificate.z])
        away = np.array(
            [float(abs(x - Fraction(float(y)))) for x, y in zip(certificate.z, solution.z, strict=True)]
        )
    else:
        assert certificate.center is not None  # noqa: S101
        assert certificate.radius is not None  # noqa: S101
        exact = certificate.center
        away = np.abs(exact - solution.z) + certificate.radius
    allowed = accuracy * (np.abs(exact) + RELATIVE_ZERO * np.abs(exact).max(initial=0.0))
    far = away > allowed
    # entries of a small island are small beside those of a large one; the law is local
    missed = residual(problem, solution.z)
    if not far.any() and missed <= accuracy:
        return certificate
    why = f"the answer misses the law by {missed:.2g}"
    if far.any():
        i = int(np.argmax(np.where(far, away - allowed, -1.0)))
        why = f"the answer has z[{i}] = {solution.z[i]:.6g}, the exact solution of its sides {exact[i]:.6g}"
    return replace(certificate, status=f"not proved: {why}", failures=(why,))


def _prove(problem: LCP | BoxedLCP, solution: Solution, *, exact: bool) -> Certificate:
    import numpy as np

    from perp.certify.basis import candidate_sides
    from perp.certify.solved_sides import prove_sides

    if not np.isfinite(solution.z).all():
        return not_proved("solution", ["the answer is not finite"])
    first = not_proved("solution", ["no sides to start from"])
    tried: set[bytes] = set()
    for sides in candidate_sides(problem, solution):
        key = sides.free.tobytes() + sides.upper.tobytes()
        if key in tried:
            continue
        tried.add(key)
        certificate = prove_sides(problem, solution, sides, exact=exact)
        if certificate.proved:
            return certificate
        if len(tried) == 1:
            first = certificate
    return first


def _prove_infeasible(problem: LCP | BoxedLCP, certificate: Any) -> Certificate:
    """Prove from a rounded certificate that no solution exists."""
    from perp.problems.infeasibility import exact_certificate

    found = exact_certificate(problem, certificate)
    if found is None:
        return not_proved("no solution", ["no vector near the certificate contradicts the law exactly"])
    return Certificate(PROVED, "no solution", tuple(Fraction(float(x)) for x in found.ravel()))


class _Callable(ModuleType):
    """Lets `perp.certify(problem, solution)` work whether or not this package was imported by name before."""

    def __call__(self, *args: Any, **options: Any) -> Certificate:
        return certify(*args, **options)


sys.modules[__name__].__class__ = _Callable
