"""Objects of Keras by name: classes and functions, in configurations and in programs' arguments."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any
from weakref import WeakSet


class _Scopes(threading.local):
    """The custom objects of the scopes that a thread is in, the innermost last."""

    def __init__(self) -> None:
        self.stack: list[Mapping[str, Any]] = []
        self.source: str | None = None  # of configurations: see `code_of_files`


_CUSTOM_OBJECTS: dict[str, Any] = {}
_SCOPES = _Scopes()

_OWN_CODE: set[bytes] = set()
"""The digests of the code that this process has put into configurations."""

_OWN_FUNCTIONS: dict[str, WeakSet[Any]] = {}
"""The functions that configurations of this process name, by their modules and names."""


def get_custom_objects() -> dict[str, Any]:
    """The classes and functions of the program that configurations name, by name: to be changed."""
    return _CUSTOM_OBJECTS


@contextmanager
def custom_object_scope(*custom_objects: Mapping[str, Any]) -> Iterator[None]:
    """Within it configurations find these classes and functions by their names."""
    _SCOPES.stack.extend(custom_objects)
    try:
        yield
    finally:
        del _SCOPES.stack[len(_SCOPES.stack) - len(custom_objects) :]


@contextmanager
def code_of_files(source: str) -> Iterator[None]:
    """Within it code in configurations is run or refused, by their source.

    source: "trusted": all code is run. "text", which may come from this process: code that
      `remember_own_code` knows is run. "file": none is.
    """
    before, _SCOPES.source = _SCOPES.source, source
    try:
        yield
    finally:
        _SCOPES.source = before


def remember_own_code(*code: str | None) -> None:
    """Note code that this process puts into a configuration, so that it may build it again."""
    _OWN_CODE.add(_digest(code))


def remember_own_function(function: Any, module: str | None) -> None:
    """Note a function that a configuration of this process names, so that it may be found again."""
    _OWN_FUNCTIONS.setdefault(f"{module}:{function.__name__}", WeakSet()).add(function)


def own_functions(name: str, module: str | None) -> dict[str, Any]:
    """The function that this process has put into configurations under this name.

    None while a file is read, and where several functions had the name.
    """
    functions = list(_OWN_FUNCTIONS.get(f"{module}:{name}", ()))
    is_known = len(functions) == 1 and _SCOPES.source in (None, "text")
    return {name: functions[0]} if is_known else {}


def check_code_of_files(
    what: str, kind: str, code: Sequence[str | None], is_refused_elsewhere: bool
) -> None:
    """ValueError where code in a configuration is not to be run: see `code_of_files`.

    what, kind: whose code, and of what kind, in words. code: as `remember_own_code` takes it.
    is_refused_elsewhere: whether it is refused too where no text and no file is read, unless this
    process made it.
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
    """A class or function: of `custom_objects`, of the scopes, of the program, or of Keras.

    ValueError for an unknown name.
    """
    for objects in (custom_objects or {}, *reversed(_SCOPES.stack), _CUSTOM_OBJECTS, known):
        if name in objects:
            return objects[name]
    raise ValueError(
        f"Unknown {kind}: {name}. Pass it as custom_objects={{{name!r}: ...}}, or use "
        f"custom_object_scope. Keras has {', '.join(sorted(known))}"
    )


def config_entry(config: Any, key: str, owner: str) -> Any:
    """An entry of a configuration that may be damaged.

    owner: the class whose configuration it is. ValueError where it is no dictionary, or lacks the
    key.
    """
    if not isinstance(config, Mapping):
        raise improper(f"the config of {owner} is no dictionary, but {config!r:.100}")
    if key not in config:
        raise improper(f"the config of {owner} has no {key!r}")
    return config[key]


def improper(why: str) -> ValueError:
    """The error for a configuration that is damaged."""
    return ValueError(f"Improper config format: {why}")


def is_custom_object(name: str) -> bool:
    """Whether the program has a class or function of this name, here and now."""
    return any(name in objects for objects in (*_SCOPES.stack, _CUSTOM_OBJECTS))


def serialize_keras_object(instance: Any) -> Any:
    """An object as its class's name and configuration, a function as its name, None as None.

    ValueError for what has neither.
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
    """The object of a name or of `{"class_name": ..., "config": ...}`; None for None.

    module_objects: what is known by name. custom_objects: further classes and functions.
    ValueError for an unknown name and for another identifier.
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
            raise improper(f"the config of {name} is no dictionary, but {config!r:.100}")
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
    """Whether a `from_config` takes classes and functions by name."""
    code = getattr(from_config, "__func__", from_config).__code__
    return "custom_objects" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def object_of(identifier: Any, deserialize: Callable[[Any], Any], kind: str) -> Any:
    """The object of a name or configuration, by `deserialize`; another that is callable as it is.

    ValueError for anything else.
    """
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret {kind} identifier: {identifier!r}")


def plain_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as plain values: functions and objects as their names and configurations."""
    return {
        name: serialize_keras_object(value) if callable(value) else value
        for name, value in arguments.items()
    }


LAYER_CLASSES: dict[str, Any] = {}
"""The classes of layers that configurations name; `gpugraph.keras` fills it."""

METRIC_CLASSES: dict[str, Any] = {}
"""The classes of metrics that configurations name; `gpugraph.keras.metrics` fills it."""


def serialize_layer(layer: Any) -> Any:
    """The class and configuration of a layer."""
    return serialize_keras_object(layer)


def deserialize_layer(config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """The layer of a configuration `{"class_name": ..., "config": ...}`."""
    return deserialize_keras_object(config, LAYER_CLASSES, custom_objects, "layer")
