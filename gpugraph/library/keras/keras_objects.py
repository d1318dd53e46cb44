"""The lookup of Keras's objects by name: classes and functions that configurations and arguments
name.

Configurations may contain code, for example the code of a Lambda layer. This module also decides
whether the code may be run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any
from weakref import WeakSet


class _Scopes(threading.local):
    """The state of each thread: the dicts of the active `custom_object_scope`s. The innermost scope
    is the last.
    """

    def __init__(self) -> None:
        self.stack: list[Mapping[str, Any]] = []
        self.source: str | None = None  # where configurations come from; see `code_of_files`


_CUSTOM_OBJECTS: dict[str, Any] = {}
_SCOPES = _Scopes()

_OWN_CODE: set[bytes] = set()
"""Digests of the code that this process has put into configurations. Such code may be run again."""

_OWN_FUNCTIONS: dict[str, WeakSet[Any]] = {}
"""By module and name: the functions whose names this process has put into configurations."""


def get_custom_objects() -> dict[str, Any]:
    """Return the dict of the program's own classes and functions. Configurations can refer to these
    classes and functions by name.

    Programs may add entries to the dict.
    """
    return _CUSTOM_OBJECTS


@contextmanager
def custom_object_scope(*custom_objects: Mapping[str, Any]) -> Iterator[None]:
    """Make the classes and functions in these dicts available to configurations inside a `with`
    block.
    """
    _SCOPES.stack.extend(custom_objects)
    try:
        yield
    finally:
        del _SCOPES.stack[len(_SCOPES.stack) - len(custom_objects) :]


@contextmanager
def code_of_files(source: str) -> Iterator[None]:
    """Set which code in configurations may run inside a `with` block.

    Args:
      source: the source of the configurations. "trusted": all code may run. "text": this process
        may have written the configurations, and code that was passed to `remember_own_code` may
        run. "file": no code may run.
    """
    before, _SCOPES.source = _SCOPES.source, source
    try:
        yield
    finally:
        _SCOPES.source = before


def remember_own_code(*code: str | None) -> None:
    """Record code that this process puts into a configuration, so that `check_code_of_files`
    accepts it.
    """
    _OWN_CODE.add(_digest(code))


def remember_own_function(function: Any, module: str | None) -> None:
    """Record a function whose name this process puts into a configuration, so that `own_functions`
    finds it.
    """
    _OWN_FUNCTIONS.setdefault(f"{module}:{function.__name__}", WeakSet()).add(function)


def own_functions(name: str, module: str | None) -> dict[str, Any]:
    """Return {name: function} for the function that `remember_own_function` recorded under this
    name.

    The dict is empty while a file is read, and if several functions were recorded under this name.
    """
    functions = list(_OWN_FUNCTIONS.get(f"{module}:{name}", ()))
    is_known = len(functions) == 1 and _SCOPES.source in (None, "text")
    return {name: functions[0]} if is_known else {}


def check_code_of_files(
    what: str, kind: str, code: Sequence[str | None], is_refused_elsewhere: bool
) -> None:
    """Raise ValueError if code in a configuration must not be run. See `code_of_files`.

    Args:
      what, kind: the owner of the code, and a clause that describes the code, for the message.
      code: the arguments that `remember_own_code` received.
      is_refused_elsewhere: whether, outside of `code_of_files`, code that this process did not
        record is also rejected.
    """
    source = _SCOPES.source
    if source == "trusted" or (source is None and not is_refused_elsewhere):
        return
    if source == "file" or _digest(code) not in _OWN_CODE:
        raise ValueError(
            f"Requested the deserialization of {what}, which {kind}. The code of a file is not run "
            "unless you trust it: load_model(path, safe_mode=False). Safer is a function with a "
            "name, passed in custom_objects"
        )


def _digest(code: Sequence[str | None]) -> bytes:
    return sha256(repr(tuple(code)).encode()).digest()


def object_named(
    name: str, known: Mapping[str, Any], custom_objects: Mapping[str, Any] | None, kind: str
) -> Any:
    """Return the class or function with a name.

    The name is looked up, in this order, in `custom_objects`, the scopes of the thread from the
    innermost on, `get_custom_objects()`, and `known`. Raises ValueError for an unknown name.

    Args:
      kind: the kind of object, for the message.
    """
    for objects in (custom_objects or {}, *reversed(_SCOPES.stack), _CUSTOM_OBJECTS, known):
        if name in objects:
            return objects[name]
    raise ValueError(
        f"Unknown {kind}: {name}. Pass it as custom_objects={{{name!r}: ...}}, or use "
        f"custom_object_scope. Keras has {', '.join(sorted(known))}"
    )


def config_entry(config: Any, key: str, owner: str) -> Any:
    """Return `config[key]` of a configuration that may be damaged.

    Raises ValueError if `config` is not a dict or does not have the key.

    Args:
      owner: the class to which the configuration belongs, for the message.
    """
    if not isinstance(config, Mapping):
        raise improper(f"the config of {owner} is not a dictionary, but {config!r:.100}")
    if key not in config:
        raise improper(f"the config of {owner} has no {key!r}")
    return config[key]


def improper(why: str) -> ValueError:
    """Return the ValueError for a damaged configuration."""
    return ValueError(f"Improper config format: {why}")


def is_custom_object(name: str) -> bool:
    """Return whether a scope of this thread, or `get_custom_objects()`, contains this name."""
    return any(name in objects for objects in (*_SCOPES.stack, _CUSTOM_OBJECTS))


def serialize_keras_object(instance: Any) -> Any:
    """Return an object's class name and configuration, or a function's name. If the object is None,
    return None.

    Raises ValueError for an object without `get_config` and without a name.
    """
    if instance is None:
        return None
    if hasattr(instance, "get_config"):
        return {"class_name": type(instance).__name__, "config": instance.get_config()}
    if hasattr(instance, "__name__"):
        return instance.__name__
    raise ValueError(f"Cannot serialize {instance!r}: it has no get_config and no name")


def deserialize_keras_object(
    identifier: Any,
    module_objects: Mapping[str, Any] | None = None,
    custom_objects: Mapping[str, Any] | None = None,
    printable_module_name: str = "object",
) -> Any:
    """Return the object that a name or `{"class_name": ..., "config": ...}` describes.

    If only the name of a class is given, the class is called without arguments. None and callables
    are returned unchanged.

    Raises ValueError if the name is unknown, or if the identifier has any other form.

    Args:
      module_objects: Keras's objects by name.
      custom_objects: classes and functions of the program by name.
      printable_module_name: the kind of object, for messages.
    """
    known = module_objects or {}
    if identifier is None:
        return None
    if isinstance(identifier, str):
        found = object_named(identifier, known, custom_objects, printable_module_name)
        return found() if isinstance(found, type) else found
    if isinstance(identifier, Mapping) and "class_name" in identifier and "config" in identifier:
        name, config = identifier["class_name"], identifier["config"]
        if not isinstance(name, str):
            raise improper(f"the class_name of {printable_module_name} is {name!r:.100}")
        object_class = object_named(name, known, custom_objects, printable_module_name)
        is_ours = getattr(object_class, "__module__", "").startswith("gpugraph.")
        if is_ours and not isinstance(config, Mapping) and name != "Sequential":
            raise improper(f"the config of {name} is not a dictionary, but {config!r:.100}")
        if not hasattr(object_class, "from_config"):
            with custom_object_scope(custom_objects or {}):
                return object_class(**config)
        if takes_custom_objects(object_class.from_config):
            return object_class.from_config(config, custom_objects=dict(custom_objects or {}))
        with custom_object_scope(custom_objects or {}):
            return object_class.from_config(config)
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret serialized {printable_module_name}: {identifier}")


def takes_custom_objects(from_config: Callable[..., Any]) -> bool:
    """Return whether a method `from_config` has the parameter `custom_objects`."""
    code = getattr(from_config, "__func__", from_config).__code__
    return "custom_objects" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def object_of(identifier: Any, deserialize: Callable[[Any], Any], kind: str) -> Any:
    """Return `deserialize(identifier)` if the identifier is a name or a configuration. Return a
    callable unchanged.

    Raises ValueError for anything else.

    Args:
      kind: the kind of object, for the message.
    """
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret {kind} identifier: {identifier!r}")


def plain_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as plain values. Callables are replaced by their names or configurations."""
    return {
        name: serialize_keras_object(value) if callable(value) else value
        for name, value in arguments.items()
    }


LAYER_CLASSES: dict[str, Any] = {}
"""The classes of layers by their names in configurations; `gpugraph.keras` fills it."""

METRIC_CLASSES: dict[str, Any] = {}
"""The classes of metrics by their names in configurations; `gpugraph.keras.metrics` fills it."""


def serialize_layer(layer: Any) -> Any:
    """Return the class name and configuration of a layer."""
    return serialize_keras_object(layer)


def deserialize_layer(config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Create the layer that a configuration `{"class_name": ..., "config": ...}` describes."""
    return deserialize_keras_object(config, LAYER_CLASSES, custom_objects, "layer")
