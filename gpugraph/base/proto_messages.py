"""Messages: records of declared fields that behave like TensorFlow's protocol messages.

Every field has a type and a default; a nested message exists as soon as it is looked at; what is
assigned is checked at once and copied. A name or a type that does not fit is an error that says
what would. The settings in `config` are made of these.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Generic, TypeVar, overload

from gpugraph.base.field_conversions import (
    to_bool as to_bool,
    to_float as to_float,
    to_int as to_int,
    to_str as to_str,
    wrong as wrong,
)
from gpugraph.base.protobuf_fields import protobuf_class, set_protobuf, take_protobuf
from gpugraph.base.registered_messages import message_class

T = TypeVar("T")
M = TypeVar("M", bound="Message")
Convert = Callable[[str, Any], T]


class Field(Generic[T]):
    """A declared field of a Message: a default, and a check that converts what is assigned."""

    def __init__(self, default: Callable[[], T], convert: Convert[T]) -> None:
        self.default = default
        self.has_effect = True
        self._convert = convert

    def __set_name__(self, owner: type[Message], name: str) -> None:
        self.name = name
        self._where = f"{owner.__name__}.{name}"

    @overload
    def __get__(self, instance: None, owner: type[Message]) -> Field[T]: ...

    @overload
    def __get__(self, instance: Message, owner: type[Message]) -> T: ...

    def __get__(self, instance: Message | None, owner: type[Message]) -> Field[T] | T:
        if instance is None:
            return self
        values = instance.__dict__
        if self.name not in values:
            values[self.name] = self.default()
        return values[self.name]

    def __set__(self, instance: Message, value: Any) -> None:
        instance.__dict__[self.name] = self._convert(self._where, value)


class _Descriptor:
    """`DESCRIPTOR` of a class of messages."""

    def __get__(self, instance: object, owner: type[Message]) -> Any:
        return owner._protobuf_class().DESCRIPTOR


class Message:
    """Base of the settings: declared fields, given by keyword or assigned.

    Two messages are equal if they are of one class and all fields are. None as a keyword's
    value means the default; a dict can stand for a nested message.

    Raises:
      ValueError: a field that does not exist, or a value out of its range.
      TypeError: a value of the wrong type.
    """

    _fields: ClassVar[dict[str, Field[Any]]] = {}
    _protobuf_name: ClassVar[str] = ""

    DESCRIPTOR: ClassVar[Any] = _Descriptor()
    """protobuf's description of TensorFlow's message of this name; ModuleNotFoundError without."""

    def __init_subclass__(cls) -> None:
        declared = {name: value for name, value in vars(cls).items() if isinstance(value, Field)}
        cls._fields = {**cls._fields, **declared}

    def __init__(self, **values: Any) -> None:
        for name, value in values.items():
            if value is None:
                self._check(name)
            else:
                setattr(self, name, value)

    @classmethod
    def _protobuf_class(cls) -> Any:
        return protobuf_class(cls._protobuf_name or cls.__qualname__)

    def _check(self, name: str) -> None:
        if name not in self._fields:
            raise ValueError(
                f'{type(self).__name__} has no field "{name}"; its fields are: '
                + ", ".join(sorted(self._fields))
            )

    def __setattr__(self, name: str, value: Any) -> None:
        self._check(name)
        object.__setattr__(self, name, value)

    def CopyFrom(self, other: Message) -> None:
        """Take over all fields of `other`; TypeError unless it is of the same class."""
        if type(other) is not type(self):
            raise TypeError(f"{type(self).__name__}.CopyFrom got {type(other).__name__}")
        values = copy.deepcopy(other.__dict__)
        self.__dict__.clear()
        self.__dict__.update(values)

    def MergeFrom(self, other: Message) -> None:
        """Take over what is set in `other`: repeated fields grow, nested messages are merged.

        TypeError unless it is of the same class.
        """
        if type(other) is not type(self):
            raise TypeError(
                "Parameter to MergeFrom() must be instance of same class: expected "
                f"{type(self).__name__} got {type(other).__name__}."
            )
        if other is self:
            return
        for name, value in other._set_fields():
            current = getattr(self, name)
            if isinstance(current, Message):
                current.MergeFrom(value)
            elif isinstance(current, list):
                current.extend(copy.deepcopy(list(value)))
            elif isinstance(current, dict):
                current.update(copy.deepcopy(value))
            else:
                object.__setattr__(self, name, copy.deepcopy(value))

    def MergeFromString(self, serialized: bytes) -> int:
        """`MergeFrom` a message of these bytes, see ParseFromString; returns their number."""
        self.MergeFrom(type(self).FromString(serialized))
        return len(serialized)

    def ListFields(self) -> list[tuple[Any, Any]]:
        """The set fields in the order of their numbers: protobuf's description, and the value.

        ModuleNotFoundError where protobuf is not installed.
        """
        known = self.DESCRIPTOR.fields_by_name
        pairs = [(known[name], value) for name, value in self._set_fields() if name in known]
        return sorted(pairs, key=lambda pair: int(pair[0].number))

    def WhichOneof(self, name: str) -> str | None:
        """ValueError: no message of settings has fields of which only one can be set."""
        raise ValueError(f'Protocol message {type(self).__name__} has no "{name}" field.')

    def IsInitialized(self) -> bool:
        """True: there are no required fields."""
        return True

    def ByteSize(self) -> int:
        """How many bytes `SerializeToString` gives."""
        return len(self.SerializeToString())

    def _set_fields(self) -> list[tuple[str, Any]]:
        """Names and values of the fields that differ from their defaults."""
        names = [name for name in self._fields if name in self.__dict__]
        pairs = [(name, getattr(self, name)) for name in names]
        return [
            (name, value)
            for name, value in pairs
            if value is not None and value != self._fields[name].default()
        ]

    def Clear(self) -> None:
        """Give every field its default."""
        self.__dict__.clear()

    def ClearField(self, name: str) -> None:
        """Give one field its default; ValueError for a name that is no field."""
        self._check(name)
        self.__dict__.pop(name, None)

    def HasField(self, name: str) -> bool:
        """Whether a nested message is there: whether any of its fields differs from its default.

        ValueError for a name that is no nested message: other fields always have a value.
        """
        default = self._fields[name].default() if name in self._fields else None
        if not isinstance(default, Message) and not isinstance(
            self._fields.get(name), DeferredField
        ):
            raise ValueError(
                f'Protocol message {type(self).__name__} has no singular "{name}" field.'
            )
        return bool(getattr(self, name) != default)

    def SerializeToString(self) -> bytes:
        """The bytes of TensorFlow's message of this name; what only gpugraph has is left out.

        ModuleNotFoundError where protobuf is not installed.
        """
        target = self._protobuf_class()()
        set_protobuf(self, target)
        return target.SerializeToString(deterministic=True)

    def ParseFromString(self, serialized: bytes) -> int:
        """Takes over all fields from the bytes of TensorFlow's message; returns their number.

        ModuleNotFoundError where protobuf is not installed, its DecodeError for malformed bytes.
        """
        source = self._protobuf_class().FromString(serialized)
        self.__dict__.clear()
        take_protobuf(self, source)
        return len(serialized)

    @classmethod
    def FromString(cls: type[M], serialized: bytes) -> M:
        """A new message of these bytes, see ParseFromString."""
        message = cls()
        message.ParseFromString(serialized)
        return message

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self._fields)

    def __repr__(self) -> str:
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, declared in self._fields.items()
            if getattr(self, name) != declared.default()
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


def without_effect(field: Field[T]) -> Field[T]:
    """The same field, of a setting that is kept and changes nothing."""
    field.has_effect = False
    return field


def unused(settings: Message) -> list[str]:
    """The fields that are set, in nested messages too, and have no effect."""
    names: list[str] = []
    for name, value in settings.__dict__.items():
        declared = settings._fields[name]
        if value == declared.default():
            continue
        if not declared.has_effect:
            names.append(name)
        elif isinstance(value, Message):
            names += [f"{name}.{inner}" for inner in unused(value)]
    return names


def boolean() -> Field[bool]:
    """A field that is True or False, False by default."""
    return Field(bool, to_bool)


def integer() -> Field[int]:
    """A field that is an int, 0 by default."""
    return Field(int, to_int)


def number() -> Field[float]:
    """A field that is a float, 0.0 by default."""
    return Field(float, to_float)


def text() -> Field[str]:
    """A field that is a string, empty by default."""
    return Field(str, to_str)


class DeferredField(Field[Any]):
    """A field that is protobuf's, or a function without arguments that gives it when it is read."""

    def __get__(self, instance: Message | None, owner: type[Message]) -> Any:
        if instance is None:
            return self
        value = instance.__dict__.get(self.name)
        if value is None or callable(value):
            value = instance.__dict__[self.name] = (value or self.default)()
        return value


