"""Compiled: rows and forces of one contact by the coordinates and velocities of a step.

What `contact_changes` tells of a contact, by motions of its bodies, becomes columns of freedoms: a freedom of
the path of a body moves it by S_j. With the impulses held, forces on the freedoms change because points and
frames move and because the axes of the freedoms turn; velocities of rows change because bodies move otherwise
at the same rates. Freedoms that move both bodies carry the contact along: of its rows they change only the
gap at the end, along a normal that stays that of the start.
"""

from perp.compilation.kernel import part
from perp.derivatives.contact_changes import GAP, RATE
from perp.derivatives.spatial import cross_motion, dot
from perp.derivatives.tree_dynamics import add_carried
from perp.dynamics.row_kernels import cross


@part
def add_contact(t, e, x):
    """Add contact x to the derivatives of forces and rows."""
    _load(e, x)
    parent, at, stop = t.parent, x.at, x.stop
    for side in range(2):
        end = x.ends[side]
        if end < 0:
            continue
        sign = -1.0 if side == 0 else 1.0
        cross(x.acts[side], x.push, x.turn)
        for r in range(3):
            x.force[r], x.force[3 + r] = -sign * (x.turn[r] + x.twist[r]), -sign * x.push[r]
        add_carried(t, e.S, (end, stop, -1 if x.arms else stop), x.force, e.Gq)
        j = end
        while j >= 0 and j != stop:
            _at_start(t, e, x, j, side, side + 1)
            _at_end(t, e, x, j, side, side + 1)
            for r in range(0 if x.kind == RATE else 1, x.rows):
                e.Uv[at + r, j] += e.J[at + r, j]
            e.Uo[at, j] += x.bounce * e.J[at, j]
            if x.arms:
                _by_spin(t, e, x, j, side, side + 1)
            j = parent[j]
    j = stop
    while j >= 0:
        if x.arms:
            _at_start(t, e, x, j, 0, 2)
            _by_spin(t, e, x, j, 0, 2)
        elif x.kind == GAP:
            e.Uq[at, j] += _along(x.N, e.S[j], 0, 0, 2) / e.h
        _at_end(t, e, x, j, 0, 2)
        j = parent[j]


@part
def _load(e, x):
    """Force and moment of the impulses, and velocities of the second point over the first."""
    for k in range(3):
        x.push[k] = x.twist[k] = 0.0
    for r in range(x.rows):
        impulse = e.impulse[x.at + r]
        for k in range(3):
            if r < 3:
                x.push[k] += impulse * x.frame[r, k]
            else:
                x.twist[k] += impulse * x.frame[r - 3, k]
    _relative(e.T[x.ends[0]], e.T[x.ends[1]], x.acts, x.rate)
    if x.bounce != 0.0:
        _relative(e.T_old[x.ends[0]], e.T_old[x.ends[1]], x.acts, x.old)


@part
def _along(row, motion, at, first, last):
    """Product of a row over the motions of both bodies with one of those from `first` to `last`."""
    total = 0.0
    for side in range(first, last):
        for k in range(6):
            total += row[at + 6 * side + k] * motion[k]
    return total


@part
def _add_motion(x, motion, at, first, last):
    """How frame and points change with a motion of bodies: `turn` and `moved`."""
    turn, d, F, A = x.turn, x.moved, x.F, x.A
    for r in range(3):
        turn[r] = d[0, r] = d[1, r] = 0.0
    for side in range(first, last):
        for k in range(6):
            s, column = motion[k], at + 6 * side + k
            if s == 0.0:
                continue
            for r in range(3):
                turn[r] += F[r, column] * s
                d[0, r] += A[0, r, column] * s
                d[1, r] += A[1, r, column] * s


@part
def _carry(t, e, x, j, first, last):
    """Changes of both velocities of the bodies, which freedom j carries along, into `dT` and `dO`."""
    x.dT[:, :] = x.dO[:, :] = 0.0
    if not t.carry[j]:
        return
    S, before = e.S[j], t.before[j]
    for side in range(first, last):
        end = x.ends[side]
        for k in range(6):
            x.force[k] = e.T[end, k] - e.T[before, k]
        cross_motion(S, x.force, x.dT[side])
        if x.bounce != 0.0:
            for k in range(6):
                x.force[k] = e.T_old[end, k] - e.T_old[before, k]
            cross_motion(S, x.force, x.dO[side])


