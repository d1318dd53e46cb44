"""Creation of variables through the functions that a program sets with `variable_creator_scope`.

`tf.Variable(...)` calls the innermost creator of its graph and thread, which may call the next
creator, and so on. The last creator calls the class. `tf.Variable` returns the result of the
innermost creator.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from gpugraph.graph.client.default_graph_functions import get_default_graph


class CreatedByScopes(type):
    """The metaclass of classes whose instances are created through the active creators, if any.

    The subclasses of such a class are instantiated directly, since the call at the end of the chain
    of creators returns an instance of a subclass.
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
        """Return an instance of the class, or of the subclass that its `_kind` chooses."""
        arguments = cls.__signature__.bind(*args, **kwargs).arguments
        message = arguments.get("variable_def")
        use_resource = getattr(message, "is_resource", arguments.get("use_resource"))
        chosen: Any = cls._kind(use_resource)  # type: ignore[attr-defined]
        return type.__call__(chosen, *args, **kwargs)

    @property
    def __signature__(cls) -> inspect.Signature:
        """The signature of the class, which is the signature of its `__init__`."""
        signature = inspect.signature(cls.__init__)  # type: ignore[misc]
        return signature.replace(parameters=list(signature.parameters.values())[1:])


def variable_creator_scope(variable_creator: Callable[..., Any]) -> AbstractContextManager[None]:
    """Inside a `with` block, create this thread's variables of the default graph through
    `variable_creator`.

    The creator of the innermost scope is called first. `tf.get_variable` also calls the creators.

    Raises RuntimeError if scopes are not left in the reverse order of entering.

    Args:
      variable_creator: `creator(next_creator, **arguments)`, called with all arguments of
        `tf.Variable` by name. It returns the result of `next_creator(**arguments)`, or a
        replacement.
    """
    graph = get_default_graph()
    return graph._variable_creator_scope(variable_creator)
