"""Small mechanisms whose contact problem is known by formula: what `perp compare` compares solvers on.

Their parameters are the tilt or slope `angle` [degrees], the friction coefficient `mu` and the time step [s].
"""
