"""Compiled: how a contact's geometry changes with the motions of its two bodies.

A small motion ξ = (ω, v) of each body about the origin, at the start and at the end of the step, 24 numbers
in all, changes normal n, point p midway and gap of a contact. Known by formula are

    a plane of the first body against a point or centre C carried by the other:
        dn = ω × n of the plane,   dgap = n · (Ċ of its body − Ċ of the plane)
    two centres C₀ and C₁, with L their distance:   dn = (I − n nᵀ) (Ċ₁ − Ċ₀) / L,   dgap = n · (Ċ₁ − Ċ₀)

For all others the detector gives a table of (dn, dp, dgap), see `detector`. From these follow the turn φ of
the frame, the points where impulses act, and the gap at the end n · (P₁⁺ − P₀⁺) − r of points that the bodies
carry along.
"""

import math

import numpy as np
from numba import types
from numba.experimental import structref

from perp.compilation.kernel import part
from perp.derivatives.equations import of
from perp.dynamics.row_kernels import cross
from perp.dynamics.scene_tables import F2, F3, F, I
from perp.kernels.structs import StructType
from perp.stepping.world import EDGES, FIXED

# How the geometry of a contact is known.
FACE_OF_FIRST, CENTRES, TABLE, CARRIED = range(4)
# What the normal row of a contact is: the gap at the end, or the velocity at the start.
GAP, RATE = range(2)

# One contact as kernels take it, `x`; arrays are room that the contacts of a step share.
_FIELDS = [
    # first row and how many; what the normal row is, its restitution, its share of the gap at the start
    *of(types.int64, "at rows kind"),
    *of(types.float64, "bounce share"),
    # last freedom of both bodies or −1, first freedom that both have or −1; whether each body moves
    ("ends", I),
    ("stop", types.int64),
    ("moving", I),
    # how its geometry is known; normal and tangents, gap and radii of both surfaces at the start; carried
    # points at the start and at the end; where impulses act, and how far above midway that is, in gaps
    ("code", types.int64),
    ("frame", F2),
    ("gap", types.float64),
    ("radius", F),
    *of(F2, "carried ended acts"),
    ("height", types.float64),
    # rotation of each body over the step, shape (2, 3, 3)
    ("turns", F3),
    # the vector that tangents stay along, and the body that carries it; see `_frame_turn`
    ("axis", F),
    ("body", types.int64),
    # what the normal belongs to, the normal at the end, and edges there; see `stepping.facets`
    ("facing", types.int64),
    ("last", F),
    ("edges", F2),
    # (dn, dp, dgap) by motions of both bodies, shape (7, 12)
    ("G", F2),
    # by motions of start and end: turn of the frame (3, 24), points where impulses act (2, 3, 24), gap at the
    # end (24,); whether those of the end change frame and points; points by the spins (2, 3, 3), and whether
    # they change with these
    ("F", F2),
    ("A", F3),
    ("N", F),
    ("turns_on", types.boolean),
    ("spin", F3),
    ("arms", types.boolean),
    # force and moment of the impulses; velocities of the second point over the first and of turning, for the
    # moving velocity and that of the start, and their change
    *of(F, "push twist rate old change"),
    # of one freedom: turn of the frame, ways of the points, changes of both velocities of the bodies; room
    ("turn", F),
    *of(F2, "moved dT dO"),
    *of(F, "force first second"),
]
ContactType = StructType(_FIELDS)


@part
def new_contact():
    """Room for a contact."""
    x = structref.new(ContactType)  # pyright: ignore[reportCallIssue]
    x.ends, x.moving, x.radius, x.N = np.empty(2, np.int64), np.empty(2, np.int64), np.empty(2), np.zeros(24)
    x.frame, x.G, x.F, x.A = np.empty((3, 3)), np.zeros((7, 12)), np.zeros((3, 24)), np.zeros((2, 3, 24))
    three, six, pair = np.empty((7, 3)), np.empty((4, 6)), np.empty((5, 2, 3))
    x.axis, x.last, x.push, x.twist, x.turn = three[0], three[1], three[2], three[3], three[4]
    x.first, x.second = three[5], three[6]
    x.rate, x.old, x.change, x.force = six[0], six[1], six[2], six[3]
    x.carried, x.ended, x.acts, x.edges, x.moved = pair[0], pair[1], pair[2], pair[3], pair[4]
    both, twists = np.zeros((2, 2, 3, 3)), np.empty((2, 2, 6))
    x.turns, x.spin, x.dT, x.dO = both[0], both[1], twists[0], twists[1]
    return x


