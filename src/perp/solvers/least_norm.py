"""Newton steps where the Jacobian may be singular: redundant contacts leave impulses undetermined."""

from __future__ import annotations

from typing import Any

import numpy as np

from perp.problems.validation import Vector


def least_norm(matrix: np.ndarray, right: Vector, *, rank_tolerance: float) -> Vector:
    """The shortest x that makes ‖matrix x − right‖ smallest.

    Args:
        matrix: Shape (m, n), finite.
        right: Shape (m,).
        rank_tolerance: Directions weaker than this fraction of the strongest count as none.
    """
    from scipy.linalg import lstsq

    answer: Any = lstsq(matrix, right, cond=rank_tolerance, lapack_driver="gelsy", check_finite=False)
    return answer[0]
