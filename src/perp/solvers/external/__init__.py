"""Solvers of others behind one interface: one module a vendor, imported only when asked for."""
