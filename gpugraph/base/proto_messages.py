"""Messages: records of declared fields that behave like TensorFlow's protocol messages.

Every field has a type and a default. A nested message is created when it is first accessed. An
assignment checks the value and stores a copy. The error for an unknown name lists the fields, and
the error for a value of the wrong type names the expected type. The settings in `config` are such
messages.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, TypeVar

from gpugraph.base.field_conversions import (
    to_bool as to_bool,
    to_float as to_float,
    to_int as to_int,
    to_str as to_str,
    wrong as wrong,
)
from gpugraph.base.proto_fields import (
    Convert,
    EnumType as EnumType,
    Field as Field,
    MapField,
    boolean as boolean,
    choice as choice,
    deferred as deferred,
    empty_message as empty_message,
    integer as integer,
    list_of as list_of,
    map_of as map_of,
    number as number,
    text as text,
    without_effect as without_effect,
)
from gpugraph.base.proto_text import text_lines
from gpugraph.base.protobuf_fields import protobuf_class, set_protobuf, take_protobuf

M = TypeVar("M", bound="Message")


class _Descriptor:
    """The attribute `DESCRIPTOR` of a class of messages: protobuf's descriptor of the same
    message.
    """

    def __get__(self, instance: object, owner: type[Message]) -> Any:
        return owner._protobuf_class().DESCRIPTOR


class Message:
    """Base class of messages, which are records of declared fields. The values of fields are passed
    by keyword or assigned.

    Two messages are equal if they have the same class, if the same nested messages are present in
    both, and if all their fields are equal. None as an argument means the field's default. A dict
    can be passed for a nested message. A nested message is present if the message itself or one of
    its fields has been assigned or changed. `str` returns protobuf's text format.

    Raises:
      AttributeError: assignment to a field that does not exist.
      ValueError: a keyword that is not a field, or a value out of its range.
      TypeError: a value of the wrong type.
    """

    _fields: ClassVar[dict[str, Field[Any]]] = {}
    _protobuf_name: ClassVar[str] = ""
    _is_present = False  # set to True in an instance when it is changed

    DESCRIPTOR: ClassVar[Any] = _Descriptor()
    """The protobuf descriptor of TensorFlow's message of this name."""

    def __init_subclass__(cls) -> None:
        declared = {name: value for name, value in vars(cls).items() if isinstance(value, Field)}
        cls._fields = {**cls._fields, **declared}
        for name, field in declared.items():
            if isinstance(field, MapField):
                entry = f"{name.title().replace('_', '')}Entry"
                members = {
                    **field.entry_fields(),
                    "__doc__": f"An entry of {name}.",
                    "__module__": cls.__module__,
                    "__qualname__": f"{cls.__qualname__}.{entry}",
                }
                setattr(cls, entry, type(entry, (Message,), members))

    def __init__(self, **values: Any) -> None:
        for name, value in values.items():
            self._check(name, ValueError)
            if value is not None:
                setattr(self, name, value)

    @classmethod
    def _protobuf_class(cls) -> Any:
        return protobuf_class(cls._proto_name())

    @classmethod
    def _proto_name(cls) -> str:
        return cls._protobuf_name or cls.__qualname__

    def _check(self, name: str, error_class: type[Exception]) -> None:
        if name not in self._fields:
            raise error_class(
                f'Protocol message {type(self).__name__} has no "{name}" field. Its fields are: '
                + ", ".join(sorted(self._fields))
            )

    def __setattr__(self, name: str, value: Any) -> None:
        self._check(name, AttributeError)
        object.__setattr__(self, name, value)
        self.SetInParent()

    def SetInParent(self) -> None:
        """Mark the message as present in its parent, even if no field of it is set."""
        self.__dict__["_is_present"] = True

    def is_there(self) -> bool:
        """Return whether the message itself or one of its fields was assigned or changed."""
        return self._is_present or bool(self._set_fields())

    def CopyFrom(self, other: Message) -> None:
        """Replace all fields by the fields of `other`.

        Raises TypeError unless `other` has the same class, or protobuf's class for TensorFlow's
        message of this name.
        """
        values = copy.deepcopy(self._as_own(other, "CopyFrom").__dict__)
        self.__dict__.clear()
        self.__dict__.update(values)
        self.SetInParent()

    def _as_own(self, other: Any, method: str) -> Message:
        if type(other) is type(self):
            return other
        if is_protobuf_of(type(self), other):
            return type(self).FromString(other.SerializeToString())
        raise TypeError(
            f"Parameter to {method}() must be instance of same class: expected "
            f"{type(self).__name__} got {type(other).__name__}."
        )

    def MergeFrom(self, other: Message) -> None:
        """Merge the set fields of `other` into this message.

        Repeated fields are extended, maps are updated, nested messages are merged, and all other
        fields are replaced. Raises TypeError unless `other` has the same class, or protobuf's class
        for this message.
        """
        other = self._as_own(other, "MergeFrom")
        if other is self:
            return
        self.SetInParent()
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
        """Parse `serialized`, merge the result into this message, and return the number of parsed
        bytes.
        """
        self.MergeFrom(type(self).FromString(serialized))
        return len(serialized)

    def ListFields(self) -> list[tuple[Any, Any]]:
        """Return (protobuf descriptor, value) of each set field, ordered by field number."""
        known = self.DESCRIPTOR.fields_by_name
        pairs = [(known[name], value) for name, value in self._set_fields() if name in known]
        return sorted(pairs, key=lambda pair: int(pair[0].number))

    def WhichOneof(self, name: str) -> str | None:
        """Raise ValueError: these messages have no oneof."""
        raise ValueError(f'Protocol message {type(self).__name__} has no "{name}" field.')

    def IsInitialized(self) -> bool:
        """Return True, since there are no required fields."""
        return True

    def ByteSize(self) -> int:
        """Return the number of bytes in the result of `SerializeToString`."""
        return len(self.SerializeToString())

    def FindInitializationErrors(self) -> list[str]:
        """Return an empty list, since there are no required fields."""
        return []

    def DiscardUnknownFields(self) -> None:
        """Do nothing, since unknown fields are not kept."""

    def _set_fields(self) -> list[tuple[str, Any]]:
        """Return (name, value) of each field that differs from its default or holds a message that
        is present.
        """
        return [(name, getattr(self, name)) for name, f in self._fields.items() if f.is_set(self)]

    def Clear(self) -> None:
        """Reset every field to its default."""
        self.__dict__.clear()
        self.SetInParent()

    def ClearField(self, name: str) -> None:
        """Reset one field to its default. Raises ValueError for a name that is not a field."""
        self._check(name, ValueError)
        self.__dict__.pop(name, None)
        self.SetInParent()

    def HasField(self, name: str) -> bool:
        """Return whether a nested message is present: it or one of its fields was assigned or
        changed.

        Raises ValueError if `name` is not a nested message. Only nested messages can be absent.
        """
        self._check(name, ValueError)
        if not self._fields[name].has_presence:
            whole = f"tensorflow.{self._proto_name()}.{name}"
            raise ValueError(f"Field {whole} does not have presence.")
        return self._fields[name].is_set(self)

    def SerializeToString(self) -> bytes:
        """Return the message as bytes in protobuf's format.

        Fields that TensorFlow's message does not have are omitted.
        """
        target = self._protobuf_class()()
        set_protobuf(self, target)
        return target.SerializeToString(deterministic=True)

    def ParseFromString(self, serialized: bytes) -> int:
        """Replace all fields by the fields of the serialized message. Return the number of parsed
        bytes.

        Raises protobuf's DecodeError for malformed bytes.
        """
        source = self._protobuf_class().FromString(serialized)
        self.Clear()
        take_protobuf(self, source)
        return len(serialized)

    @classmethod
    def FromString(cls: type[M], serialized: bytes) -> M:
        """Return a new message parsed from bytes. Raises protobuf's DecodeError for malformed
        bytes.
        """
        message = cls()
        message.ParseFromString(serialized)
        return message

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._set_fields() == other._set_fields()

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self._set_fields())
        return f"{type(self).__name__}({fields})"

    def __str__(self) -> str:
        """Return protobuf's text format, one field per line."""
        return "".join(f"{line}\n" for line in text_lines(self, self._numbers()))

    @classmethod
    def _numbers(cls) -> dict[str, int]:
        """Return the field numbers by field name."""
        return {field.name: field.number for field in cls.DESCRIPTOR.fields}


