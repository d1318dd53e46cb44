"""Handles of resources that a separate op creates: declarations, and the lookup of a resource.

A handle refers to its resource from the start, but the resource is empty until that op has run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from gpugraph.base.errors import NotFoundError, invalid_argument
from gpugraph.kernel import KernelContext
from gpugraph.ops.queues.handle_ops import Run, query_op, resource_name, resource_op


class Resource:
    """A resource of a session.

    Attributes:
      name: the name for messages.
      is_initialized: whether the resource has been created.
    """

    kind_name = ""
    is_initialized = False

    def __init__(self, name: str) -> None:
        self.name = name


Kind = TypeVar("Kind", bound=Resource)


def resource_of(handle: Any, kind: type[Kind], is_created: bool = True) -> Kind:
    """Return the resource to which a handle refers.

    Raises InvalidArgumentError if the resource has the wrong class. Raises NotFoundError if it has
    not been created.

    Args:
      is_created: whether to check that the resource has been created.
    """
    held = handle.item(0) if handle.size == 1 else None
    if not isinstance(held, kind):
        got = held.kind_name if isinstance(held, Resource) else type(held).__name__
        raise invalid_argument(
            f"Trying to access resource using the wrong type. Expected {kind.kind_name} got {got}"
        )
    if is_created and not held.is_initialized:
        raise NotFoundError(
            None, None, f"Could not find resource: localhost/{held.name}. Run its initializer first"
        )
    return held


def declare_resource(
    op_type: str, query_type: str, handle: str, kind: Callable[[str], Resource], doc: str
) -> None:
    """Declare an op that returns a handle, and an op that returns whether the resource has been
    created.

    Args:
      handle: the name of the handle among the inputs of the second op.
      kind: the class of the resource.
    """

    def bind(context: KernelContext, out: Any) -> Run:
        container, key = resource_name(context)
        name = context.attrs["shared_name"] or context.name
        resource = context.shared(container, key, lambda: kind(name))
        return lambda: out.fill(resource)

    resource_op(op_type, bind, doc, output="resource")

    def is_created(held: Any) -> bool:
        return bool(getattr(held.item(0), "is_initialized", False))

    query_op(
        query_type, "is_initialized: bool", is_created, "Whether the resource has been created.",
        inputs=f"{handle}: resource",
    )  # fmt: skip