def deferred(default: Callable[[], Any]) -> DeferredField:
    """A field of any value, or of a function that gives it when it is first read."""
    return DeferredField(default, lambda where, value: value)


def empty_message(name: str) -> Any:
    """An empty message of protobuf's; None where that is not installed."""
    try:
        return message_class(name)()
    except ModuleNotFoundError:
        return None


def choice(**numbers_by_name: int) -> Field[int]:
    """An enumeration, assigned by number or name; the first is the default."""

    def convert(where: str, value: Any) -> int:
        number = numbers_by_name.get(value) if isinstance(value, str) else to_int(where, value)
        if number is None or number not in numbers_by_name.values():
            choices = ", ".join(f"{name} ({n})" for name, n in numbers_by_name.items())
            raise ValueError(f"{where} must be one of {choices}; got {value!r}")
        return number

    return Field(lambda: next(iter(numbers_by_name.values())), convert)


def list_of(convert: Convert[T]) -> Field[list[T]]:
    """A repeated field whose items `convert` checks, empty by default."""

    def convert_all(where: str, value: Any) -> list[T]:
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise wrong(where, "a list", value)
        return [convert(f"{where}[{i}]", item) for i, item in enumerate(value)]

    return Field(list, convert_all)


class Messages(list[M]):
    """A repeated field of messages: a list whose `add` begins a new one at its end."""

    def __init__(self, kind: type[M], items: Iterable[M] = ()) -> None:
        super().__init__(items)
        self._kind = kind

    def add(self, **values: Any) -> M:
        """A new message of these fields, which is now the last of the list."""
        self.append(self._kind(**values))
        return self[-1]


