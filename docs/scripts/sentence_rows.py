"""The rows of docs/sentences.md: a sentence of a document, and code whose last line is what comes out."""

# ruff: noqa: E501 (a row reads best as one line)

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One sentence.

    Attributes:
        says: What the document says, in our words.
        code: Python; the last line is an expression.
    """

    says: str
    code: str


SLIDER = "p = perp.BoxedLCP([[1.0]], [{q}], -1.0, 1.0)\n"
FRICTION = "p = perp.BoxedLCP(np.eye(2), [-9.81, {push}], [0, -0.5], [np.inf, 0.5], friction_index=[-1, 0])\n"
BOX = "m = box_on_slope(angle={angle})\n"
TOTAL = "f'{s.z[::3].sum() / m.step:.4f} N, {s.status.name}'"


PENDULUM = (
    'x = \'<mujoco><worldbody><body><joint axis="0 1 0"/><geom type="box" size="0.1 0.02 0.02" pos="1 0 0" mass="1"/></body></worldbody></mujoco>\'\n'
    "s = perp.Simulation(x, step=0.01, coordinates='maximal')\n"
)
PENDULUM_V = PENDULUM.replace("step=0.01", "step=0.002, level='velocity', correction={correction}")
RESTING = (
    "s = perp.Simulation(library.box_on_plane(), step=0.001, level='{level}', solver='fischer-burmeister')\n"
)
SOFT = (
    "def sunk(level):\n"
    "    s = perp.Simulation(library.sphere_on_plane(), step=0.005, level=level, compliance={'contacts': 1e-4})\n"
    "    s.run(1.0)\n"
    "    return s.body('sphere').position[2]\n"
)
HANGING = (
    'x = \'<mujoco><worldbody><body name="bob"><joint axis="0 1 0" damping="1"/><geom type="sphere" size="0.1" pos="0 0 -1" mass="1"/></body></worldbody></mujoco>\'\n'
    "def sunk(level):\n"
    "    s = perp.Simulation(x, step=0.005, level=level, coordinates='maximal', compliance={'joints': 1e-4})\n"
    "    s.run(1.0)\n"
    "    return -s.body('bob').position[2]\n"
)
RAIL = (
    'x = \'<mujoco><option gravity="0 0 0"/><worldbody><body name="cart"><joint name="rail" type="slide" axis="1 0 0"{part}/>'
    '<geom type="box" size="0.1 0.1 0.1" mass="1"/></body></worldbody>{motor}</mujoco>\'\n'
)
STEPPED = (
    "s = perp.Simulation(library.box_on_plane(friction=0.5), step=0.01, solver='lemke', formulation='{form}', level='{level}')\n"
    "s.body('box').set_velocity([1, 0, 0], [0, 0, 0])\n"
    "r = [s.step() for _ in range(30)]\n"
    "(all(x.met for x in r), round(float(s.body('box').position[0]), 3), round(float(s.body('box').position[2]), 6))"
)
SERVO = '<actuator><velocity joint="rail" kv="1e4" forcerange="-2 2"/></actuator>'
BOUNCE = (
    "def ratio(e):\n"
    "    s = perp.Simulation(library.sphere_on_plane(), step=0.001, restitution=e)\n"
    "    s.body('sphere').set_pose([0, 0, 0.5])\n"
    "    v = [float(s.step() and s.body('sphere').velocity[2]) for _ in range(400)]\n"
    "    return round(max(max(v), 0.0) / -min(v), 2)\n"
    "[ratio(e) for e in ({e})]"
)
WEIGHT = "f'{s.step().contact_forces().sum(axis=0)[2]:.4f} N'"


FOUR, TWO = ("dual:qcp", "dual:nlp", "primal:qcp", "primal:nlp"), ("dual:qcp", "primal:qcp")
MCPS = ("dual:", "equations_of_motion:")


def gams(solver: str, *cells: str, angle: int = 25) -> str:
    """Cells of the published table, each a formulation and a model type: forces and statuses."""
    pairs = [cell.split(":") for cell in cells]
    asked = ", ".join(f"('{form}', { {'model': model} if model else None })" for form, model in pairs)
    return (
        BOX.format(angle=angle)
        + "def force(form, options):\n"
        + f"    s = perp.solve(m.problem, '{solver}', formulation=form, tol=1e-7, throw=False, options=options)\n"
        + f"    return {TOTAL}\n"
        + f"[force(*cell) for cell in [{asked}]]"
    )


DOCUMENTS = {
    "000: boxed constraints for pivoting solvers": [
        Row(
            "Iterative solvers clamp λ after each iteration (PGS).",
            SLIDER.format(q=-3.0) + "perp.solve(p, 'pgs').z[0]",
        ),
        Row(
            "Lemke's method handles a box through λ⁺, λ⁻, β⁺, β⁻.",
            SLIDER.format(q=-3.0) + "perp.solve(p, 'lemke', formulation='split').z[0]",
        ),
        Row(
            "(1)–(8): at the limit λ⁺ = λₕ, and β⁺ is the remaining violation of the equation.",
            SLIDER.format(q=-3.0)
            + "[float(x[0]) for x in perp.solve(p, 'lemke', formulation='split').info['split']]",
        ),
        Row(
            "Case 1: no force where none is needed.",
            SLIDER.format(q=0.0) + "perp.solve(p, 'lemke', formulation='split').cases[0].words",
        ),
        Row(
            "Case 2.1⁺: slides with the largest force.",
            SLIDER.format(q=-3.0) + "tuple(perp.solve(p, 'principal').cases[0])",
        ),
        Row(
            "Case 2.2⁺: holds with a force within its range.",
            SLIDER.format(q=-0.5) + "tuple(perp.solve(p, 'dantzig').cases[0])",
        ),
        Row(
            "Case 2.1⁻: slides the other way.",
            SLIDER.format(q=3.0) + "tuple(perp.solve(p, 'baraff').cases[0])",
        ),
        Row("Case 2.2⁻: holds the other way.", SLIDER.format(q=0.5) + "tuple(perp.solve(p).cases[0])"),
        Row(
            "The final LCP of 4 n rows; its M + Mᵀ is semidefinite.",
            "from perp.formulations.boxed_as_lcp import boxed_as_split_lcp\n"
            + SLIDER.format(q=-3.0)
            + "l = boxed_as_split_lcp(p).problem\n(l.size, bool(np.linalg.eigvalsh(l.M + l.M.T).min() >= -1e-12))",
        ),
        Row(
            "λₗ < 0 < λₕ is required there; here any lo ≤ hi is accepted.",
            "p = perp.BoxedLCP([[1.0]], [-3.0], 0.25, np.inf)\nperp.solve(p, 'lemke', formulation='split').z[0]",
        ),
        Row(
            "Contact friction: 9.81 N of weight, μ = 0.5, pushed with 6 N.",
            FRICTION.format(push=6.0) + "perp.solve(p, 'lemke', formulation='split').z.round(9).tolist()",
        ),
        Row(
            "Slider friction of 2 N on 1 kg: pushed with 1 N it holds; with 3 N it slides at 0.1 m/s after 0.1 s.",
            RAIL.format(part=' frictionloss="2"', motor="") + "def after(force):\n"
            "    s = perp.Simulation(x, step=0.01, solver='lemke', formulation='box+split')\n"
            "    s.body('cart').apply([force, 0, 0])\n"
            "    s.run(0.1)\n"
            "    return round(float(s.body('cart').velocity[0]), 9) + 0.0\n"
            "[after(force) for force in (1.0, 3.0)]",
        ),
        Row(
            "Slider motor of 2 N that drives 1 kg at 1 m/s; pushed back with 3 N it stalls and slides back.",
            RAIL.format(part="", motor=SERVO) + "def after(force):\n"
            "    s = perp.Simulation(x, step=0.01, solver='lemke', formulation='box+split')\n"
            "    s.body('cart').apply([-force, 0, 0])\n"
            "    s.run(1.0, [1.0])\n"
            "    return round(float(s.body('cart').velocity[0]), 4)\n"
            "[after(force) for force in (0.0, 3.0)]",
        ),
        Row(
            "Overloaded hinge motor with a limit of 2 N·m: it stalls.",
            "p = perp.BoxedLCP([[0.5]], [-3.0], -2.0, 2.0)\n"
            "s = perp.solve(p, 'lemke', formulation='shifted')\n(float(s.z[0]), s.cases[0].words)",
        ),
    ],
    "001: pivoting methods": [
        Row(
            "Active and free sets of a solution.",
            "s = perp.solve(perp.LCP([[2, 1], [1, 2]], [-5, 1]), 'lemke')\ns.info['active_set'].tolist()",
        ),
        Row(
            "The complementarity matrix of an active set; C s = q.",
            "p = perp.LCP([[2, 1], [1, 2]], [-5, 1])\nnp.linalg.solve(perp.complementary_matrix(p, [0]), p.q).tolist()",
        ),
        Row(
            "A semidefinite LCP can be written as a quadratic program.",
            "p = perp.LCP([[2, 1], [1, 2]], [-5, 1])\nperp.solve(p, 'clarabel', formulation='lcp-as-qp').z.round(6).tolist()",
        ),
        Row(
            "Direct: tests all 2ⁿ cones and finds all solutions.",
            "p = perp.LCP([[1, 2], [2, 1]], [-1, -1])\n"
            "len(perp.solve(p, 'direct', options={'all_solutions': True}).info['solutions'])",
        ),
        Row(
            "Direct: three rows with spherical triangles, 8 cones.",
            "p = perp.LCP([[2, 1, 0], [1, 2, 1], [0, 1, 2]], [-1, -4, 1])\nperp.solve(p, 'direct').z.tolist()",
        ),
        Row(
            'Direct: "no solution" after all cones were tested.',
            "perp.solve(perp.LCP([[0, 1], [0, 1]], [-1, 1]), 'direct', throw=False).status.name",
        ),
        Row(
            "Direct: larger problems are delegated, with a note.",
            "perp.solve(perp.LCP(np.eye(17), -np.ones(17)), 'direct').message",
        ),
        Row(
            "Direct as sub-solver of block Gauss–Seidel.",
            "M = np.eye(6) + 0.1\nperp.solve(perp.LCP(M, -np.ones(6)), 'block-gauss-seidel', options={'rows': 3}).status.name",
        ),
        Row("Dantzig: bounds lo ≤ x ≤ hi.", SLIDER.format(q=-0.5) + "perp.solve(p, 'dantzig').z[0]"),
        Row(
            "Dantzig: unbounded variables.",
            "p = perp.BoxedLCP([[2, 1], [1, 2]], [-1, -1], [-np.inf, 0], np.inf)\nperp.solve(p, 'dantzig').z.round(9).tolist()",
        ),
        Row("Dantzig: findex.", FRICTION.format(push=6.0) + "perp.solve(p, 'dantzig').z.round(9).tolist()"),
        Row(
            "hi is the magnitude of hi · x[findex], also where that x is negative.",
            "p = perp.BoxedLCP.from_ax_b(np.eye(2), [-4.0, 5.0], [-np.inf, -0.5], [np.inf, 0.5],"
            " friction_index=[-1, 0], negative_limit='magnitude')\nperp.solve(p, 'dantzig').z.round(9).tolist()",
        ),
        Row(
            "Dantzig: no requirement on the matrix: here it is not symmetric.",
            "p = perp.LCP([[1, 2], [-2, 1]], [-1, -1])\nperp.solve(p, 'dantzig').status.name",
        ),
        Row(
            "… here it is indefinite.",
            "p = perp.LCP([[1, 2], [2, 1]], [-1, -1])\nperp.solve(p, 'dantzig').status.name",
        ),
        Row(
            "… where the method breaks down, it says so.",
            "p = perp.LCP([[-1, 1], [1, -1]], [-1, -1])\nperp.solve(p, 'dantzig', throw=False).status.name",
        ),
        Row(
            "Early termination.",
            SLIDER.format(q=-0.5) + "perp.solve(p, 'dantzig', options={'check_every': 1}).solved",
        ),
        Row("Lemke: any matrix.", "perp.solve(perp.LCP([[0, 1], [-1, 0]], [-1, 1]), 'lemke').z.tolist()"),
        Row(
            "Lemke: a ray where there is no solution, checked independently.",
            "perp.solve(perp.LCP([[0.0]], [-1.0]), 'lemke', throw=False).status.name",
        ),
        Row(
            "Lemke–Howson for bimatrix games.",
            "A = np.array([[2.0, 1.0], [1.0, 2.0]])\nM = np.block([[np.zeros((2, 2)), A], [3 - A, np.zeros((2, 2))]])\n"
            "perp.solve(perp.LCP(M, -np.ones(4)), 'lemke-howson').z.round(9).tolist()",
        ),
        Row(
            "Baraff: semidefinite, redundant contacts.",
            "perp.solve(perp.LCP(np.ones((3, 3)), -np.ones(3)), 'baraff').status.name",
        ),
        Row(
            "Pivoting handles poor conditioning and large mass ratios.",
            "M = np.diag([1.0, 1e12]) + 1e-3\nperp.solve(perp.LCP(M, [-1, -1]), 'principal', tol=1e-12).status.name",
        ),
        Row(
            "Guaranteed finite termination: all ratios tie, and exchanging one wrong row at a time would cycle.",
            "p = perp.LCP([[1, 2, 0], [0, 1, 2], [2, 0, 1]], [-1, -1, -1])\n"
            "[perp.solve(p, name).z.round(6).tolist() for name in ('lemke', 'principal', 'dantzig')]",
        ),
        Row(
            "Validation of other solvers: their answer is proved in rational arithmetic.",
            "p = perp.LCP([[2, 1], [1, 2]], [-5, -6])\nc = perp.certify(p, perp.solve(p, 'pgs', tol=1e-12))\n"
            "(c.status, *map(str, c.z))",
        ),
        Row(
            "Stewart and Trinkle's time steps as LCPs in 3D, solved by Lemke's method.",
            STEPPED.format(form="stewart-trinkle", level="position"),
        ),
        Row(
            "Anitescu and Potra's, at velocity level.",
            STEPPED.format(form="anitescu-potra", level="velocity"),
        ),
        Row(
            "Future: sparse matrices (3000 rows here; 10⁵ in the benchmark).",
            "from scipy.sparse import diags_array\n"
            "M = diags_array([-np.ones(2999), 2 * np.ones(3000), -np.ones(2999)], offsets=[-1, 0, 1])\n"
            "perp.solve(perp.LCP(M, np.sin(np.arange(3000.0))), 'principal').status.name",
        ),
    ],
    "002: the nonlinear system": [
        Row(
            "φ(a, b) = a + b − √(a² + b²) has the roots of 0 ≤ a ⊥ b ≥ 0.",
            "from perp.solvers.newton.mcp_equations import equations_of_rows\n"
            "a, b = np.array([0.0, 2.0, 1.0, -1.0]), np.array([3.0, 0.0, 1.0, 0.0])\n"
            "bounds, units = (np.zeros(4), np.full(4, np.inf)), (np.ones(4), np.ones(4))\n"
            "equations_of_rows(a, b, *bounds, *units, 0.0)[0].round(6).tolist()",
        ),
        Row(
            "Contacts and friction with this function: Newton's method on the whole system.",
            "p = perp.ContactProblem.coulomb(np.eye(3), [-1.0, 0.42, 0.56], 0.5)\n"
            "(perp.solve(p, 'fischer-burmeister', tol=1e-12).velocity.round(9) + 0.0).tolist()",
        ),
        Row(
            "The kinematic map G(q) is a 7 × 6 matrix, q̇ = G u.",
            "from perp.dynamics.kinematic_map import kinematic_map\n"
            "(kinematic_map(np.array([1.0, 0, 0, 0])) @ [1, 2, 3, 0.2, 0.4, 0.6]).round(6).tolist()",
        ),
        Row(
            "q⁺ = q⁻ + h G(q⁺) u⁺: perp's steps use the exponential map, whose residual here is of order h².",
            "from perp.dynamics.kinematic_map import kinematic_residual\n"
            "c, s = np.cos(0.005), np.sin(0.005)\n"
            "r = kinematic_residual(np.array([0, 0, 0, 1.0, 0, 0, 0]), np.array([0, 0, 0, c, 0, 0, s]), np.array([0, 0, 0, 0, 0, 1.0]), 0.01)\n"
            "f'{np.linalg.norm(r):.2e}'",
        ),
    ],
    "003: frictional contact in GAMS": [
        Row(
            "Equations of motion, 25°: 8.8909 N.",
            BOX.format(angle=25)
            + "s = perp.solve(m.problem, 'mcp-newton', formulation='equations_of_motion')\n"
            + TOTAL,
        ),
        Row(
            "Force–acceleration form: forces in newtons, accelerations in m/s².",
            "f = 9.81 * np.array([np.sin(0.4), 0, -np.cos(0.4)])\nJ = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]])\n"
            "p = perp.ContactProblem.from_forces(np.eye(3), J, f, sets=[perp.Coulomb(0.3)])\n"
            "s = perp.solve(p)\n((s.impulse.round(4) + 0.0).tolist(), (s.velocity.round(4) + 0.0).tolist())",
        ),
        Row("As EMP, RESHOP and PATH.", gams("gams-reshop", "equations_of_motion:")),
        Row("CONOPT: dual and primal, QCP and NLP.", gams("gams-conopt", *FOUR)),
        Row("CPLEX: dual and primal as QCP.", gams("gams-cplex", *TWO)),
        Row("Gurobi: the same (its own tolerance is 1e-8, relative).", gams("gams-gurobi", *TWO)),
        Row("Ipopt: all four.", gams("gams-ipopt", *FOUR)),
        Row("MINOS: all four.", gams("gams-minos", *FOUR)),
        Row("KNITRO: all four.", gams("gams-knitro", *FOUR)),
        Row("PATHNLP: dual and primal as NLP.", gams("gams-pathnlp", "dual:nlp", "primal:nlp")),
        Row(
            "MILES: dual as NLP (YES in the list, no number in the table), and equations of motion.",
            gams("gams-miles", *MCPS),
        ),
        Row("PATH: the same.", gams("gams-path", *MCPS)),
        Row("CPLEX's primal at 0°: 9.81 N.", gams("gams-cplex", "primal:qcp", angle=0)),
        Row(
            "Models for users who have GAMS: `perp compare box-on-slope --angle 25 --export FOLDER`.",
            "import tempfile\nfrom pathlib import Path\nfrom perp.cli.app import run\n"
            "folder = Path(tempfile.mkdtemp())\n"
            "run(['compare', 'box-on-slope', '--angle', '25', '--solver', 'gams-conopt', '--export', str(folder)])\n"
            "sorted(path.name for path in folder.iterdir())",
        ),
        Row(
            "Lindo: why it cannot be run.",
            "[info.reason for info in perp.solvers() if info.name == 'gams-lindo'][0]",
        ),
        Row(
            "The relaxation is not Coulomb once the block slides (μ = 0.3).",
            "m = box_on_slope(angle=25, mu=0.3)\ns = perp.solve(m.problem, 'clarabel', formulation='dual', throw=False)\n"
            + TOTAL,
        ),
        Row(
            "… the primal's fixed point is.",
            "m = box_on_slope(angle=25, mu=0.3)\ns = perp.solve(m.problem, 'clarabel', formulation='primal')\n"
            + TOTAL,
        ),
    ],
    "004: joints, contacts and friction in the nonlinear system": [
        Row(
            "Joints at position level: c(q⁺) = 0, no drift (a pendulum of 1 m, 100 steps).",
            PENDULUM
            + "'open by less than 1e-9: ' + str(max(s.step().joint_error for _ in range(100)) < 1e-9)",
        ),
        Row(
            "Joints at velocity level with Υ: the error remains, but bounded.",
            PENDULUM_V.format(correction=0.2) + "e = [s.step().joint_error for _ in range(200)]\n"
            "(bool(max(e) > 1e-6), bool(max(e) < 1e-2))",
        ),
        Row(
            "Without Υ velocity level drifts further.",
            PENDULUM_V.format(correction=0.0) + "e = [s.step().joint_error for _ in range(200)]\n"
            "t = perp.Simulation(x, step=0.002, level='velocity', coordinates='maximal', correction=0.2)\n"
            "bool(e[-1] > 3 * [t.step().joint_error for _ in range(200)][-1])",
        ),
        Row(
            "Joints and contacts at different levels.",
            "s = perp.Simulation(library.box_on_plane(), level={'joints': 'position', 'contacts': 'velocity'})\n"
            "s.step().met",
        ),
        Row(
            "Contacts at position level by Fischer–Burmeister: 0 ≤ λ_n ⊥ gap(q⁺) ≥ 0, weight 9.81 N.",
            RESTING.format(level="position") + WEIGHT,
        ),
        Row(
            "… and at velocity level.",
            RESTING.format(level="velocity") + WEIGHT,
        ),
        Row(
            "Σ: c(q⁺) + Σ λ = 0. A ball of 1 kg on contacts with a compliance of 10⁻⁴ m/N sinks by 0.981 mm, at both levels.",
            SOFT + "[f'{1e3 * (0.1 - sunk(level)):.3f} mm' for level in ('position', 'velocity')]",
        ),
        Row(
            "… and joints: 1 kg on a hinge with 10⁻⁴ m/N hangs 0.981 mm lower.",
            HANGING + "[f'{1e3 * sunk(level):.3f} mm' for level in ('position', 'velocity')]",
        ),
        Row(
            "Σ of the file, from solref and solimp: the ball sinks as far as in MuJoCo.",
            "import mujoco\n"
            "s = perp.Simulation(library.sphere_on_plane(), step=0.002, softness='file')\n"
            "s.run(1.0)\n"
            "m = mujoco.MjModel.from_xml_string(library.sphere_on_plane())\n"
            "d = mujoco.MjData(m)\n"
            "mujoco.mj_step(m, d, 2000)\n"
            "[f'{1e3 * (0.1 - z):.3f} mm' for z in (s.body('sphere').position[2], d.qpos[2])]",
        ),
        Row(
            "Υ has values between 0 and 1, per kind and per joint; others are refused.",
            PENDULUM.split("s = ", maxsplit=1)[0]
            + "try:\n    perp.Simulation(x, correction={'joints': 1.5})\n"
            "except perp.ProblemError as error:\n    words = str(error)\nwords",
        ),
        Row(
            "Υ: a step at velocity level removes this share of an overlap of 0.5 mm.",
            "s = perp.Simulation(library.sphere_on_plane(), step=0.01, level='velocity', correction=0.2)\n"
            "s.body('sphere').set_pose([0, 0, 0.0995])\n"
            "s.step()\n"
            "f'{1e3 * (0.1 - s.body(\"sphere\").position[2]):.3f} mm'",
        ),
        Row(
            "e = 1: elastic; e = 0: no rebound.",
            BOUNCE.format(e="1.0, 0.0"),
        ),
        Row(
            "Restitution: a ball that lands with e = 0.5 leaves with half its speed.",
            "s = perp.Simulation(library.sphere_on_plane(), step=0.001, restitution=0.5)\n"
            "s.body('sphere').set_pose([0, 0, 0.5])\n"
            "v = [float(s.step() and s.body('sphere').velocity[2]) for _ in range(400)]\n"
            "round(max(v) / -min(v), 2)",
        ),
        Row(
            "Friction is at velocity level: ‖λ_f‖ = μ λ_n against the motion where it slides.",
            "p = perp.ContactProblem.coulomb(np.eye(3), [-1.0, 0.6, 0.8], 0.5)\n"
            "(perp.solve(p, 'fischer-burmeister', tol=1e-12).impulse.round(9) + 0.0).tolist()",
        ),
        Row(
            "… and inside the cone where it sticks.",
            "p = perp.ContactProblem.coulomb(np.eye(3), [-1.0, 0.18, 0.24], 0.5)\n"
            "(perp.solve(p, 'fischer-burmeister', tol=1e-12).impulse.round(9) + 0.0).tolist()",
        ),
        Row(
            "A symmetric system: the preconditioned conjugate residual method on the Schur complement.",
            "p = perp.ContactProblem.coulomb(np.eye(3), [-1.0, 0.6, 0.8], 0.5)\n"
            "perp.solve(p, 'fischer-burmeister', options={'linear_solver': 'conjugate-residual'}).status.name",
        ),
        Row(
            "The complete system: M (u⁺ − ũ) = Jᵀ λ, with all matrices at q⁻.",
            "p = perp.Simulation(library.stack(3)).contact_problem()\n"
            "x, d = perp.solve(p, 'fischer-burmeister').impulse, p.dynamics\n"
            "missing = d.mass @ d.body_velocity(x) - d.momentum - d.jacobian.T @ x\n"
            "bool(abs(missing).max() < 1e-12)",
        ),
        Row(
            "Position level is the default.",
            "str(perp.stepping.StepSettings().level)",
        ),
        Row(
            "The cone is isotropic, without approximation: a box pushed along (0.6, 0.8) slides along it.",
            "s = perp.Simulation(library.box_on_plane(friction=0.3), step=0.01, solver='fischer-burmeister')\n"
            "s.body('box').set_velocity([0.6, 0.8, 0], [0, 0, 0])\n"
            "s.step()\n"
            "v = s.body('box').velocity\n"
            "round(float(v[1] / v[0]), 6)",
        ),
    ],
}
