"""The models by the names that `perp compare` takes."""

import inspect
from collections.abc import Callable
from typing import Any

from perp.models.box_on_slope import box_on_slope
from perp.models.chain import chain
from perp.models.pile import pile
from perp.models.rigid import ContactModel
from perp.models.slider_crank import slider_crank
from perp.models.sphere_on_slope import sphere_on_slope
from perp.models.stack import stack
from perp.models.wedge import wedge
from perp.problems import ProblemError

MODELS: dict[str, Callable[..., ContactModel]] = {
    "box-on-slope": box_on_slope,
    "sphere-on-slope": sphere_on_slope,
    "stack": stack,
    "wedge": wedge,
    "slider-crank": slider_crank,
    "chain": chain,
    "pile": pile,
}


def build(name: str, **parameters: Any) -> ContactModel:
    """The model of this name; parameters that are None keep their defaults."""
    if name not in MODELS:
        raise ProblemError(f"no model is called {name!r}. There are: {', '.join(MODELS)}")
    known = inspect.signature(MODELS[name]).parameters
    given = {key: value for key, value in parameters.items() if value is not None}
    for key in given:
        if key not in known:
            raise ProblemError(f"model {name} has no {key}; it has: {', '.join(known)}")
    return MODELS[name](**given)
