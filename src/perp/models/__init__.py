"""Small mechanisms whose contact problem is known by formula: what `perp compare` compares solvers on."""
