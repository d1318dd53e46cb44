"""`install`, which restores the removed names in modules. Modules that are already imported are
changed at once. All other modules are changed when the program imports them.

A name in a module is looked up on first access, by the module's `__getattr__`. The first such
access in the process is reported on standard error. An attribute of a class is set when the class's
module is imported. A call of this attribute counts as an access.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from gpugraph.tensorflow_import.dropped_names.dropped_table import ADDED, NEW_MODULES
from gpugraph.tensorflow_import.dropped_names.of_array_conversion import (
    convert_arrays_of_one_element,
)
from gpugraph.tensorflow_import.dropped_names.of_scikit_learn import PACKAGES as SCIKIT_LEARN
from gpugraph.tensorflow_import.dropped_names.old_messages import OldMessagesFinder
from gpugraph.tensorflow_import.modules_by_name import module_named

_PACKAGE = __package__ or ""
_OURS = (str(Path(__file__).parent), "<frozen importlib")
_MISSING = object()

_CALLS = {
    "numpy": {
        "array": "own.of_numpy.array_of_the_time",
        "fromstring": "own.of_numpy.fromstring_of_the_time",
        "asanyarray": "own.of_numpy.array_of_the_time",
        "issubdtype": "own.of_numpy.issubdtype_of_the_time",
        "reshape": "own.of_numpy.reshape_of_the_time",
    },
    "onnx.helper": {"make_attribute": "own.of_data_files.make_attribute"},
    "yaml": {"load": "own.of_data_files.yaml_load"},
}
"""By module, the functions that are wrapped. The value is the wrapper, which is called with the
original function.
"""

_DEFAULTS = {
    "h5py": "own.of_data_files.restore_h5py",
    "pandas": "own.of_pandas.restore",
    **dict.fromkeys(SCIKIT_LEARN, "own.of_scikit_learn.restore"),
}
"""By module, the function that restores dropped arguments. It is called with the module."""

_CHANGED = {*ADDED, *_CALLS, *_DEFAULTS}
"""The modules that are changed when they are imported."""

_REPLACED: dict[tuple[ModuleType, str], Any] = {}
"""By (module, name), the original functions that were wrapped."""


def _value(path: str) -> Any:
    """Return the value that a path in the table means, such as `module.attribute`. A path that
    starts with `own.` is relative to this package.
    """
    if path.startswith("own."):
        path = f"{_PACKAGE}.{path.removeprefix('own.')}"
    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        name = ".".join(parts[:count])
        try:
            value: Any = module_named(name)
        except ModuleNotFoundError as error:
            if error.name is not None and name.startswith(error.name) and count > 1:
                continue
            raise
        for attribute in parts[count:]:
            value = getattr(value, attribute)
        return value
    raise AttributeError(path)


class _Notice:
    """Prints a message about the first removed name that the process uses."""

    def __init__(self) -> None:
        self._lock, self._is_said = threading.Lock(), False

    def say(self, name: str) -> None:
        """Print the name and the program's line in the first call. Later calls do nothing."""
        with self._lock:
            if self._is_said:
                return
            self._is_said = True
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
            frame = frame.f_back
        place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        print(
            f"gpugraph run: {name} ({place}) no longer exists; this and other names that Python "
            "and its libraries have dropped are provided (GPUGRAPH_DROPPED_NAMES=0: they are not)",
            file=sys.stderr,
        )


_notice = _Notice()


def _getattr_of(module: ModuleType, names: dict[str, str]) -> Callable[[str], Any]:
    """Return a `__getattr__` that also finds the removed names."""
    earlier = vars(module).get("__getattr__")

    def missing(name: str) -> Any:
        if name in names:
            with suppress(ImportError, AttributeError):
                value = _value(names[name])
                _notice.say(f"{module.__name__}.{name}")
                setattr(module, name, value)
                return value
        if earlier is not None:
            return earlier(name)
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}", name=name)

    return missing


def _noticed(value: Any, name: str) -> Any:
    """Return a method or property that prints the message about removed names when it is used."""
    if isinstance(value, property):
        getter = value.fget
        return property(lambda instance: _after_notice(name, getter)(instance), value.fset)
    if not callable(value):
        return value

    @functools.wraps(value, updated=())
    def method(*arguments: Any, **options: Any) -> Any:
        return _after_notice(name, value)(*arguments, **options)

    return method


