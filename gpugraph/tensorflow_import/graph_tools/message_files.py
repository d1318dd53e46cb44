"""Reading and writing of files that contain one message, as in the tools of TensorFlow 1."""

from __future__ import annotations

from typing import Any

from gpugraph.formats import messages_pb2
from gpugraph.platform import files


def read_message(message_class: Any, path: Any, is_binary: bool) -> Any:
    """Return the message in a file. If `is_binary` is true, the file has the binary format,
    otherwise the text format. Raises ValueError if the file does not have this format.
    """
    with files.GFile(path, "rb") as file:
        content = file.read()
    parse = messages_pb2.parse_bytes if is_binary else messages_pb2.parse_text
    try:
        return parse(message_class, content)
    except ValueError as error:
        kind = "binary" if is_binary else "text"
        name = message_class.DESCRIPTOR.name
        raise ValueError(f"{path} is no {name} in {kind} format: {error}") from error


def write_message(message: Any, path: Any, is_binary: bool = True) -> None:
    """Write a message to a file, in binary or in text format."""
    with files.GFile(path, "wb") as file:
        file.write(messages_pb2.file_content(message, not is_binary))


def names_of(text: Any) -> list[str]:
    """Return a list of names. The argument is a list, or a text in which commas separate the
    names.
    """
    parts = text.split(",") if isinstance(text, str) else text
    return [part.strip() for part in parts if part.strip()]


def read_graph_def(path: Any, is_binary: bool) -> Any:
    """Return the GraphDef in a file."""
    return read_message(messages_pb2.GraphDef, path, is_binary)
