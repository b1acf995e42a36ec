"""The three storage forms of a sparse matrix agree, and half of a symmetric one is completed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import perp
from perp.files.matrices import compressed, mirrored, triplets

entries = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.floats(-9, 9, width=32)), max_size=12)


@settings(max_examples=60, deadline=None)
@given(entries, st.integers(0, 3))
def test_forms_agree(listed, spare):
    expected = np.zeros((4, 5))
    for i, j, x in listed:
        expected[i, j] += x
    rows, columns = (np.array([e[k] for e in listed] + [99] * spare, dtype=np.int32) for k in (0, 1))
    values = np.array([e[2] for e in listed] + [np.nan] * spare)
    # What lies beyond the count is neither used nor checked.
    M = triplets("M", (4, 5), rows, columns, values, len(listed))
    assert np.allclose(M.toarray(), expected, atol=1e-12)
    for by_rows, form in ((True, sp.csr_array(M)), (False, sp.csc_array(M))):
        data = np.append(form.data, [7.0] * spare)
        indices = np.append(form.indices, np.full(spare, 99, dtype=np.int32))
        again = compressed("M", (4, 5), form.indptr, indices, data, by_rows=by_rows)
        assert np.array_equal(again.toarray(), M.toarray())


@pytest.mark.parametrize("upper", [True, False])
def test_one_triangle_is_mirrored_bit_for_bit(upper: bool):
    rng = np.random.default_rng(0)
    half = np.tril(rng.standard_normal((5, 5)))
    whole = half + np.tril(half, -1).T
    rows, columns = np.nonzero(half)
    if upper:
        rows, columns = columns, rows
    # An entry of zero in the other triangle changes nothing.
    other = (np.append(rows, columns[-2]), np.append(columns, rows[-2]))
    stored = sp.csr_array((np.append(half[half != 0], 0.0), other), shape=(5, 5))
    assert stored.nnz == 16
    assert np.array_equal(mirrored(stored).toarray(), whole)


@pytest.mark.parametrize("M", [np.eye(3), np.ones((3, 3)), np.zeros((2, 2)), np.array([[1.0, 2], [3, 4]])])
def test_whole_matrices_are_left_alone(M: np.ndarray):
    stored = sp.csr_array(M)
    assert mirrored(stored) is stored


@pytest.mark.parametrize(
    ("rows", "columns", "count", "message"),
    [
        ([0, 4], [0, 0], 2, r"M rows\[1\] = 4 is out of range: 0 … 3"),
        ([0, 0], [-1, 0], 2, r"M columns\[0\] = -1 is out of range"),
        ([0, 0], [0, 0], 3, "M rows has 2 entries: it needs 3"),
        ([0.5, 0], [0, 0], 2, "M rows is not a vector of whole numbers"),
    ],
)
def test_bad_triplets(rows, columns, count, message):
    with pytest.raises(perp.ProblemError, match=message):
        triplets("M", (4, 5), np.array(rows), np.array(columns), np.ones(2), count)
