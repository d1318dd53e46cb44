"""Scaffold, a container of the operations that initialize, check and save a monitored session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.building.variables import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
    tables_initializer,
)
from gpugraph.building.variables.graph_resources import (
    local_resources,
    report_uninitialized_resources,
    shared_resources,
)
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.operation import Operation
from gpugraph.library.summary.summary_functions import merge_all
from gpugraph.library.train.monitored_sessions.default_saver import default_saver
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.control.group_and_no_op import group
from gpugraph.platform import logging


class Scaffold:
    """The operations and the saver of a training session.

    `finalize` takes the missing operations from the graph's collections, or creates them. The
    constructor raises TypeError if `copy_from_scaffold` is not a Scaffold.

    Args:
      init_op: an operation that initializes the global variables.
      init_feed_dict: the feeds of `init_op`.
      init_fn: a function that is called as `init_fn(scaffold, session)` after `init_op` was run.
      ready_op: a tensor with the names of all variables that have no value.
      ready_for_local_init_op: a tensor with the names of the global variables that have no value.
      local_init_op: an operation that initializes local variables and tables.
      summary_op: the Summary of a step. By default, all summaries are merged. If there are no
        summaries, it is None.
      saver: the Saver of checkpoints.
      copy_from_scaffold: a Scaffold whose attributes replace missing arguments.
      local_init_feed_dict: the feeds of `local_init_op`.
    """

    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[[Any, Any], Any] | None = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: Any = None,
        copy_from_scaffold: Scaffold | None = None,
        local_init_feed_dict: Any = None,
    ) -> None:
        if copy_from_scaffold is not None and not isinstance(copy_from_scaffold, Scaffold):
            raise TypeError("copy_from_scaffold is not a Scaffold instance.")

        def chosen(part: Any, name: str) -> Any:
            return getattr(copy_from_scaffold, name, None) if part is None else part

        self._user_init_fn = chosen(init_fn, "_user_init_fn")
        self._init_op = chosen(init_op, "_init_op")
        self._init_feed_dict = chosen(init_feed_dict, "_init_feed_dict")
        self._ready_op = chosen(ready_op, "_ready_op")
        self._ready_for_local_init_op = chosen(ready_for_local_init_op, "_ready_for_local_init_op")
        self._local_init_op = chosen(local_init_op, "_local_init_op")
        self._local_init_feed_dict = chosen(local_init_feed_dict, "_local_init_feed_dict")
        self._summary_op = chosen(summary_op, "_summary_op")
        self._saver = chosen(saver, "_saver")

    def finalize(self) -> Scaffold:
        """Complete the missing operations and finalize the default graph. Return the Scaffold.

        Raises:
          RuntimeError: a collection contains several operations that could replace a missing
            operation, or an operation must be created but the graph is finalized.
        """
        for name, key, default in _PARTS:
            attribute = f"_{name}"
            if getattr(self, attribute) is None:
                setattr(self, attribute, Scaffold.get_or_default(name, key, default))
        if self._saver is None:
            self._saver = default_saver()
        self._saver.build()
        get_default_graph().finalize()
        logging.info("Graph was finalized.")
        return self

    @property
    def init_fn(self) -> Callable[[Any], Any] | None:
        """A function that calls the constructor's `init_fn` with a session, or None if there is no
        `init_fn`.
        """
        function = self._user_init_fn
        return (lambda session: function(self, session)) if function else None

    @property
    def init_op(self) -> Any:
        """The operation that initializes the global variables."""
        return self._init_op

    @property
    def init_feed_dict(self) -> Any:
        """The feeds of `init_op`."""
        return self._init_feed_dict

    @property
    def ready_op(self) -> Any:
        """A tensor with the names of all variables that have no value."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        """A tensor with the names of the global variables that have no value."""
        return self._ready_for_local_init_op

    @property
    def local_init_op(self) -> Any:
        """The operation that initializes local variables and tables."""
        return self._local_init_op

    @property
    def local_init_feed_dict(self) -> Any:
        """The feeds of `local_init_op`."""
        return self._local_init_feed_dict

    @property
    def summary_op(self) -> Any:
        """The Summary of a step, or None."""
        return self._summary_op

    @property
    def saver(self) -> Any:
        """The Saver of checkpoints."""
        return self._saver

    @staticmethod
    def get_or_default(
        arg_name: str, collection_key: Any, default_constructor: Callable[[], Any]
    ) -> Any:
        """Return the only item of a collection. If the collection is empty, first add
        `default_constructor()` to it.

        Raises RuntimeError if there are several items. The message asks for the argument `arg_name`
        of `Scaffold`.
        """
        graph = get_default_graph()
        items = graph.get_collection(collection_key)
        if len(items) > 1:
            raise RuntimeError(
                f'More than one item in the collection "{collection_key}". Please indicate which '
                "one to use by passing it to the tf.Scaffold constructor as:  "
                f"tf.Scaffold({arg_name}=item to use)"
            )
        if items:
            return items[0]
        item = default_constructor()
        if item is not None:
            graph.add_to_collection(collection_key, item)
        return item

    @staticmethod
    def default_local_init_op() -> Operation:
        """Return an operation that initializes local variables, tables and local resources."""
        created = [resource.create for resource in local_resources()]
        return group(local_variables_initializer(), tables_initializer(), *created)


def _default_init_op() -> Operation:
    further = get_default_graph().get_collection("saved_model_initializers")
    created = [resource.create for resource in shared_resources()]
    return group(global_variables_initializer(), *created, *further)


def _names_without_value(variables: Any, resources: Any) -> Any:
    """Return a string vector with the names of those variables and resources that have no value.

    The vector is computed in each run. If there are no variables, it is empty.

    Args:
      variables, resources: the variables and resources that are checked, by default all.
    """
    names = report_uninitialized_variables(variables)
    return concat([names, report_uninitialized_resources(resources)], 0)


_PARTS: tuple[tuple[str, str, Callable[[], Any]], ...] = (
    ("init_op", GraphKeys.INIT_OP, _default_init_op),
    ("ready_op", GraphKeys.READY_OP, lambda: _names_without_value(None, None)),
    (
        "ready_for_local_init_op",
        GraphKeys.READY_FOR_LOCAL_INIT_OP,
        lambda: _names_without_value(global_variables(), shared_resources()),
    ),
    ("local_init_op", GraphKeys.LOCAL_INIT_OP, Scaffold.default_local_init_op),
    ("summary_op", GraphKeys.SUMMARY_OP, merge_all),
)
"""The name, the collection and the default of each operation of a Scaffold, except the saver."""
