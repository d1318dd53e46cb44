"""`tf.contrib.training.HParams`, which holds hyperparameters by name. They can be set from a
string, a dict or JSON.
"""

from __future__ import annotations

import json
import numbers
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_ASSIGNMENT = re.compile(
    r"(?P<name>[a-zA-Z][\w.]*)(?:\[(?P<index>\d+)\])?\s*=\s*"
    r"(?:\[(?P<items>[^\]]*)\]|(?P<value>[^,\[]*))\s*(?:,\s*|$)"
)
_BOOLS = {"true": True, "True": True, "false": False, "False": False}


class HParams:
    """An object whose attributes are hyperparameters. A new value is converted to the type of the
    initial value.

    For example, `HParams(learning_rate=0.1, layers=[64,
    64]).parse("learning_rate=0.3,layers[0]=32")` changes the learning rate and the first item of
    `layers`.
    """

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any) -> None:
        if hparam_def is not None:
            raise ValueError(
                "gpugraph reads no HParamDef message: give the hyperparameters by name"
            )
        self._hparam_types: dict[str, tuple[type, bool]] = {}
        self._model_structure = model_structure
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        """Add a hyperparameter. Its value is a number, bool, str, callable, None, or a list whose
        items have the same type.

        Raises ValueError if the name is already a hyperparameter, or an attribute or method of this
        class, or if the value is an empty list.
        """
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        if isinstance(value, (list, tuple)):
            if not value:
                raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
            self._hparam_types[name] = type(value[0]), True
        else:
            self._hparam_types[name] = type(value), False
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Set a hyperparameter's value. Raises KeyError if the name is unknown, and ValueError if
        the hyperparameter's type does not allow the value.
        """
        kind, is_list = self._hparam_types[name]
        if isinstance(value, list):
            if not is_list:
                raise ValueError(f"Must not pass a list for single-valued parameter: {name}")
            setattr(self, name, [_cast(name, kind, item) for item in value])
        elif is_list:
            raise ValueError(f"Must pass a list for multi-valued parameter: {name}.")
        else:
            setattr(self, name, _cast(name, kind, value))

    def del_hparam(self, name: str) -> None:
        """Remove a hyperparameter, if it exists."""
        if hasattr(self, name):
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values: str) -> HParams:
        """Set values from a string such as `name=value,list=[1,2,3],list[0]=4`, and return self.

        Raises ValueError if a name is unknown, if a hyperparameter's type does not allow a value,
        or if the text is malformed.
        """
        for name, index, text in _assignments(values):
            if name not in self._hparam_types:
                raise ValueError(f"Unknown hyperparameter type for {name}")
            kind, is_list = self._hparam_types[name]
            if isinstance(text, list):
                self.set_hparam(name, [_parsed(name, kind, item) for item in text])
            elif index is None:
                self.set_hparam(name, _parsed(name, kind, text))
            else:
                self._set_item(name, index, _parsed(name, kind, text), is_list)
        return self

    def _set_item(self, name: str, index: int, value: Any, is_list: bool) -> None:
        if not is_list or index >= len(getattr(self, name)):
            count = len(getattr(self, name)) if is_list else "no"
            raise ValueError(
                f"Hyperparameter {name} has {count} items: {name}[{index}] is not there"
            )
        items = list(getattr(self, name))
        items[index] = value
        setattr(self, name, items)

    def override_from_dict(self, values_dict: Mapping[str, Any]) -> HParams:
        """Set the values in a dict, and return self. Raises KeyError if a name is unknown."""
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def set_from_map(self, values_map: Mapping[str, Any]) -> HParams:
        """Call `override_from_dict`, of which this is an older name."""
        return self.override_from_dict(values_map)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Raise NotImplementedError, because there is no HParamDef message. `to_json` and
        `parse_json` are alternatives.
        """
        raise NotImplementedError(
            "HParams.to_proto: there are no protocol buffers of hyperparameters (HParamDef); "
            "write them by to_json() and read them by parse_json()"
        )

    def parse_json(self, values_json: str) -> HParams:
        """Set the values in a JSON object, and return self. Raises KeyError if a name is
        unknown.
        """
        return self.override_from_dict(json.loads(values_json))

    def to_json(self, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
        """Return the hyperparameters as a JSON object. Callables are omitted."""
        plain = {name: value for name, value in self.values().items() if not callable(value)}
        return json.dumps(plain, indent=indent, separators=separators, sort_keys=sort_keys)

    def values(self) -> dict[str, Any]:
        """Return a dict from the names of the hyperparameters to their values."""
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key: str, default: Any = None) -> Any:
        """Return a hyperparameter's value, or `default` if no hyperparameter has that name.

        Raises ValueError if the hyperparameter's type does not allow the value `default`.
        """
        if key not in self._hparam_types:
            return default
        kind, is_list = self._hparam_types[key]
        if default is not None:
            items = default if is_list and isinstance(default, list) else [default]
            fits = is_list == isinstance(default, list)
            if not fits or any(_cast_or_none(key, kind, item) is None for item in items):
                raise ValueError(
                    f"Hyperparameter '{key}' of type '{kind.__name__}' is incompatible with "
                    f"passed default: {default}"
                )
        return getattr(self, key)

    def set_model_structure(self, model_structure: Any) -> None:
        """Store any object, which `get_model_structure` returns."""
        self._model_structure = model_structure

    def get_model_structure(self) -> Any:
        """Return the object that `set_model_structure` stored."""
        return self._model_structure

    def __contains__(self, key: str) -> bool:
        return key in self._hparam_types

    def __str__(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self.values().items())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({sorted(self.values().items())})"


