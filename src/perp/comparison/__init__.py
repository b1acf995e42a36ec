"""The same contact problem, every formulation and every solver, one table."""
