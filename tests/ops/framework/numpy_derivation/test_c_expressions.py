"""C expressions as trees: precedence, casts, calls, choices, and what is no expression."""

from __future__ import annotations

import pytest

from gpugraph.ops.framework.numpy_derivation.c_expressions import Expression, parse


def shown(node: Expression) -> str:
    if not node.operands:
        return node.text
    return f"[{node.kind} {' '.join(map(shown, node.operands))}]"


@pytest.mark.parametrize(
    ("expression", "tree"),
    [
        ("x - y - z", "[- [- x y] z]"),
        ("x + y * z", "[+ x [* y z]]"),
        ("(x + y) * z", "[* [+ x y] z]"),
        ("-x * y", "[* [- x] y]"),
        ("(T)1 / rounded((T)1 + fabs(x))", "[/ [(T) 1] [+ [(T) 1] [fabs x]]]"),
        ("x > (T)0 && y != x ? x : z", "[? [&& [> x [(T) 0]] [!= y x]] x z]"),
        ("x < y ? x : x < z ? y : z", "[? [< x y] x [? [< x z] y z]]"),
        ("x * (T)(y > (T)0.5e-3)", "[* x [(T) [> y [(T) 0.5e-3]]]]"),
        ("fmax(x, (T)0) + !y", "[+ [fmax x [(T) 0]] [! y]]"),
    ],
)
def test_trees(expression: str, tree: str) -> None:
    assert shown(parse(expression)) == tree


@pytest.mark.parametrize("expression", ["x +", "x ) y", "x y", "x = y", "x[0]", ""])
def test_other_texts_are_refused(expression: str) -> None:
    with pytest.raises(ValueError, match=r"C expression"):
        parse(expression)
