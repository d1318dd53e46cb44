"""BaseSession, the client side of a session, which prepares a run and converts its results.

For each combination of fetches and fed tensors, it obtains one runner, an object that runs this
combination with different values. The runner comes from the backend, which the session factory for
the target has created. The session returns the fetched values in the structure of the fetches.
"""

from __future__ import annotations

import copy
import logging
import os
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar, overload

from gpugraph.base.errors import UnimplementedError
from gpugraph.config import (
    CallableOptions,
    ConfigProto,
    RunMetadata,
    RunOptions,
    SessionOptions,
    TensorConnection,
    session_config,
)
from gpugraph.devices import DeviceAttributes
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.default_stacks import session_stack
from gpugraph.graph.client.operation import Operation
from gpugraph.session.explanations.session_html import closed_html, session_html
from gpugraph.session.feed_conversion import connected_tensors, feed_tensors, flatten_feeds
from gpugraph.session.fetch_structures import FetchPlan, is_leaf, key_of, names_leaves
from gpugraph.session.partial_runs import PartialRuns
from gpugraph.session.prepared_fetches import PreparedFetches, run_with
from gpugraph.session.session_factory import SessionFactory

_Key = TypeVar("_Key")

_LOG = logging.getLogger("gpugraph")

LIVE: weakref.WeakSet[BaseSession] = weakref.WeakSet()
"""All open sessions. `Session.reset` closes those with the same target."""

MAX_PREPARED = 1024
"""The maximum number of PreparedFetches that a session keeps, one for each combination of fetches
and fed tensors.
"""


