"""LCPs of the literature, named by where they come from."""

from collections.abc import Iterator

import perp
from perp.bench.sets import families
from perp.bench.sets.base import NamedProblem

EXAMPLES: dict[str, tuple[list[list[float]], list[float]]] = {
    # Murty, Linear complementarity (1988): z = (2, 1, 3, 1)
    "murty-2.8": ([[1, -1, -1, -1], [-1, 1, -1, -1], [1, 1, 2, 0], [1, 1, 0, 2]], [3, 5, -9, -5]),
    # Kostreva, Cycling in linear complementarity problems (1979): z = (1, 1, 1) / 3
    "kostreva-principal-cycling": ([[1, 2, 0], [0, 1, 2], [2, 0, 1]], [-1, -1, -1]),
    "kostreva-lemke-cycling": ([[1, 0, 0], [0, 2, -1], [0, 1, 1]], [-10, -6, -7]),
    # Cottle, Pang and Stone: a bimatrix game with three equilibria, copositive but not copositive-plus
    "bimatrix-game": ([[0, 0, 10, 20], [0, 0, 30, 15], [10, 20, 0, 0], [30, 15, 0, 0]], [-1, -1, -1, -1]),
    # of the Siconos collection: z = (2/3, 0, 1/3, 0)
    "ortiz": ([[3, 1, 0, -1], [-1, 2, 1, 1], [0, 1, 3, -1], [0, 0, 1, 2]], [-2, 1, -1, 1]),
    # two contacts whose answer is z = (4/3, 7/3)
    "nguyen-two-contacts": ([[2, 1], [1, 2]], [-5, -6]),
}


def example(name: str) -> perp.LCP:
    """One of the examples."""
    return perp.LCP(*EXAMPLES[name])


def literature() -> Iterator[NamedProblem]:
    """The examples, and the families of Murty (1978) and Fathi (1979) on which pivoting is exponential."""
    for name in EXAMPLES:
        yield NamedProblem(name, example(name))
    for n in (8, 12, 16):
        yield NamedProblem(f"murty-1978-{n}", families.murty(n))
        yield NamedProblem(f"fathi-1979-{n}", families.fathi(n))