@part
def add_velocity(out, column, P):
    """The velocity of P under a motion into columns of `out`, shape (3, …)."""
    x, y, z = P[0], P[1], P[2]
    out[0, column + 1], out[0, column + 2] = z, -y
    out[1, column + 2], out[1, column + 0] = x, -z
    out[2, column + 0], out[2, column + 1] = y, -x
    for r in range(3):
        out[r, column + 3 + r] = 1.0


@part
def geometry_table(x, code):
    """(dn, dp, dgap) into G, for what is known by formula."""
    n, gap, radius, carried, G = x.frame[0], x.gap, x.radius, x.carried, x.G
    G[:, :] = 0.0
    V0, V1 = np.zeros((3, 12)), np.zeros((3, 12))
    add_velocity(V0, 0, carried[0] if code == CENTRES else carried[1])
    add_velocity(V1, 6, carried[1])
    if code != CENTRES:
        G[0, 1], G[0, 2] = n[2], -n[1]
        G[1, 2], G[1, 0] = n[0], -n[2]
        G[2, 0], G[2, 1] = n[1], -n[0]
    length = gap + radius[0] + radius[1]
    for k in range(12):
        along = 0.0
        for r in range(3):
            along += n[r] * (V1[r, k] - V0[r, k])
        G[6, k] = along
        for r in range(3):
            if code == CENTRES:
                G[r, k] = (V1[r, k] - V0[r, k] - n[r] * along) / length
            G[3 + r, k] = V1[r, k] - G[r, k] * (radius[1] + 0.5 * gap) - 0.5 * n[r] * along


@part
def _frame_turn(x):
    """φ with d(frame) = φ × frame into F, for normals that change by dn.

    Tangents follow the normal without spin, or stay along `axis`, a vector that body 0 or 1 carries (−1 for
    the world), where it is not zero.
    """
    a, n, t2, body, dn, F = x.axis, x.frame[0], x.frame[2], x.body, x.G, x.F
    lean = a[0] * n[0] + a[1] * n[1] + a[2] * n[2]
    size = math.sqrt(max(a[0] ** 2 + a[1] ** 2 + a[2] ** 2 - lean * lean, 0.0))
    for k in range(12):
        F[0, k] = n[1] * dn[2, k] - n[2] * dn[1, k]
        F[1, k] = n[2] * dn[0, k] - n[0] * dn[2, k]
        F[2, k] = n[0] * dn[1, k] - n[1] * dn[0, k]
        if size > 1e-9:
            spin = 0.0
            for r in range(3):
                spin -= lean * t2[r] * dn[r, k]
            if body >= 0 and 0 <= k - 6 * body < 3:
                # the axis turns with its body: e_k × a
                i = k - 6 * body
                j, m = (i + 1) % 3, (i + 2) % 3
                spin += t2[m] * a[j] - t2[j] * a[m]
            for r in range(3):
                F[r, k] += spin / size * n[r]


@part
def _turn_facet(x, between):
    """n⁺ · (P₁⁺ − P₀⁺) by the turns of the end, for a normal that is that of a face or across two edges.

    Of a face dn = ω × n; of edges a and b with c = a × b, n = c / |c|: dn = (I − n nᵀ) dc / |c|.
    """
    n, edges, N, a, b, across = x.last, x.edges, x.N, x.first, x.second, x.turn
    if x.facing != EDGES:
        cross(n, between, a)
        for r in range(3):
            N[12 + 6 * x.facing + r] += a[r]
        return
    cross(edges[0], edges[1], a)
    size = math.sqrt(a[0] ** 2 + a[1] ** 2 + a[2] ** 2)
    along = n[0] * between[0] + n[1] * between[1] + n[2] * between[2]
    for r in range(3):
        across[r] = (between[r] - along * n[r]) / size
    for side in range(2):
        if not x.moving[side]:
            continue
        if side == 0:
            cross(edges[1], across, a)
        else:
            cross(across, edges[0], a)
        cross(edges[side], a, b)
        for r in range(3):
            N[12 + 6 * side + r] += b[r]


