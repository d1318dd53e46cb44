"""Keras's session, the initialization of Keras's variables, and the numbering of names.

Keras uses the default session. If there is no default session, Keras creates a session on first
use. Before Keras runs anything in that session, it initializes the variables that its functions
created.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from gpugraph.building.variables import Variable, is_variable_initialized, variables_initializer
from gpugraph.config import ConfigProto
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.creation_origin import here
from gpugraph.graph.client.default_graph_functions import (
    get_default_graph,
    get_default_session,
    graph_of,
    reset_default_graph,
)
from gpugraph.library.keras.backend.learning_phase_scopes import reset_learning_phases
from gpugraph.library.train.object_checkpoints.load_status import register_session_provider
from gpugraph.session import Session


class _State(threading.local):
    """The session of each thread: the session that Keras created, or that the program passed to
    `set_session`.
    """

    session: Any = None


_STATE = _State()
_MANUAL_INITIALIZATION = [False]
_CLEARED: WeakKeyDictionary[Graph, str] = WeakKeyDictionary()
"""The graphs that `clear_session` replaced, with the line of the program that called
`clear_session`.
"""

_RESTORES: WeakKeyDictionary[Any, WeakSet[Callable[[], None]]] = WeakKeyDictionary()
_VARIABLES: WeakKeyDictionary[Graph, WeakKeyDictionary[Variable, None]] = WeakKeyDictionary()
_UIDS: WeakKeyDictionary[Graph, defaultdict[str, int]] = WeakKeyDictionary()


def get_graph() -> Graph:
    """Return the graph to which Keras adds ops: the default graph."""
    return get_default_graph()


# -- names


def get_uid(prefix: str = "") -> int:
    """Return the number of calls of this function with `prefix` in the default graph, including
    this call.
    """
    uids = _UIDS.setdefault(get_graph(), defaultdict(int))
    uids[prefix] += 1
    return uids[prefix]


def reset_uids() -> None:
    """Restart the numbering of all prefixes at 1, in all graphs."""
    _UIDS.clear()


# -- sessions


def get_session(op_input_list: Sequence[Any] = ()) -> Any:
    """Return the session in which Keras runs: the default session or, if there is none, Keras's own
    session.

    Keras's own session is created on first use, for the graph of the tensors `op_input_list` or for
    the default graph. A call for another graph replaces Keras's own session. Before this function
    returns, Keras initializes the uninitialized variables of Keras in the session, unless
    `manual_variable_initialization(True)` was called.

    Raises ValueError for tensors of a graph that `clear_session` replaced, unless that graph is the
    default graph.
    """
    session = get_default_session()
    if session is None:
        refuse_cleared(op_input_list)
        graph = graph_of(op_input_list)
        if _STATE.session is None or _STATE.session.graph is not graph:
            _STATE.session = Session(graph=graph, config=ConfigProto(allow_soft_placement=True))
        session = _STATE.session
    if not _MANUAL_INITIALIZATION[0]:
        with session.graph.as_default():
            _initialize_variables(session)
    _restore(session)
    return session


def set_session(session: Any) -> None:
    """Set the session in which Keras runs in this thread, unless there is a default session."""
    _STATE.session = session


def clear_session() -> None:
    """Replace the default graph and Keras's session, restart the numbering of names, and reset the
    learning phase.

    The new learning phase is a placeholder, False by default. Models that were built before can no
    longer be used. Raises AssertionError inside `with graph.as_default()`.
    """
    graph = get_default_graph()
    reset_default_graph()
    _CLEARED[graph] = str(here({}))
    reset_uids()
    _STATE.session = None
    _VARIABLES.pop(get_graph(), None)
    reset_learning_phases()


def refuse_cleared(values: Sequence[Any]) -> None:
    """Raise ValueError for tensors of a graph that `clear_session` replaced, unless that graph is
    the default graph.
    """
    for value in values:
        graph = getattr(value, "graph", None)
        if graph in _CLEARED and graph is not get_default_graph():
            raise ValueError(
                f"Tensor {value} is not an element of this graph.{cleared_text(graph)}"
            )


def cleared_text(graph: Any) -> str:
    """Return a sentence for an error message. The sentence names the line at which `clear_session`
    replaced `graph`.

    Return "" if the graph was not replaced.
    """
    if graph not in _CLEARED:
        return ""
    return (
        f" K.clear_session() was called at {_CLEARED[graph]}: it ended the session in which the "
        "variables of all models from before had their values, and began a new graph. Build the "
        "model again after it, or load it from a file; call K.clear_session() only when no model "
        "is needed any more"
    )


# -- variables


def manual_variable_initialization(value: bool) -> None:
    """Set whether the program itself initializes Keras's variables. The default is False."""
    _MANUAL_INITIALIZATION[0] = value


def track_variable(v: Variable) -> None:
    """Register a variable of Keras, so that `get_session` initializes it."""
    _VARIABLES.setdefault(v.graph, WeakKeyDictionary())[v] = None


def _initialize_variables(session: Any) -> None:
    """Initialize the uninitialized variables of Keras in this session's graph.

    Each variable is checked only once, so a variable that was initialized in an earlier session is
    not initialized in a later session.
    """
    tracked = _VARIABLES.get(session.graph, ())
    new = [variable for variable in tracked if not getattr(variable, "_keras_initialized", False)]
    if not new:
        return
    flags = session.run([is_variable_initialized(variable) for variable in new])
    for variable in new:
        variable._keras_initialized = True  # type: ignore[attr-defined]
    missing = [variable for variable, is_initialized in zip(new, flags) if not is_initialized]
    if missing:
        session.run(variables_initializer(missing))


def restore_later(session: Any, restore: Callable[[], None]) -> None:
    """Register `restore()` to be called after layers in the session's graph have created variables.

    Each call of `get_session` that returns this session also calls `restore`. Only a weak reference
    is kept, so the calls of `restore` stop when nothing else refers to `restore`.
    """
    _RESTORES.setdefault(session, WeakSet()).add(restore)


def restore_created() -> None:
    """Call the functions that `restore_later` registered for sessions of the default graph.

    A layer calls this function after it has created its variables. This function itself does not
    initialize the variables, because the layer may be built inside a branch of a `cond`.
    """
    for session in list(_RESTORES):
        if getattr(session, "_closed", False):
            del _RESTORES[session]
        elif session.graph is get_graph():
            _restore(session)


def _restore(session: Any) -> None:
    for restore in list(_RESTORES.get(session, ())):
        with session.graph.as_default(), session.graph.control_dependencies(None):
            restore()


def _session_of_variables() -> Any:
    """Return Keras's session if the default graph has variables of Keras, otherwise None."""
    return get_session() if get_graph() in _VARIABLES else None


register_session_provider(_session_of_variables)
