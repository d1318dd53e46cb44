"""protobuf's classes of the declared messages, in a separate descriptor pool.

The pool is private. So if the process also imports TensorFlow, TensorFlow's `tensorflow.GraphDef`
does not conflict with gpugraph's class of this name. Only this module imports protobuf. This module
is imported when the first message is needed.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    descriptor_pool,
    json_format,
    message,
    message_factory,
    text_format,
)
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

from gpugraph.base.lfs_pointers import BEGINNING, pointer_text
from gpugraph.formats.messages import (
    graph_messages,
    model_messages,
    service_messages,
    session_messages,
    training_messages,
    tree_messages,
)
from gpugraph.formats.messages.declaration_text import (
    EnumDeclaration,
    FieldDeclaration,
    MessageDeclaration,
    read_declarations,
)

DecodeError = message.DecodeError
EncodeError = message.EncodeError
_LARGEST = (1 << 31) - 1

_PACKAGE = "tensorflow"
_ERROR_FILE = "gpugraph/formats/error_codes.proto"
_FILE = "gpugraph/formats/messages.proto"
_SERVICE_FILE = "gpugraph/formats/service.proto"
_TREE_FILE = "gpugraph/formats/boosted_trees.proto"
_MODULE = "gpugraph.formats.messages_pb2"
_FIELD_TYPES = {
    name.removeprefix("TYPE_").lower(): number
    for name, number in descriptor_pb2.FieldDescriptorProto.Type.items()
}
_TABLES = (
    graph_messages.TENSORS,
    graph_messages.GRAPHS,
    graph_messages.CLIENT,
    model_messages.META_GRAPHS,
    model_messages.CHECKPOINTS,
    model_messages.SAVED_OBJECTS,
    session_messages.SETTINGS,
    session_messages.REWRITERS,
    session_messages.RUNS,
    session_messages.PROFILES,
    session_messages.STEP_STATISTICS,
    session_messages.CLUSTERS,
    training_messages.EXAMPLES,
    training_messages.SUMMARIES,
    training_messages.PROJECTORS,
)


class _FileBuilder:
    """A converter of the declarations of one protobuf package to the descriptor of a file."""

    def __init__(self, name: str, package: str, known_enums: frozenset[str] = frozenset()) -> None:
        self.file: Any = descriptor_pb2.FileDescriptorProto(name=name, package=package)
        self._package = package
        self.file.syntax = "proto3"
        self._messages: dict[str, Any] = {}
        self._enums = set(known_enums)

    def add(self, declarations: list[MessageDeclaration | EnumDeclaration]) -> None:
        for declaration in declarations:
            if isinstance(declaration, EnumDeclaration):
                self._add_enum(declaration)
            else:
                parent, _, name = declaration.path.rpartition(".")
                siblings = self._messages[parent].nested_type if parent else self.file.message_type
                self._messages[declaration.path] = siblings.add(name=name)
        for declaration in declarations:
            if isinstance(declaration, MessageDeclaration):
                for field in declaration.fields:
                    self._add_field(declaration.path, field)

    def _add_enum(self, declaration: EnumDeclaration) -> None:
        parent, _, name = declaration.path.rpartition(".")
        self._enums.add(declaration.path)
        enum = (self._messages[parent] if parent else self.file).enum_type.add(name=name)
        for value_name, number in declaration.values.items():
            enum.value.add(name=value_name, number=number)

    def _add_field(self, path: str, declared: FieldDeclaration) -> None:
        owner = self._messages[path]
        field = owner.field.add(name=declared.name, number=declared.number)
        field.label = field.LABEL_REPEATED if declared.repeated else field.LABEL_OPTIONAL
        if declared.key_type:
            field.label = field.LABEL_REPEATED
            field.type = field.TYPE_MESSAGE
            field.type_name = f".{self._package}.{path}.{self._add_map_entry(path, declared)}"
        else:
            self._set_type(field, path, declared.type)
        if declared.oneof:
            names = [oneof.name for oneof in owner.oneof_decl]
            if declared.oneof not in names:
                owner.oneof_decl.add(name=declared.oneof)
                names.append(declared.oneof)
            field.oneof_index = names.index(declared.oneof)

    def _add_map_entry(self, path: str, declared: FieldDeclaration) -> str:
        """Add the message for the entries of a map, and return its name, which is the name that
        protoc would choose.
        """
        name = "".join(word[:1].upper() + word[1:] for word in declared.name.split("_")) + "Entry"
        entry = self._messages[path].nested_type.add(name=name)
        entry.options.map_entry = True
        for number, field_name, kind in (
            (1, "key", declared.key_type),
            (2, "value", declared.type),
        ):
            field = entry.field.add(name=field_name, number=number)
            field.label = field.LABEL_OPTIONAL
            self._set_type(field, path, kind)
        return name

    def _set_type(self, field: Any, path: str, kind: str) -> None:
        if kind in _FIELD_TYPES:
            field.type = _FIELD_TYPES[kind]
        elif kind.startswith("google."):
            field.type, field.type_name = field.TYPE_MESSAGE, f".{kind}"
        else:
            target = self._resolve(path, kind)
            is_enum = target in self._enums
            field.type = field.TYPE_ENUM if is_enum else field.TYPE_MESSAGE
            field.type_name = f".{self._package}.{target}"

    def _resolve(self, path: str, kind: str) -> str:
        scope = path.split(".")
        for depth in range(len(scope), -1, -1):
            candidate = ".".join([*scope[:depth], kind])
            if candidate in self._messages or candidate in self._enums:
                return candidate
        raise ValueError(f"{path}: there is no message or enumeration {kind}")


def _build_pool() -> Any:
    pool = descriptor_pool.DescriptorPool()
    errors = _FileBuilder(_ERROR_FILE, f"{_PACKAGE}.error")
    errors.add(list(read_declarations(graph_messages.ERROR_CODES)))
    messages = _FileBuilder(_FILE, _PACKAGE, frozenset({"error.Code"}))
    messages.add([item for table in _TABLES for item in read_declarations(table)])
    messages.file.dependency.extend([any_pb2.DESCRIPTOR.name, _ERROR_FILE])
    pool.AddSerializedFile(any_pb2.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(errors.file.SerializeToString())
    pool.AddSerializedFile(messages.file.SerializeToString())
    service = _FileBuilder(_SERVICE_FILE, "gpugraph.cluster")
    service.add(list(read_declarations(service_messages.SERVICE)))
    pool.AddSerializedFile(service.file.SerializeToString())
    trees = _FileBuilder(_TREE_FILE, f"{_PACKAGE}.boosted_trees")
    trees.add(list(read_declarations(tree_messages.TREES)))
    pool.AddSerializedFile(trees.file.SerializeToString())
    return pool


_pool = _build_pool()
DESCRIPTOR = _pool.FindFileByName(_FILE)


_make_class: Any = getattr(message_factory, "GetMessageClass", None)
if _make_class is None:  # protobuf 4.21 lacks the function
    _make_class = message_factory.MessageFactory(_pool).GetPrototype

_classes: list[Any] = []
"""All classes: protobuf drops a class that is not referenced, together with its attributes."""


_LOADED = frozenset(f"{_PACKAGE}.{name}" for name in ("GraphDef", "MetaGraphDef", "SavedModel"))
"""The messages that programs parse from files themselves."""


def _name_pointers(cls: Any) -> None:
    """Change a message class so that its parsing errors mention a Git LFS pointer if the bytes are
    one.
    """
    parse = cls.ParseFromString

    def parse_from_string(self: Any, serialized: Any) -> Any:
        """Replace the message by one that is parsed from bytes. Return the number of bytes."""
        try:
            return parse(self, serialized)
        except DecodeError as error:
            raise DecodeError(f"{error}{pointer_text(serialized)}") from error

    def from_string(serialized: Any) -> Any:
        """Return a message parsed from bytes."""
        message = cls()
        message.ParseFromString(serialized)
        return message

    cls.ParseFromString, cls.FromString = parse_from_string, staticmethod(from_string)


def _class_of(descriptor: Any) -> Any:
    """Return the class of a message. Set the module names of the class and its nested classes."""
    cls = _make_class(descriptor)
    cls.__module__ = _MODULE
    _classes.append(cls)
    if descriptor.full_name in _LOADED:
        _name_pointers(cls)
    for inner in descriptor.nested_types:
        _class_of(inner)
    return cls


def _named_classes(*files: Any) -> dict[str, Any]:
    """Return the classes of the messages and enumerations of files, and the numbers of the
    enumerations' values, by name.
    """
    classes: dict[str, Any] = {}
    for file in files:
        classes |= {name: _class_of(kind) for name, kind in file.message_types_by_name.items()}
        for name, descriptor in file.enum_types_by_name.items():
            classes[name] = EnumTypeWrapper(descriptor)
            classes |= {value.name: value.number for value in descriptor.values}
    return classes


NAMES = _named_classes(DESCRIPTOR, _pool.FindFileByName(_ERROR_FILE))
"""Message classes, enumerations and the numbers of their values, by name."""

TREE_MESSAGES = _named_classes(_pool.FindFileByName(_TREE_FILE))
"""The same for the messages of ensembles of decision trees."""

SERVICE_MESSAGES: dict[str, Any] = {
    name: _class_of(descriptor)
    for name, descriptor in _pool.FindFileByName(_SERVICE_FILE).message_types_by_name.items()
}
"""The classes of the messages that servers of a cluster exchange, by name."""


def parse_bytes(message_class: Any, content: bytes) -> Any:
    """Parse a message from bytes. Raises ValueError if the bytes are malformed."""
    try:
        return message_class.FromString(content)
    except DecodeError as error:
        raise ValueError(str(error)) from error


_NO_TEXT = (
    *(text_format.ParseError, UnicodeDecodeError, RecursionError),
    DeprecationWarning,  # raised for an invalid escape if warnings are errors
)


def parse_text(message_class: Any, content: bytes, allow_unknown: bool = True) -> Any:
    """Parse a message from its text format in UTF-8. Raises ValueError if the text is malformed.

    Args:
      allow_unknown: whether unknown fields, for example of later versions of TensorFlow, are
        skipped, as in the binary format. Otherwise they raise ValueError.
    """
    try:
        text = content.decode("utf-8")
        return text_format.Parse(text, message_class(), allow_unknown_field=allow_unknown)
    except _NO_TEXT as error:
        text = str(error) or type(error).__name__
        raise ValueError(f"{text}{pointer_text(content)}") from error


def parse_message(message_class: Any, content: bytes) -> Any:
    """Parse a message in binary or text format. Raises ValueError if the content has neither
    format.
    """
    if content.startswith(BEGINNING):
        raise ValueError(f"it is no {message_class.DESCRIPTOR.name}{pointer_text(content)}")
    try:
        return parse_bytes(message_class, content)
    except ValueError as error:
        reason = error
    try:
        return parse_text(message_class, content)
    except ValueError as error:
        raise ValueError(f"neither its bytes ({reason}) nor its text ({error})") from error


def json_of_message(value: Any) -> dict[str, Any]:
    """Return the message as a dict of JSON values, according to protobuf's rules."""
    result: dict[str, Any] = json_format.MessageToDict(value)
    return result


def message_of_json(message_class: Any, value: Any) -> Any:
    """Return the message that a dict of JSON values describes. Raises ValueError if the dict is
    malformed.

    Unknown fields are skipped.
    """
    try:
        return json_format.ParseDict(value, message_class(), ignore_unknown_fields=True)
    except (json_format.ParseError, RecursionError, AttributeError, TypeError) as error:
        raise ValueError(str(error) or type(error).__name__) from error


def file_content(value: Any, as_text: bool = False) -> bytes:
    """Return the content of a file that holds the message, in binary format or, with `as_text`, in
    text format.

    The entries of maps are sorted. Raises ValueError if the binary format exceeds 2 GiB, protobuf's
    limit.
    """
    if as_text:
        return text_format.MessageToString(value).encode()
    try:
        content: bytes = value.SerializeToString(deterministic=True)
    except EncodeError:
        content = b""
        is_too_large = True
    else:
        is_too_large = len(content) > _LARGEST
    if is_too_large:
        name = value.DESCRIPTOR.full_name
        raise ValueError(f"Message {name} exceeds maximum protobuf size of 2GB.")
    return content
