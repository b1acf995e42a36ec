"""One problem into another and the answer back, one module each."""

from perp.formulations.registry import (
    Formulation,
    Reformulated,
    all_formulations,
    composed,
    find_formulation,
    formulation,
)

__all__ = ["Formulation", "Reformulated", "all_formulations", "composed", "find_formulation", "formulation"]
