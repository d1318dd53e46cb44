"""The C expressions of elementwise kernels as trees."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple


class Expression(NamedTuple):
    """A node of an expression: `kind` is "name", "number", "?", a cast such as "(T)", an operator
    with one or two operands, or the name of a function.

    Args:
      text: the text of a name or a number.
    """

    kind: str
    operands: tuple[Expression, ...] = ()
    text: str = ""


_TOKEN = re.compile(
    r"\s*(\(\s*[TU]\s*\)|\d+\.?\d*(?:[eE][+-]?\d+)?|\w+|&&|\|\||[<>=!]=|[-+*/<>!?:(),])"
)
_BINARY = (("||",), ("&&",), ("==", "!="), ("<", "<=", ">", ">="), ("+", "-"), ("*", "/"))
"""The operators with two operands, from the weakest binding to the strongest."""


@functools.cache
def parse(expression: str) -> Expression:
    """Parse an expression and return its tree. A call `rounded(x)` is replaced by `x`.

    Raises ValueError for syntax that elementwise kernels do not use.
    """
    tokens = _Tokens(expression)
    node = tokens.choice()
    if tokens.rest:
        raise ValueError(f"Unexpected '{tokens.rest[0]}' in the C expression '{expression}'")
    return node


class _Tokens:
    """The remaining tokens of an expression that is being parsed."""

    def __init__(self, expression: str) -> None:
        self.rest = _TOKEN.findall(expression)
        if "".join(self.rest) != re.sub(r"\s+", "", expression):
            raise ValueError(f"'{expression}' is no C expression of an elementwise kernel")

    def accept(self, *tokens: str) -> str:
        """If the next token is one of `tokens`, remove and return it. Otherwise return ""."""
        return self.rest.pop(0) if self.rest and self.rest[0] in tokens else ""

    def choice(self) -> Expression:
        """Parse `condition ? a : b`, or an expression without a condition."""
        condition = self.binary(0)
        if not self.accept("?"):
            return condition
        first = self.choice()
        self.accept(":")
        return Expression("?", (condition, first, self.choice()))

    def binary(self, level: int) -> Expression:
        """Parse operators of this level of `_BINARY`, and operators of higher precedence."""
        if level == len(_BINARY):
            return self.unary()
        node = self.binary(level + 1)
        while operator := self.accept(*_BINARY[level]):
            node = Expression(operator, (node, self.binary(level + 1)))
        return node

    def unary(self) -> Expression:
        """Parse casts and operators before an operand."""
        if operator := self.accept("-", "!", "(T)", "(U)"):
            return Expression(operator, (self.unary(),))
        return self.operand()

    def operand(self) -> Expression:
        """Parse a name, a number, a call, or an expression in parentheses."""
        if self.accept("("):
            node = self.choice()
            self.accept(")")
            return node
        if not self.rest:
            raise ValueError("A C expression ends before its last operand")
        text = self.rest.pop(0)
        if not self.accept("("):
            return Expression("number" if text[0].isdigit() else "name", text=text)
        operands = [self.choice()]
        while self.accept(","):
            operands.append(self.choice())
        self.accept(")")
        return operands[0] if text == "rounded" else Expression(text, tuple(operands))
