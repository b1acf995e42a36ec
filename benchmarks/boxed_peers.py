"""Times a peer on the problems of `boxed.py`; run by the interpreter that has the peer.

Called as `python boxed_peers.py quantecon|siconos SIZE …`; prints {"standard": {size: {solver: seconds}},
…}, the best CPU time of several runs whose natural-map residual is below 1e-6, null where it is not.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from boxed_problems import doubled, motors, standard

SEEDS = (0, 1, 2)
BUDGET = 0.3  # seconds spent on repeating one solve


def timed(run, M, q) -> float | None:
    """The best CPU time of `run()`, or None when its answer is not one."""
    z = run()
    if z is None or not np.linalg.norm(np.minimum(z, M @ z + q)) <= 1e-6 * np.linalg.norm(q):
        return None
    best, spent = np.inf, 0.0
    while spent < BUDGET:
        began = time.process_time()
        run()
        took = time.process_time() - began
        best, spent = min(best, took), spent + max(took, 1e-6)
    return best


def quantecon_solvers():
    """QuantEcon's Lemke."""
    from quantecon.optimize import lcp_lemke

    return {"lemke": lambda M, q: lambda: lcp_lemke(M, q, max_iter=10**5).z}


def siconos_solvers():
    """The LCP solvers of Siconos that take any matrix."""
    import siconos.numerics as sn

    def solver(identifier):
        def prepare(M, q):
            problem, options = sn.LCP(M, q), sn.SolverOptions(identifier)
            options.dparam[sn.SICONOS_DPARAM_TOL] = 1e-8
            options.iparam[sn.SICONOS_IPARAM_MAX_ITER] = 1000

            def run():
                z, w = np.zeros(q.size), np.zeros(q.size)
                return z if sn.linearComplementarity_driver(problem, z, w, options) == 0 else None

            return run

        return prepare

    names = ("LEMKE", "NEWTON_MIN", "NEWTON_FB_FBLSA", "NEWTON_MIN_FBLSA", "PGS")
    return {
        name.lower(): solver(getattr(sn, f"SICONOS_LCP_{name}"))
        for name in names
        if hasattr(sn, f"SICONOS_LCP_{name}")
    }


def main() -> None:
    """Time every solver of the peer named on the command line."""
    peer, sizes = sys.argv[1], [int(word) for word in sys.argv[2:]]
    solvers = {"quantecon": quantecon_solvers, "siconos": siconos_solvers}[peer]()
    table: dict[str, dict[int, dict[str, float | None]]] = {"standard": {}, "motors": {}}
    for n in sizes:
        for family, build in (("standard", standard), ("motors", motors)):
            row: dict[str, float | None] = {}
            for name, prepare in solvers.items():
                times = []
                for seed in SEEDS:
                    M, q, lo, hi = build(n, seed)
                    if family == "motors":
                        M, q = doubled(M, q, lo, hi)
                    times.append(timed(prepare(M, q), M, q))
                row[name] = None if None in times else float(np.median(times))
            table[family][n] = row
    print(json.dumps(table))


if __name__ == "__main__":
    main()