@part
def _at_start(t, e, x, j, first, last):
    """By coordinate j, with the place of the end held: of bodies from `first` to `last`."""
    S, at = e.S[j], x.at
    _add_motion(x, S, 0, first, last)
    _carry(t, e, x, j, first, last)
    if x.arms:
        _spin(x, x.dT)
    _forces(t, e, x, j, e.Gq)
    _relative_change(e.T[x.ends[0]], e.T[x.ends[1]], x, x.dT)
    _rows_change(x, 0 if x.kind == RATE else 1, j, e.Uq)
    gap = _along(x.G[6], S, 0, first, last)
    if x.kind == GAP:
        e.Uq[at, j] += (_along(x.N, S, 0, first, last) - (1.0 - x.share) * gap) / e.h
    else:
        e.Uq[at, j] += x.share * gap / e.h
    if x.bounce != 0.0:
        _relative_change(e.T_old[x.ends[0]], e.T_old[x.ends[1]], x, x.dO)
        e.Uq[at, j] += x.bounce * _row_change(x.frame[0], x.turn, x.old, x.change, 0)


@part
def _at_end(t, e, x, j, first, last):
    """By coordinate j of the end."""
    if x.kind == GAP:
        e.Up[x.at, j] += _along(x.N, e.E[j], 12, first, last) / e.h
    if x.turns_on:
        _add_motion(x, e.E[j], 12, first, last)
        x.dT[:, :] = 0.0
        _forces(t, e, x, j, e.Gp)
        _relative_change(e.T[x.ends[0]], e.T[x.ends[1]], x, x.dT)
        _rows_change(x, 1, j, e.Up)


@part
def _by_spin(t, e, x, j, first, last):
    """By velocity j: points where impulses act depend on the spin of the bodies."""
    for side in range(2):
        for k in range(6):
            x.dT[side, k] = e.S[j, k] if first <= side < last else 0.0
            if k < 3:
                x.turn[k] = x.moved[side, k] = 0.0
    _spin(x, x.dT)
    x.dT[:, :] = 0.0
    _forces(t, e, x, j, e.Gv)
    _relative_change(e.T[x.ends[0]], e.T[x.ends[1]], x, x.dT)
    _rows_change(x, 0 if x.kind == RATE else 1, j, e.Uv)


@part
def _spin(x, dT):
    """Points that move with changes of the spins."""
    for side in range(2):
        for r in range(3):
            for k in range(3):
                x.moved[side, r] += x.spin[side, r, k] * dT[side, k]


@part
def _relative(T0, T1, points, out):
    """Velocity of the second point over the first, then of turning."""
    for k in range(3):
        a, b = (k + 1) % 3, (k + 2) % 3
        out[k] = T1[3 + k] + T1[a] * points[1, b] - T1[b] * points[1, a]
        out[k] -= T0[3 + k] + T0[a] * points[0, b] - T0[b] * points[0, a]
        out[3 + k] = T1[k] - T0[k]


@part
def _relative_change(T0, T1, x, dT):
    """Its change, when the points move by `moved` and the velocities change by dT."""
    d, out = x.moved, x.change
    _relative(dT[0], dT[1], x.acts, out)
    for k in range(3):
        a, b = (k + 1) % 3, (k + 2) % 3
        out[k] += T1[a] * d[1, b] - T1[b] * d[1, a] - T0[a] * d[0, b] + T0[b] * d[0, a]


@part
def _row_change(axis, turn, rate, change, at):
    """Change of axis · rate, with an axis that turns; linear rates from 0, turning ones from 3."""
    total = 0.0
    for k in range(3):
        a, b = (k + 1) % 3, (k + 2) % 3
        total += (turn[a] * axis[b] - turn[b] * axis[a]) * rate[at + k] + axis[k] * change[at + k]
    return total


@part
def _rows_change(x, first, j, out):
    """Changes of the velocities of rows from `first` on."""
    for r in range(first, x.rows):
        axis = x.frame[r] if r < 3 else x.frame[r - 3]
        out[x.at + r, j] += _row_change(axis, x.turn, x.rate, x.change, 0 if r < 3 else 3)


@part
def _forces(t, e, x, j, out):
    """out[k, j] −= S_k · dW over the freedoms of both bodies, for points that move and a frame that turns."""
    S, parent, a, b, force = e.S, t.parent, x.first, x.second, x.force
    for side in range(2):
        k, sign = x.ends[side], -1.0 if side == 0 else 1.0
        if k < 0:
            continue
        cross(x.turn, x.push, a)
        cross(x.acts[side], a, b)
        for r in range(3):
            force[3 + r], force[r] = sign * a[r], sign * b[r]
        cross(x.moved[side], x.push, a)
        cross(x.turn, x.twist, b)
        for r in range(3):
            force[r] += sign * (a[r] + b[r])
        while k >= 0 and k != x.stop:
            out[k, j] -= dot(S[k], force)
            k = parent[k]