def messages_of(kind: type[M]) -> Field[Messages[M]]:
    """A repeated field of messages of one class, empty by default."""
    convert = to_message(kind)

    def convert_all(where: str, value: Any) -> Messages[M]:
        items = list_of(convert)._convert(where, value)
        return Messages(kind, items)

    return Field(lambda: Messages(kind), convert_all)


def map_of(convert: Convert[T]) -> Field[dict[str, T]]:
    """A map field with string keys whose values `convert` checks, empty by default."""

    def convert_all(where: str, value: Any) -> dict[str, T]:
        if not isinstance(value, Mapping):
            raise wrong(where, "a dict", value)
        return {
            to_str(f"{where} key", key): convert(f"{where}[{key!r}]", item)
            for key, item in value.items()
        }

    return Field(dict, convert_all)


def to_message(cls: type[M]) -> Convert[M]:
    """A conversion to messages of a class: a message is copied, a mapping is its fields."""

    def convert(where: str, value: Any) -> M:
        if isinstance(value, Mapping):
            return cls(**value)
        if not isinstance(value, cls):
            raise wrong(where, f"a {cls.__qualname__}", value)
        return copy.deepcopy(value)

    return convert


def message(cls: type[M]) -> Field[M]:
    """A field that is a message of its own, created when it is first read."""
    return Field(cls, to_message(cls))