class BaseSession:
    """A session, which runs parts of a graph.

    It holds the values of variables, and compiled plans, until it is closed.
    """

    def __init__(
        self,
        target: str | bytes | None = "",
        graph: Graph | None = None,
        config: ConfigProto | None = None,
    ) -> None:
        """Create the backend of the session for `target`.

        If `config` is None, the settings of the process apply (`config/process_settings.py`).

        Raises TypeError if an argument has a wrong type, and NotFoundError if no factory accepts
        `target`.
        """
        if isinstance(target, bytes):
            target = target.decode()
        if target is not None and not isinstance(target, str):
            raise _wrong_type("target must be a string", target)
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"graph must be a tf.Graph, but got {type(graph)}")
        if config is not None and not isinstance(config, ConfigProto):
            raise _wrong_type("config must be a tf.ConfigProto", config)
        self._target = target or ""
        self._graph: Graph = graph if graph is not None else get_default_graph()
        self._config = config if config is not None else session_config()
        self._closed = False
        self._has_backend = True
        self._prepared: dict[Any, PreparedFetches] = {}
        self._ran = 0  # operations in the graph at the last preparation
        self._changes = len(self._graph._changed)
        self._barred = self._graph._barred
        self._backend = SessionFactory.new_session(SessionOptions(self._target, self._config))
        self._backend.create(self._graph)
        self._partial_runs = PartialRuns(self._graph, self._backend)
        LIVE.add(self)

    @property
    def graph(self) -> Graph:
        """The graph that this session runs."""
        return self._graph

    @property
    def graph_def(self) -> Any:
        """The graph as a GraphDef, with shapes if `graph_options.infer_shapes` is set."""
        return self._graph.as_graph_def(add_shapes=self._config.graph_options.infer_shapes)

    @property
    def sess_str(self) -> str:
        """The session's target."""
        return self._target

    @overload
    def run(
        self,
        fetches: Operation,
        feed_dict: Any = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> None: ...

    @overload
    def run(
        self,
        fetches: list[Any],
        feed_dict: Any = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> list[Any]: ...

    @overload
    def run(
        self,
        fetches: tuple[Any, ...],
        feed_dict: Any = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> tuple[Any, ...]: ...

    @overload
    def run(
        self,
        fetches: dict[_Key, Any],
        feed_dict: Any = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> dict[_Key, Any]: ...

    @overload
    def run(
        self,
        fetches: Any,
        feed_dict: Any = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any: ...

    def run(
        self,
        fetches: Any,
        feed_dict: Any = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:
        """Run the graph and return the values of `fetches`, in their structure.

        Raises RuntimeError if the session is closed or the graph is empty, and TypeError or
        ValueError if fetches or feeds are invalid. If the run fails, raises one of TensorFlow's
        errors (`tf.errors`), which names the operation and the line of the program that created it.

        Args:
          fetches: a tensor, operation, variable or name, or any nesting of lists, tuples and dicts
            of them. The value of an operation is None. Values are NumPy arrays, or NumPy scalars
            for rank 0.
          feed_dict: a dict from tensors or their names to values. In this run, these values replace
            the tensors' own values.
          options: a RunOptions, such as a time limit.
          run_metadata: a RunMetadata to be filled with the step statistics of the run.
        """
        prepared, values = self._prepare(fetches, feed_dict)
        arrays = prepared.arrays(values)
        if options is None and run_metadata is None:
            results = prepared.runner.run(arrays)
            if prepared.simple:  # the same shortcut as in `answer`
                return prepared.plan.rebuild(results)
            return prepared.answer(arrays, results)
        return run_with(prepared, arrays, options, run_metadata)

    def _prepare(self, fetches: Any, feed_dict: Any) -> tuple[PreparedFetches, Iterable[Any]]:
        """Return the `PreparedFetches` for these fetches and feed keys, and the fed values."""
        kind = type(fetches)
        head = (kind, *fetches) if kind is list or kind is tuple else fetches
        fed = feed_dict if type(feed_dict) is dict else _feeds(feed_dict)
        key = (head, *fed)
        graph = self._graph
        if self._barred != graph._barred:  # prepared fetches may be forbidden now
            self._barred = graph._barred
            self._prepared.clear()
        try:
            prepared = self._prepared.get(key)
        except TypeError:  # unhashable: there are lists or dicts in the fetches
            key = (key_of(fetches), *fed)
            prepared = self._prepared.get(key)
        if prepared is not None and self._changes == len(graph._changed):
            return prepared, fed.values()
        return self._prepare_anew(key, fetches, fed)

    def _prepare_anew(
        self, key: Any, fetches: Any, feed_dict: Mapping[Any, Any]
    ) -> tuple[PreparedFetches, Iterable[Any]]:
        self._check_runnable()
        keys, values = flatten_feeds(feed_dict)
        prepared = self._make(fetches, keys)
        if names_leaves(fetches) and all(map(is_leaf, feed_dict)):
            if len(self._prepared) >= MAX_PREPARED:
                self._prepared.clear()  # cheap to rebuild: the backend keeps its runners
            self._prepared[key] = prepared
        return prepared, values

    def _make(
        self, fetches: Any, keys: Sequence[Any], connections: Sequence[TensorConnection] = ()
    ) -> PreparedFetches:
        self._warn_of_changes()
        plan = FetchPlan(self._graph, fetches)
        tensors = feed_tensors(self._graph, keys)
        fed = set(tensors)
        wanted = [tensor for tensor in plan.tensors if tensor not in fed]
        if connections:
            connected = connected_tensors(self._graph, connections, tensors)
            runner = self._backend.prepare(tensors, wanted, plan.targets, connected)
        else:
            runner = self._backend.prepare(tensors, wanted, plan.targets)
        return PreparedFetches(plan, tensors, runner, self._backend.kept_tensors)

    def _warn_of_changes(self) -> None:
        """Warn once if operations were changed after this session has run the graph."""
        changed = self._graph._changed
        late = [op for op in changed[self._changes :] if op._id < self._ran]
        self._changes = len(changed)
        self._ran = self._graph.version
        for op in dict.fromkeys(late):
            _LOG.warning(
                "Operation '%s' (made at %s) was changed after it was run by a session. Plans of "
                "this session keep the operation as it was. Change operations before they "
                "run, or create a new session.",
                op.name,
                op.origin,
            )

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> str:
        """Begin a run that calls of `partial_run` execute in parts, and return its handle.

        Raises the errors of `run`. Raises InvalidArgumentError if there is nothing to compute, or a
        tensor is both fed and fetched.

        Args:
          fetches: the tensors that the parts may fetch, and operations that run as soon as their
            feeds are available.
          feeds: a tensor or a list of tensors that the parts feed. Each must be fed once.
        """
        self._check_runnable()
        return self._partial_runs.setup(fetches, () if feeds is None else feeds)

    def partial_run(self, handle: str | None, fetches: Any, feed_dict: Any = None) -> Any:
        """Run one part of a run that `partial_run_setup` began, and return the values of `fetches`.

        A part can use everything that earlier parts have fed and computed. It runs all operations
        that were set up for this handle, whose feeds are available, and that have not run yet.
        Between two parts, the session may run parts of other handles, or `run`. The handle expires
        after the last feed and fetch. If a part fails, all later parts with the handle raise the
        same error. If the handle is empty, this method does the same as `run`.

        Raises the errors of `run`. Raises RuntimeError if an operation is among the fetches. Raises
        InvalidArgumentError if the handle is invalid, or if a tensor was not set up, was already
        fed or fetched, or cannot be computed yet.
        """
        if handle is None:
            return self.run(fetches, feed_dict)
        self._check_runnable()
        return self._partial_runs.run(handle, fetches, _feeds(feed_dict))

    def make_callable(
        self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """Return a function that runs `fetches` and returns their values. Its arguments are the
        values of `feed_list`, in order.

        If `accept_options` is true, the function also has the parameters `options` and
        `run_metadata`. Raises the errors of `run`.
        """
        if feed_list is not None and not isinstance(feed_list, (list, tuple)):
            raise TypeError("`feed_list` must be a list or tuple.")
        self._check_open()
        return self._callable(self._make(fetches, list(feed_list or ())), accept_options)

    def _callable(self, prepared: PreparedFetches, accept_options: bool) -> Callable[..., Any]:
        count = len(prepared.tensors)

        def call(*values: Any, **kwargs: Any) -> Any:
            self._check_open()
            if kwargs and not accept_options:
                raise TypeError(f"This callable takes no keyword arguments: {sorted(kwargs)}")
            if len(values) != count:
                raise TypeError(
                    f"This callable expects {count} positional arguments, but got {len(values)}."
                )
            arrays = prepared.arrays(values)
            if kwargs:
                return run_with(prepared, arrays, **kwargs)
            return prepared.answer(arrays, prepared.runner.run(arrays))

        return call

    def _make_callable_from_options(self, callable_options: CallableOptions) -> Callable[..., Any]:
        """Return a callable for the names in a CallableOptions.

        The callable receives the values of `feed`, in order, and the keyword argument
        `run_metadata`. It returns the values of `fetch`. `tensor_connection` feeds a tensor with
        the value of another tensor. Raises the errors of `run`. Raises TypeError if connected
        tensors have different dtypes, and UnimplementedError if `feed_devices` or `fetch_devices`
        is set.
        """
        wanted = callable_options
        if wanted.feed_devices or wanted.fetch_devices:
            raise UnimplementedError.of_no_node(
                "Fed and fetched values are NumPy arrays on the host: leave feed_devices and "
                "fetch_devices of the CallableOptions empty"
            )
        self._check_open()
        fetches = [*wanted.fetch, *wanted.target]
        call = self._callable(self._make(fetches, wanted.feed, wanted.tensor_connection), True)
        fetched = slice(len(wanted.fetch))
        if wanted.run_options == RunOptions():
            return lambda *values, **kwargs: call(*values, **kwargs)[fetched]
        options = copy.deepcopy(wanted.run_options)
        return lambda *values, **kwargs: call(*values, options=options, **kwargs)[fetched]

    def explain(self, fetches: Any, feed_dict: Any = None) -> Any:
        """Return an explanation of how a call of `run` with these arguments would be executed. It
        contains the devices with reasons, the memory, and the compiler passes.

        If the plan does not exist yet, it is compiled, but not run. To read the result, print it,
        or use the methods of `Explanation`.
        """
        prepared, values = self._prepare(fetches, feed_dict)
        return prepared.runner.explain(prepared.arrays(values))

    def report(
        self, path: str | os.PathLike[str] | None, fetches: Any = None, feed_dict: Any = None
    ) -> Any:
        """Run `fetches` once, as `run` does, and write a page about this run to `path`.

        The page is HTML that needs no network. It shows the graph, a time line, memory, the most
        expensive steps, and the reasons for fusion and placement. If `fetches` is None, the page is
        about the last traced run (`tf.RunOptions.FULL_TRACE`, with metadata).

        Raises the errors of `run`. Raises OSError if the file cannot be written. Raises ValueError
        if `fetches` is None and no run was traced.

        Returns the `StepReport`, which notebooks display.

        Args:
          path: the path of the file, or None to write no file.
        """
        if fetches is None:
            self._check_open()
            report = self._backend.last_report()
        else:
            prepared, values = self._prepare(fetches, feed_dict)
            report = prepared.runner.report(prepared.arrays(values))
        if path is not None:
            report.write(path)
        return report

    def list_devices(self) -> list[DeviceAttributes]:
        """Return the session's devices, each with its name, type, memory limit in bytes and
        incarnation.
        """
        self._check_open()
        return self._backend.list_devices()

    def memory_stats(self) -> dict[str, Any]:
        """Return a dict from full device names to `AllocatorStats` (bytes in use, peak, ...). The
        attribute `owners` has the bytes of each owner, largest first.
        """
        self._check_open()
        return self._backend.memory_stats()

    def release_memory(self) -> int:
        """Free the memory that is kept for later runs, and return unused regions to the system.

        Variables keep their values. Later runs are compiled again. Returns the number of freed
        bytes.
        """
        self._check_open()
        return self._backend.release_memory()

    def _repr_html_(self) -> str:
        if self._closed:
            return closed_html(self._target)
        return session_html(self._target, self._graph, self._backend)

    def as_default(self) -> AbstractContextManager[Any]:
        """Return a context manager that makes this the default session of the thread."""
        return session_stack.using(self)

    def close(self) -> None:
        """Release variables, plans and devices. Any later use raises RuntimeError.

        If a signal handler raises an exception during this call, a second call releases the
        remaining resources. Deletion of the session releases them too.
        """
        self._closed = True
        if self._has_backend:
            LIVE.discard(self)
            self._prepared.clear()
            self._partial_runs.clear()
            self._has_backend = False
            try:
                self._backend.close()
            except BaseException:
                self._has_backend = True
                raise

    def _check_runnable(self) -> None:
        self._check_open()
        if not self._graph.version:
            raise RuntimeError(
                "The Session graph is empty. Add operations to the graph before calling run()."
            )

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")

    _is_finalizing = staticmethod(sys.is_finalizing)
    """It is stored in the class, because the module's globals may no longer exist when `__del__`
    runs at exit.
    """

    def __del__(self) -> None:
        backend = getattr(self, "_backend", None)
        if backend is not None and self._has_backend and not self._is_finalizing():
            backend.close()


def _wrong_type(rule: str, value: Any) -> TypeError:
    """Return a TypeError whose message begins with `rule`. If the value has the type of another
    argument of `Session`, the message suggests this argument.
    """
    keyword = {ConfigProto: "config", Graph: "graph"}.get(type(value))
    hint = f' Did you do "Session({keyword})" instead of "Session({keyword}={keyword})"?'
    return TypeError(f"{rule}, but got {type(value)}.{hint if keyword else ''}")


_NOTHING_FED: Mapping[Any, Any] = {}


def _feeds(feed_dict: Any) -> Mapping[Any, Any]:
    """Return the feeds as a mapping. For None, return an empty mapping.

    Raises TypeError if the feeds have any other type.
    """
    fed = _NOTHING_FED if feed_dict is None else feed_dict
    if not isinstance(fed, (dict, Mapping)):
        raise TypeError(
            f"The argument feed_dict must be a dictionary, but it is a {type(fed).__name__}"
        )
    return fed
