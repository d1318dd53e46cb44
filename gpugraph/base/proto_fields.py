"""Declared fields of messages. A field has a default, and a function that checks and converts
assigned values.

`proto_messages` defines the messages that have such fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar, overload

from gpugraph.base.field_conversions import to_bool, to_float, to_int, to_str, wrong
from gpugraph.base.protobuf_fields import message_class

T = TypeVar("T")
Convert = Callable[[str, Any], T]


class Field(Generic[T]):
    """A declared field of a message.

    Args:
      default: a function that returns the default value.
      convert: `convert(where, value)` returns the value to store, or raises an error that names the
        field as `where`.
      is_plain: whether the value is a number or a string. The default of a plain field is not
        stored when the field is read.
    """

    has_presence = False
    enum: EnumType | None = None

    def __init__(
        self, default: Callable[[], T], convert: Convert[T], is_plain: bool = False
    ) -> None:
        self.default = default
        self.has_effect = True
        self._convert = convert
        self._is_plain = is_plain

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        self._where = f"{owner.__name__}.{name}"

    @overload
    def __get__(self, instance: None, owner: type) -> Field[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> Field[T] | T:
        if instance is None:
            return self
        values = vars(instance)
        if self.name not in values:
            if self._is_plain:
                return self.default()
            values[self.name] = self.default()
        value: T = values[self.name]
        return value

    def __set__(self, instance: object, value: Any) -> None:
        vars(instance)[self.name] = self._convert(self._where, value)

    def is_set(self, instance: object) -> bool:
        """Return whether the value differs from the default or, for a nested message, is
        present.
        """
        value = vars(instance).get(self.name)
        return value is not None and value != self.default()


def without_effect(field: Field[T]) -> Field[T]:
    """Mark a field as a setting that is stored but has no effect, and return it."""
    field.has_effect = False
    return field


def boolean() -> Field[bool]:
    """Return a field that holds True or False, False by default."""
    return Field(bool, to_bool, is_plain=True)


def integer() -> Field[int]:
    """Return a field that holds an int, 0 by default."""
    return Field(int, to_int, is_plain=True)


def number() -> Field[float]:
    """Return a field that holds a float, 0.0 by default."""
    return Field(float, to_float, is_plain=True)


def text() -> Field[str]:
    """Return a field that holds a string, empty by default."""
    return Field(str, to_str, is_plain=True)


class DeferredField(Field[Any]):
    """A field that holds a protobuf message, or a function that builds the message when it is first
    accessed.
    """

    has_presence = True

    def __get__(self, instance: object | None, owner: type) -> Any:
        if instance is None:
            return self
        values = vars(instance)
        value = values.get(self.name)
        if value is None or callable(value):
            value = values[self.name] = (value or self.default)()
        return value

    def is_set(self, instance: object) -> bool:
        """Return whether the value differs from its default. If the value is still a function, call
        it first to build the value.
        """
        if vars(instance).get(self.name) is None:
            return False
        value = self.__get__(instance, type(instance))
        return value is not None and bool(value != self.default())


def deferred(default: Callable[[], Any]) -> DeferredField:
    """Return a field whose value may be set to a function, which is called when the field is first
    accessed.
    """
    return DeferredField(default, lambda where, value: value)


def empty_message(name: str) -> Any:
    """Return an empty protobuf message of the class `name`."""
    return message_class(name)()


class EnumType:
    """An enumeration declared in a message, such as `RunOptions.TraceLevel`. It has the methods of
    protobuf's enumerations.
    """

    def __init__(self, name: str, **numbers: int) -> None:
        self._name, self._numbers = name, numbers
        self._names = {number: key for key, number in numbers.items()}

    def Name(self, number: int) -> str:
        """Return the name of the enum value `number`. Raises ValueError if no value has this
        number.
        """
        if number not in self._names:
            raise ValueError(f"Enum {self._name} has no name defined for value {number!r}")
        return self._names[number]

    def Value(self, name: str) -> int:
        """Return the number of a name. Raises ValueError for an unknown name."""
        if name not in self._numbers:
            raise ValueError(f"Enum {self._name} has no value defined for name {name!r}")
        return self._numbers[name]

    def keys(self) -> list[str]:
        """Return the names, in their order."""
        return list(self._numbers)

    def values(self) -> list[int]:
        """Return the numbers, in the order of the names."""
        return list(self._numbers.values())

    def items(self) -> list[tuple[str, int]]:
        """Return (name, number) pairs, in the order of the names."""
        return list(self._numbers.items())

    def __getattr__(self, name: str) -> int:
        numbers: dict[str, int] = self.__dict__.get("_numbers", {})
        if name in numbers:
            return numbers[name]
        raise AttributeError(f"Enum {self.__dict__.get('_name')} has no value {name!r}")


def choice(enum: EnumType) -> Field[int]:
    """Return a field that holds a number of `enum`, by default its first number. The field also
    accepts names.
    """
    numbers_by_name = dict(enum.items())

    def convert(where: str, value: Any) -> int:
        number = numbers_by_name.get(value) if isinstance(value, str) else to_int(where, value)
        if number is None or number not in numbers_by_name.values():
            choices = ", ".join(f"{name} ({n})" for name, n in numbers_by_name.items())
            label = f'unknown enum label "{value}": ' if isinstance(value, str) else ""
            raise ValueError(f"{label}{where} must be one of {choices}; got {value!r}")
        return number

    field = Field(lambda: enum.values()[0], convert, is_plain=True)
    field.enum = enum
    return field


def list_of(convert: Convert[T]) -> Field[list[T]]:
    """Return a repeated field whose items `convert` checks, empty by default."""

    def convert_all(where: str, value: Any) -> list[T]:
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise wrong(where, "a list", value)
        return [convert(f"{where}[{i}]", item) for i, item in enumerate(value)]

    return Field(list, convert_all)


class MapField(Field[dict[Any, T]]):
    """A field that holds a map, empty by default. Functions check and convert its keys and
    values.
    """

    def __init__(self, convert: Convert[T], convert_key: Convert[Any]) -> None:
        def convert_all(where: str, value: Any) -> dict[Any, T]:
            if not isinstance(value, Mapping):
                raise wrong(where, "a dict", value)
            return {
                convert_key(f"{where} key", key): convert(f"{where}[{key!r}]", item)
                for key, item in value.items()
            }

        super().__init__(dict, convert_all)
        self._convert_value, self._convert_key = convert, convert_key

    def entry_fields(self) -> dict[str, Field[Any]]:
        """Return the fields `key` and `value` of an entry, as in protobuf's class for entries."""
        kinds: dict[Any, Any] = {to_int: int, to_str: str}
        default = kinds.get(self._convert_value, lambda: None)
        key = integer() if self._convert_key is to_int else text()
        return {"key": key, "value": Field(default, self._convert_value, is_plain=True)}


def map_of(convert: Convert[T], convert_key: Convert[Any] = to_str) -> MapField[T]:
    """Return a map field whose values `convert` checks, empty by default.

    Args:
      convert: checks and converts the values.
      convert_key: checks and converts the keys: `to_str` for strings, `to_int` for integers.
    """
    return MapField(convert, convert_key)
