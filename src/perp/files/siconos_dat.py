"""Reads the text files (`.dat`) of Siconos: friction, rolling friction, LCP, mixed LCP and relay problems.

These files are numbers only; nothing in them says which problem they hold. The order of the numbers does:

| problem | numbers |
|---|---|
| friction | dimension, contacts, W, q, mu (and mu_r with dimension 5) |
| global friction | dimension, contacts, M, H, q, b, mu (and mu_r with dimension 5) |
| LCP | n, M, q |
| relay | n, M, q, lb, ub |
| mixed LCP | two flags, n, m; with flag 1: blocks, M, q; with flag 2: A, B, C, D, a, b |

Each is tried in turn, and a file is what it can be read as to its last word. Siconos itself ignores whatever
follows, so some of its files end in a flag (0 or 1) or in a remark; those are let through. A problem that is
cut short fits none.
"""

import re
from collections.abc import Callable

import numpy as np

from perp.files.contacts import check_shape, contact_sets, global_problem, local_problem
from perp.files.dat_matrix import read_matrix, read_shape
from perp.files.dat_words import Words, is_number, show, split
from perp.files.mixed import boxed_from_mixed
from perp.problems import LCP, BoxedLCP, ContactProblem, Problem, ProblemError, Sets

_PRINTED = re.compile(rb"-?\d\.\d{24}e[+-]\d{2,3}")  # how Siconos writes a number
_BEGUN = re.compile(rb"[+-]?(\d|$)")


def parse_problem(text: bytes) -> Problem:
    """The problem that a text holds; where it holds none, the message is of the kind that got furthest."""
    words = split(text)
    _check_last_word(text, words)
    furthest, failure = 2, "this is not a problem in Siconos's text format"
    for kind, reader in _READERS.items():
        cursor = Words(words)
        try:
            problem = reader(cursor)
            _check_remaining(cursor.remaining(), kind)
        except ProblemError as error:
            if cursor.taken > furthest:
                furthest, failure = cursor.taken, f"as {kind}: {error}"
        else:
            return problem
    raise ProblemError(failure)


def _check_last_word(text: bytes, words: list[bytes]) -> None:
    """Refuses a file that ends within a number: what is left of it would be a wrong number."""
    if len(words) > 1 and not text[-1:].isspace():
        before, last = words[-2:]
        if _PRINTED.fullmatch(before) and _BEGUN.match(last) and not _PRINTED.fullmatch(last):
            raise ProblemError(f"the file ends in the middle of a number, {show(last)}")


def _check_remaining(words: list[bytes], kind: str) -> None:
    """Refuses numbers after the end: they mean another kind of problem, or a broken one."""
    if not words or not is_number(words[0]):
        return
    if "friction" in kind and words in ([b"0"], [b"1"]):
        return
    # Files of mixed problems exist that go on with numbers nobody reads; their beginning is unmistakable.
    if kind != "mixed LCP":
        raise ProblemError(f"{len(words)} words are left over")


def _read_local(words: Words) -> ContactProblem:
    dimension, contacts = _read_contact_head(words)
    rows = dimension * contacts
    storage, shape = read_shape(words, "W")
    check_shape("W", shape, (rows, rows))
    words.require(rows, "q")
    W = read_matrix(words, "W", storage, shape)
    q = words.numbers(rows, "q")
    return local_problem(W, q, _read_sets(words, dimension, contacts))


def _read_global(words: Words) -> ContactProblem:
    dimension, contacts = _read_contact_head(words)
    rows = dimension * contacts
    storage, shape = read_shape(words, "M")
    check_shape("M", shape, (shape[0], shape[0]))
    words.require(shape[0] + rows, "q and b")
    mass = read_matrix(words, "M", storage, shape)
    storage, shape = read_shape(words, "H")
    check_shape("H", shape, (mass.shape[0], rows))
    H = read_matrix(words, "H", storage, shape)
    f, w = words.numbers(mass.shape[0], "q"), words.numbers(rows, "b")
    return global_problem(mass, H.T, f, w, _read_sets(words, dimension, contacts))


def _read_contact_head(words: Words) -> tuple[int, int]:
    dimension, contacts = words.whole_number("dimension"), words.whole_number("number of contacts")
    if dimension not in (2, 3, 5):
        raise ProblemError(f"dimension = {dimension}: 2, 3 or 5 is needed")
    words.require(dimension * contacts, "q")
    return dimension, contacts


