"""MergeSummary, which returns one Summary message with the values of several Summary messages."""

from __future__ import annotations

from typing import Any

from gpugraph.base.errors import invalid_argument as refusal
from gpugraph.formats.summary_bytes import summary_of_values, summary_values
from gpugraph.kernel import Call
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.summaries.scalar_and_histogram_summary_ops import summary_op


def _merge(*arrays: Any) -> None:
    *inputs, out = arrays
    tags: set[str] = set()
    contents = []
    for source in inputs:
        for text in source.reshape(-1).tolist():
            try:
                values = list(summary_values(text))
            except ValueError as error:
                raise refusal(f"Could not parse one of the summary inputs: {error}") from error
            for value in values:
                if value.tag and value.tag in tags:
                    raise refusal(f"Duplicate tag {value.tag} found in summary inputs")
                tags.add(value.tag)
                contents.append(value.content)
    out[()] = summary_of_values(contents)


merge_summary_op = summary_op(
    "MergeSummary",
    Call(_merge),
    "A Summary of the values of all inputs, no two of one tag.",
    "inputs: N * string",
    N=Attr("int", required=True, minimum=1),
)
