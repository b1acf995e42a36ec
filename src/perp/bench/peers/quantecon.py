"""QuantEcon: Lemke's method with a lexicographic rule, compiled by Numba."""

import numpy as np

from perp.bench.peers.adapter import PeerReply, PeerRequest, dense, peer
from perp.bench.timing import timed
from perp.problems import LCP
from perp.solvers.external.adapter import load
from perp.solvers.registry import Package

# Its own limit of 10⁶ pivots would take minutes on the exponential families.
PIVOTS = 100_000


@peer(
    "quantecon-lemke",
    takes=LCP,
    needs=Package("quantecon", "pip install quantecon"),
    summary="QuantEcon's lcp_lemke",
    tolerance={},  # pivoting ends with a basis: there is nothing to ask for
)
def quantecon_lemke(request: PeerRequest) -> PeerReply:
    """Solve an LCP with QuantEcon."""
    lcp_lemke = load("quantecon.optimize").lcp_lemke

    problem: LCP = request.problem
    M, q = dense(problem.M), np.array(problem.q)
    time, answer = timed(lambda: lcp_lemke(M, q, max_iter=PIVOTS))
    return PeerReply(answer.z, bool(answer.success), time, int(answer.num_iter), f"status {answer.status}")