@part
def contact_changes(x):
    """Turn of the frame, points where impulses act and gap at the end, by the 24 motions: F, A and N."""
    n, G, A, N, last, code = x.frame[0], x.G, x.A, x.N, x.last, x.code
    N[:] = 0.0
    x.turns_on = False
    _frame_turn(x)
    between = x.rate[:3]
    for r in range(3):
        between[r] = x.ended[1, r] - x.ended[0, r]
    if x.facing == FIXED:
        for k in range(12):
            for r in range(3):
                N[k] += G[r, k] * between[r]
    else:
        _turn_facet(x, between)
    P, Q, inner = np.empty(3), np.zeros((3, 12)), np.empty(3)
    for side in range(2):
        sign, moves, turns = -1.0 if side == 0 else 1.0, x.moving[side], x.turns[side]
        Q[:, :] = 0.0
        add_velocity(Q, 6 * side, x.carried[side])
        away, inward = 0.0, 0.5 * x.gap + x.radius[side]
        for r in range(3):
            away += (x.carried[side, r] - x.acts[side, r]) * n[r]
        for k in range(12):
            if not x.moving[k // 6]:
                continue
            for r in range(3):
                if code == CARRIED:
                    P[r] = Q[r, k]
                    A[side, r, k] = P[r] - away * G[r, k]
                else:
                    P[r] = G[3 + r, k] + sign * (0.5 * G[6, k] * n[r] + inward * G[r, k])
                    A[side, r, k] = G[3 + r, k] + x.height * (G[6, k] * n[r] + x.gap * G[r, k])
                # how the point moves within its body, seen at the end
                inner[r] = P[r] - (Q[r, k] if moves else 0.0)
            for r in range(3):
                y = inner[r]
                if moves:
                    y = turns[r, 0] * inner[0] + turns[r, 1] * inner[1] + turns[r, 2] * inner[2]
                N[k] += sign * last[r] * y
        if moves:
            at = 12 + 6 * side
            cross(x.ended[side], last, inner)
            for r in range(3):
                N[at + r] += sign * inner[r]
                N[at + 3 + r] += sign * last[r]


@part
def discrete_normal(D, E, out):
    """The discrete gradient n̄ of the distance on the way from D to E, not normalised; see `second_look`."""
    d = math.sqrt(D[0] ** 2 + D[1] ** 2 + D[2] ** 2)
    e = math.sqrt(E[0] ** 2 + E[1] ** 2 + E[2] ** 2)
    along = square = 0.0
    for k in range(3):
        out[k] = 0.5 * (D[k] / d + E[k] / e)
        along += out[k] * (E[k] - D[k])
        square += (E[k] - D[k]) ** 2
    for k in range(3):
        out[k] += (e - d - along) * (E[k] - D[k]) / square


@part
def turned_changes(x):
    """As `contact_changes`, for two centres whose normal was turned for the way they go.

    Derivatives of the discrete gradient are differences of its formula.

    Returns:
        How far the normal is from that of the way that the step took.
    """
    radius, carried, ended, F, A, N = x.radius, x.carried, x.ended, x.F, x.A, x.N
    D, E, n = np.empty(3), np.empty(3), x.frame[0]
    x.turns_on = True
    V = np.zeros((2, 3, 24))
    for side in range(2):
        add_velocity(V[side], 6 * side, carried[side])
        add_velocity(V[side], 12 + 6 * side, ended[side])
    for r in range(3):
        D[r], E[r] = carried[1, r] - carried[0, r], ended[1, r] - ended[0, r]
    end = math.sqrt(E[0] ** 2 + E[1] ** 2 + E[2] ** 2)
    mean = np.empty(3)
    discrete_normal(D, E, mean)
    length = math.sqrt(mean[0] ** 2 + mean[1] ** 2 + mean[2] ** 2)
    off = 0.0
    for r in range(3):
        off = max(off, abs(mean[r] / length - n[r]))
    step = 1e-5 * end
    slope, plus, minus = np.empty((3, 6)), np.empty(3), np.empty(3)
    for k in range(6):
        which = D if k < 3 else E
        kept = which[k % 3]
        which[k % 3] = kept + step
        discrete_normal(D, E, plus)
        which[k % 3] = kept - step
        discrete_normal(D, E, minus)
        which[k % 3] = kept
        for r in range(3):
            slope[r, k] = (plus[r] - minus[r]) / (2.0 * step)
    N[:] = 0.0
    dm, dn = np.empty(3), np.empty(3)
    gap = end - radius[0] - radius[1]
    for k in range(24):
        at = 0 if k < 12 else 3
        along = grown = 0.0
        for r in range(3):
            dm[r] = 0.0
            for c in range(3):
                dm[r] += slope[r, at + c] * (V[1, c, k] - V[0, c, k])
            along += dm[r] * n[r]
            if at:
                grown += E[r] / end * (V[1, r, k] - V[0, r, k])
        for r in range(3):
            dn[r] = (dm[r] - n[r] * along) / length
        N[k] = grown / length - gap * along / (length * length)
        F[0, k] = n[1] * dn[2] - n[2] * dn[1]
        F[1, k] = n[2] * dn[0] - n[0] * dn[2]
        F[2, k] = n[0] * dn[1] - n[1] * dn[0]
        for side in range(2):
            sign = -1.0 if side == 0 else 1.0
            for r in range(3):
                A[side, r, k] = (V[side, r, k] if not at else 0.0) - sign * radius[side] * dn[r]
    return off
