"""The tables of messages are read to the letter."""

from __future__ import annotations

import pytest

from gpugraph.formats.messages.declaration_text import (
    EnumDeclaration,
    FieldDeclaration,
    MessageDeclaration,
    read_declarations,
)


def test_fields_enumerations_and_empty_messages():
    text = """
A.B: 1 x *int64, 2 y string:C.D,
    30 z bytes |kind
enum E: ONE 1, LESS -1
Empty:
"""
    assert list(read_declarations(text)) == [
        MessageDeclaration(
            "A.B",
            [
                FieldDeclaration(1, "x", "int64", True, "", ""),
                FieldDeclaration(2, "y", "C.D", False, "string", ""),
                FieldDeclaration(30, "z", "bytes", False, "", "kind"),
            ],
        ),
        EnumDeclaration("E", {"ONE": 1, "LESS": -1}),
        MessageDeclaration("Empty", []),
    ]


def test_a_field_without_a_type_is_refused():
    with pytest.raises(ValueError, match="A: '1 x' is not a field"):
        list(read_declarations("A: 1 x"))
