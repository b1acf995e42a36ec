"""Mixed complementarity problems of the literature, written from their formulas."""
