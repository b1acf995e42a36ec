"""What is known of solvers in this harness, shown in a report when a solver that it is about took part."""

from dataclasses import dataclass
from fnmatch import fnmatch


@dataclass(frozen=True)
class KnownIssue:
    """A remark that a reader of the figures needs."""

    solver: str  # pattern of solver names
    text: str


KNOWN_ISSUES = (
    KnownIssue("direct", "Tries all 2ⁿ bases: it is meant for a dozen rows, and hands on more than 16."),
    KnownIssue(
        "clarabel",
        "Solves convex programs. With friction it is called again and again by our fixed point on the "
        "sliding velocities; time and claim are those of the whole sequence.",
    ),
    KnownIssue(
        "siconos-lcp-newton-min",
        "Returns success with an answer of NaN on boxed problems written as LCPs: counted as a false claim.",
    ),
    KnownIssue(
        "siconos-lcp-pgs",
        "Cannot start where the matrix has a zero on its diagonal, as boxed problems written as LCPs have.",
    ),
    KnownIssue(
        "siconos-*",
        "Its solvers have no time limit of their own: one that needs longer is ended with its process and "
        "counts as no answer in time. Solvers of reduced problems are given those with mass and Jacobian "
        "reduced; it has no solver of global problems in the plane.",
    ),
    KnownIssue(
        "pinocchio-*",
        "Stops on its own measures of feasibility and complementarity, which are absolute or relative to its "
        "own scale; at the same tolerance its answers are often above ours. No time limit of its own.",
    ),
    KnownIssue(
        "drake-*",
        "Drake tells neither iterations nor, for its LCP solvers, takes a tolerance or a time limit. Boxed "
        "problems are given to the LCP solvers as LCPs of twice the size.",
    ),
    KnownIssue("scs", "As for clarabel; a first-order method, rarely below 1e-8 in our residual."),
)


def issues_of(solvers: list[str]) -> list[KnownIssue]:
    """The issues of the solvers that took part."""
    return [issue for issue in KNOWN_ISSUES if any(fnmatch(name, issue.solver) for name in solvers)]