def parse_values(
    values: str, type_map: Mapping[str, type], ignore_unknown: bool = False
) -> dict[str, Any]:
    """Return a dict from names to the values in a text such as `name=value,list=[1,2,3],list[0]=4`.
    An assignment to an item of a list becomes a dict from indices to items.

    Raises ValueError if a name is unknown or assigned twice, if a type does not allow a value, or
    if the text is malformed.

    Args:
      type_map: a dict from names to the types of their values, or of the items of their lists.
      ignore_unknown: whether to skip names that are not in `type_map`.
    """
    results: dict[str, Any] = {}
    for name, index, text in _assignments(values):
        if name not in type_map:
            if ignore_unknown:
                continue
            raise ValueError(f"Unknown hyperparameter type for {name}")
        kind = type_map[name]
        if index is not None and not isinstance(text, list):
            items = results.setdefault(name, {})
            if not isinstance(items, dict):
                raise ValueError(f"Multiple assignments to variable '{name}' in '{values}'")
            items[index] = _parsed(name, kind, text)
        elif name in results:
            raise ValueError(f"Multiple assignments to variable '{name}' in '{values}'")
        elif isinstance(text, list):
            results[name] = [_parsed(name, kind, item) for item in text]
        else:
            results[name] = _parsed(name, kind, text)
    return results


def _assignments(values: str) -> Iterator[tuple[str, int | None, str | list[str]]]:
    """Yield (name, index or None, text or list of texts) for each assignment in `values`."""
    position, seen = 0, set()
    while position < len(values):
        match = _ASSIGNMENT.match(values, position)
        if match is None:
            raise ValueError(f"Malformed hyperparameter value: {values[position:]}")
        position = match.end()
        name, index, items, value = match.group("name", "index", "items", "value")
        if (name, index) in seen:
            raise ValueError(f"Multiple assignments to variable '{name}' in '{values}'")
        seen.add((name, index))
        if items is not None:
            yield name, None, re.findall(r"[^\s,]+", items)
        else:
            yield name, None if index is None else int(index), value.strip()


def _parsed(name: str, kind: type, text: str) -> Any:
    """Parse `text` as a value of the type `kind`. Raises ValueError on failure."""
    parse: Callable[[str], Any] = kind
    if kind is bool:
        parse = _bool
    if kind is type(None):
        return text
    try:
        return parse(text)
    except (TypeError, ValueError):
        raise ValueError(
            f"Could not parse hparam '{name}' of type '{kind.__name__}' with value '{text}'"
        ) from None


def _bool(text: str) -> bool:
    return _BOOLS[text] if text in _BOOLS else bool(int(text))


def _cast(name: str, kind: type, value: Any) -> Any:
    """Convert a value to the type `kind`. Raises ValueError if information would be lost."""
    result = _cast_or_none(name, kind, value)
    if result is None and kind is not type(None):
        raise ValueError(
            f"Could not cast hparam '{name}' of type '{kind.__name__}' from value {value!r}"
        )
    return result


def _cast_or_none(name: str, kind: type, value: Any) -> Any:
    if kind is type(None) or (
        isinstance(value, kind) and (kind is bool) == isinstance(value, bool)
    ):
        return value
    if isinstance(value, (bool, str)) or kind in (bool, str):
        return None
    if issubclass(kind, numbers.Integral) and not isinstance(value, numbers.Integral):
        return None
    if issubclass(kind, numbers.Real):
        convert: Callable[[Any], Any] = kind
        return convert(value) if isinstance(value, numbers.Real) else None
    return value if callable(value) else None
