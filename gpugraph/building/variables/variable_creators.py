"""Who makes a variable: the innermost `variable_creator_scope`, then the next, then the class.

`tf.Variable(...)` asks the creators of its graph and thread, and returns what they return.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from gpugraph.graph.client.default_graph_functions import get_default_graph


class CreatedByScopes(type):
    """The type of classes whose instances are made by the creators around, if there are any.

    A subclass's are made by itself: the creators' last answer is an instance of the class.
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if any(isinstance(base, CreatedByScopes) for base in cls.__bases__):
            return super().__call__(*args, **kwargs)
        graph = get_default_graph()
        creators = graph._scope.creators
        bound = cls.__signature__.bind(*args, **kwargs)
        if not creators:
            return cls._make(*bound.args, **bound.kwargs)
        bound.apply_defaults()
        make: Callable[..., Any] = cls._make
        for creator in creators:
            make = partial(creator, make)
        return make(**bound.arguments)

    def _make(cls, *args: Any, **kwargs: Any) -> Any:
        """An instance of the class, or of the subclass that its `_kind` chooses."""
        arguments = cls.__signature__.bind(*args, **kwargs).arguments
        message = arguments.get("variable_def")
        use_resource = getattr(message, "is_resource", arguments.get("use_resource"))
        chosen: Any = cls._kind(use_resource)  # type: ignore[attr-defined]
        return type.__call__(chosen, *args, **kwargs)

    @property
    def __signature__(cls) -> inspect.Signature:
        """What the class is called with: what its `__init__` takes."""
        signature = inspect.signature(vars(cls)["__init__"])
        return signature.replace(parameters=list(signature.parameters.values())[1:])


def variable_creator_scope(variable_creator: Callable[..., Any]) -> AbstractContextManager[None]:
    """Inside, variables of the default graph are made by `variable_creator`, in this thread.

    variable_creator: `creator(next_creator, **arguments)`, given all arguments of `tf.Variable`
      by name; it returns what `next_creator(**arguments)` returns, or something in its place.
      The innermost scope's creator is asked first. `tf.get_variable` makes variables so, too.

    RuntimeError when scopes are not left in the opposite order of entering.
    """
    graph = get_default_graph()
    return graph._variable_creator_scope(variable_creator)
