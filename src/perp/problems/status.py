"""What became of a solve, as sentences for the user."""

from enum import StrEnum


class Status(StrEnum):
    """How a solve ended. The value says what happened and what to try.

    `SOLVED` is set only by the shared residual code, never by an algorithm.
    """

    SOLVED = "Solved: the residual, computed apart from the solver, is within the tolerance."
    ITERATION_LIMIT = (
        "Not solved: the iteration limit was reached. "
        "Raise max_iterations, start closer, or try another solver."
    )
    TIME_LIMIT = "Not solved: the time limit was reached. Raise time_limit or try a faster solver."
    STALLED = (
        "Not solved: progress stalled above the tolerance. Loosen tol, or try a Newton or pivoting solver."
    )
    LOCAL_MINIMUM = (
        "Not solved: the search ended in a local minimum of the merit function that is not a solution, from "
        "every start that was tried. The problem may have no solution; give another start."
    )
    EVALUATION_ERROR = (
        "Not solved: the function is not finite where the solver has to begin; the message says where. "
        "Give a start or bounds within which it is defined."
    )
    DIVERGED = (
        "Not solved: the iterates grew without bound or became NaN. The problem may have no solution; "
        "try a pivoting solver or a damped variant."
    )
    RAY = (
        "Not solved: the path ended on a ray, which is in info['ray']. The problem may have no solution; "
        "for a monotone problem it has none."
    )
    INFEASIBLE = (
        "No solution exists: info['certificate'] holds a vector that proves it, "
        "and the proof was checked apart from the solver."
    )
    RELAXED = (
        "Not solved exactly: the answer solves the convex relaxation, which differs from the problem where "
        "contacts slide. Use an exact formulation."
    )
    APPROXIMATE = (
        "Not solved exactly: the answer solves the approximation that the formulation poses, a friction "
        "pyramid or box in place of the cone; info['cone_error'] says how far that is from the cone. "
        "Use more facets, or an exact formulation."
    )
    INACCURATE = (
        "Not solved: the solver reported success but the residual, computed apart from it, misses the "
        "tolerance. Tighten the solver's own tolerance, rescale, or try another solver."
    )
    FAILED = "Not solved: the solver failed; the message says how."