def unused(settings: Message) -> list[str]:
    """Return the names of the set fields that have no effect, including fields of nested
    messages.
    """
    names: list[str] = []
    for name, value in settings._set_fields():
        if not settings._fields[name].has_effect:
            names.append(name)
        elif isinstance(value, Message):
            names += [f"{name}.{inner}" for inner in unused(value)]
    return names


class Messages(list[M]):
    """The value of a repeated field of messages: a list whose `add` appends a new message."""

    def __init__(self, kind: type[M], items: Iterable[M] = ()) -> None:
        super().__init__(items)
        self._kind = kind

    def add(self, **values: Any) -> M:
        """Append a new message with these field values, and return it."""
        self.append(self._kind(**values))
        return self[-1]


def messages_of(kind: type[M]) -> Field[Messages[M]]:
    """Return a repeated field of messages of the class `kind`, empty by default."""
    convert = to_message(kind)

    def convert_all(where: str, value: Any) -> Messages[M]:
        items = list_of(convert)._convert(where, value)
        return Messages(kind, items)

    return Field(lambda: Messages(kind), convert_all)


def is_protobuf_of(cls: type[Message], value: object) -> bool:
    """Return whether the value is an instance of protobuf's class for the message `cls`."""
    if isinstance(value, Message):
        return False
    descriptor = getattr(type(value), "DESCRIPTOR", None)
    return getattr(descriptor, "full_name", "") == f"tensorflow.{cls._proto_name()}"


def to_message(cls: type[M]) -> Convert[M]:
    """Return a function that converts a value assigned to a field to a message of the class `cls`.

    The function copies a message of the class, creates a message from a mapping of field names to
    values, and converts an instance of protobuf's class for TensorFlow's message of this name.
    """

    def convert(where: str, value: Any) -> M:
        if is_protobuf_of(cls, value):
            value = cls.FromString(value.SerializeToString())
        if not isinstance(value, (cls, Mapping)):
            raise wrong(where, f"a {cls.__qualname__}", value)
        result = cls(**value) if isinstance(value, Mapping) else copy.deepcopy(value)
        result.SetInParent()
        return result

    return convert


class MessageField(Field[M]):
    """A field that is a nested message, created when it is first accessed."""

    has_presence = True

    def is_set(self, instance: object) -> bool:
        """Return whether the message is present."""
        value = vars(instance).get(self.name)
        return value is not None and value.is_there()


def message(cls: type[M]) -> Field[M]:
    """Return a field that is a nested message, created when it is first accessed."""
    return MessageField(cls, to_message(cls))