def _after_notice(name: str, function: Any) -> Any:
    _notice.say(name)
    return function


def set_attribute(owner: type, name: str, value: Any) -> None:
    """Set an attribute of a class. The class may also be a built-in class, for which `setattr`
    raises an error.
    """
    try:
        setattr(owner, name, value)
    except TypeError:
        for fields in gc.get_referents(vars(owner)):
            if isinstance(fields, dict):
                fields[name] = value
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(owner))


def add_names(module: ModuleType) -> None:
    """Add the removed names to an imported module, except those that it still has."""
    name = module.__name__
    names = ADDED.get(name, {})
    own = {key: value for key, value in names.items() if "." not in key}
    if own:
        module.__getattr__ = _getattr_of(module, own)  # type: ignore[method-assign]
    for key, value in names.items():
        owner_name, _, attribute = key.partition(".")
        owner = vars(module).get(owner_name)
        if attribute and isinstance(owner, type) and not hasattr(owner, attribute):
            with suppress(ImportError, AttributeError):
                set_attribute(owner, attribute, _noticed(_value(value), f"{name}.{key}"))
    if name in _DEFAULTS:
        _value(_DEFAULTS[name])(module)
    if name == "numpy":
        convert_arrays_of_one_element(module, set_attribute, _notice.say)
    for key, wrapper in _CALLS.get(name, {}).items():
        function = getattr(module, key, None)
        if function is not None and (module, key) not in _REPLACED:
            _REPLACED[module, key] = function
            setattr(module, key, _value(wrapper)(function))


class _AddingLoader(Loader):
    """A loader that adds the dropped names after another loader has executed the module."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create the module with the wrapped loader."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module with the wrapped loader, then add the names."""
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        add_names(module)


class _Adder(MetaPathFinder):
    """The first finder on `sys.meta_path`. For a module in the table, it calls the other finders
    and wraps their loader.
    """

    def __init__(self) -> None:
        self._inside = threading.local()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module in the table, with a loader that adds the names."""
        if fullname not in _CHANGED or getattr(self._inside, "on", False):
            return None
        self._inside.on = True
        try:
            for finder in sys.meta_path:
                find = getattr(finder, "find_spec", None)
                spec = find(fullname, path, target) if find and finder is not self else None
                if spec is not None:
                    break
            else:
                return None
        finally:
            self._inside.on = False
        if spec.loader is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _AddingLoader(spec.loader)
        return spec


class _Maker(MetaPathFinder, Loader):
    """The last finder on `sys.meta_path`, which creates modules in the table that no other finder
    finds.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a removed module. Return None if the module is not in the table, or if
        its parent package is not installed.
        """
        row = NEW_MODULES.get(fullname)
        if row is None:
            return None
        star = row.get("**")
        if star is not None:
            try:
                _value(star)
            except (ImportError, AttributeError):
                return None
        return ModuleSpec(fullname, self, origin="gpugraph", is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return None, so that Python creates the module."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Set the module's `__getattr__`, which looks up each name on first access."""
        name = module.__name__
        _notice.say(name)
        row = NEW_MODULES[name]
        if "**" in row:
            vars(module).update(
                {key: value for key, value in vars(_value(row["**"])).items() if key[:2] != "__"}
            )
        for key, value in row.items():
            if key not in ("**", "__doc__") and not value.startswith("@"):
                with suppress(ImportError, AttributeError):
                    setattr(module, key, _value(value))
        if name in ADDED:
            add_names(module)


def install() -> Callable[[], None]:
    """Restore the removed names in this process. Return a function that undoes the setup, so that
    later imports are not changed.
    """
    adder, maker, messages = _Adder(), _Maker(), OldMessagesFinder()
    sys.meta_path[:0] = [adder, messages]
    sys.meta_path.append(maker)
    for name in sorted(_CHANGED):
        module = sys.modules.get(name)
        if module is not None and isinstance(module, ModuleType):
            add_names(module)

    finders: tuple[Any, ...] = (adder, maker, messages)

    def remove() -> None:
        while _REPLACED:
            (module, key), function = _REPLACED.popitem()
            setattr(module, key, function)
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder not in finders]

    return remove


@contextmanager
def dropped_names() -> Iterator[None]:
    """Restore the removed names in modules that are imported within the block."""
    remove = install()
    try:
        yield
    finally:
        remove()
