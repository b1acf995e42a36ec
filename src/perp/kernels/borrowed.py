"""Arrays of the caller without counting references, for compiled code that is called every few microseconds.

Counting is an atomic operation for every array of a problem and every function that it is passed to: for one
contact half of the time.
"""

from __future__ import annotations

from typing import Any

from numba.core import cgutils
from numba.extending import intrinsic


def _borrowed(typing_context: Any, array: Any) -> Any:
    """The array as a view that owns nothing: whoever called must keep the array until the view is gone."""
    del typing_context

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = cgutils.create_struct_proxy(signature.return_type)(context, builder, value=arguments[0])
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        view.parent = cgutils.get_null_value(view.parent.type)
        return view._getvalue()

    return array(array), generate


borrowed: Any = intrinsic(_borrowed)