def _read_sets(words: Words, dimension: int, contacts: int) -> Sets:
    mu = words.numbers(contacts, "mu")
    mu_r = words.numbers(contacts, "mu_r") if dimension == 5 else None
    return contact_sets(mu, mu_r, dimension)


def _read_lcp(words: Words) -> LCP:
    return LCP(*_read_affine(words), copy=False)


def _read_relay(words: Words) -> BoxedLCP:
    M, q = _read_affine(words)
    return BoxedLCP(M, q, words.numbers(q.size, "lb"), words.numbers(q.size, "ub"), copy=False)


def _read_affine(words: Words) -> tuple[np.ndarray, np.ndarray]:
    n = words.whole_number("size")
    words.require(n, "q")
    storage, shape = read_shape(words, "M")
    check_shape("M", shape, (n, n))
    return read_matrix(words, "M", storage, shape), words.numbers(n, "q")


def _read_mixed(words: Words) -> BoxedLCP:
    """The current layout: M and q in one piece, or in the pieces A, B, C, D, a, b, or both."""
    whole, pieces = words.whole_numbers(2, "flags").tolist()
    if whole not in (0, 1) or pieces not in (0, 1) or not whole + pieces:
        raise ProblemError(f"flags {whole} {pieces}: 0 or 1, and one of them 1, is needed")
    n, m = words.whole_numbers(2, "sizes").tolist()
    words.require(n + m, "q")
    if not whole:
        return _read_pieces(words, n, m)
    columns = _read_blocks(words, n + m)
    if int(columns.sum()) != m:
        raise ProblemError(f"{int(columns.sum())} complementary variables in blocks, {m} in the head")
    storage, shape = read_shape(words, "M")
    if shape[1] != n + m or shape[0] < shape[1]:
        raise ProblemError(f"M has shape {shape}: {n + m} columns and as many rows or more are needed")
    words.require(shape[0], "M and q")
    M = read_matrix(words, "M", storage, shape)
    q = words.numbers(n + m, "q")
    rows, missing = columns, shape[0] - shape[1]
    if pieces:
        b = _skip_pieces(words, n, m)
        # Siconos writes as many entries of q as M has columns; b is the end of q.
        q = np.concatenate([q, b[m - missing :]]) if 0 < missing <= m else q
    if missing:
        rows = np.arange(shape[0]) >= shape[0] - m
    return boxed_from_mixed(M, q, rows, columns)


def _read_blocks(words: Words, count: int) -> np.ndarray:
    """Which variables are complementary: ends of blocks from 0 to `count`, then a flag for each block."""
    ends = [words.whole_number("blocks")]
    while ends[-1] < count:
        ends.append(words.whole_number("blocks"))
    sizes = np.diff(ends)
    if ends[0] != 0 or ends[-1] != count or (sizes < 0).any():
        raise ProblemError(f"the blocks do not divide {count} variables")
    return np.repeat(words.whole_numbers(sizes.size, "flags of blocks") != 0, sizes)


def _skip_pieces(words: Words, n: int, m: int) -> np.ndarray:
    """Pass over the pieces of a problem that came in one piece as well; only b is of use."""
    words.words(n * n + m * m + 2 * n * m + n, "A, B, C, D and a")
    return words.numbers(m, "b")


def _read_pieces(words: Words, n: int, m: int) -> BoxedLCP:
    """0 = A x + C y + a, w = D x + B y + b, 0 ≤ y ⊥ w ≥ 0."""
    words.require((n + m) * (n + m + 1), "A, B, C, D, a and b")
    A, B = words.numbers(n * n, "A").reshape(n, n), words.numbers(m * m, "B").reshape(m, m)
    C, D = words.numbers(n * m, "C").reshape(n, m), words.numbers(m * n, "D").reshape(m, n)
    complementary = np.arange(n + m) >= n
    return boxed_from_mixed(
        np.block([[A, C], [D, B]]), words.numbers(n + m, "a and b"), complementary, complementary
    )


_READERS: dict[str, Callable[[Words], Problem]] = {
    "friction": _read_local,
    "global friction": _read_global,
    "LCP": _read_lcp,
    "relay": _read_relay,
    "mixed LCP": _read_mixed,
}
