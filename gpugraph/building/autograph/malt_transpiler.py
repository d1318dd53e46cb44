"""The transpiler of diastatic-malt, a package with AutoGraph's conversion of source code, adapted
to this package's operators.

The module is imported when a function is first converted (`function_conversion`).
"""

from __future__ import annotations

import types
from typing import Any

from malt.converters import (
    asserts,
    break_statements,
    call_trees,
    conditional_expressions,
    continue_statements,
    control_flow,
    directives,
    functions,
    lists,
    logical_expressions,
    return_statements,
    slices,
    variables,
)
from malt.core import converter, unsupported_features_checker
from malt.impl import api
from malt.lang import directives as markers
from malt.pyct import anno
from malt.utils import ag_logging

from gpugraph.building.autograph.loop_options import loop_option_names


class _LoopDirectives(directives.DirectivesTransformer):  # type: ignore[misc]
    """A transformer that recognizes this package's `set_loop_options` and `set_element_type` in
    addition to malt's.
    """

    def __init__(self, ctx: Any, loop_options: Any, element_type: Any) -> None:
        super().__init__(ctx)
        self._loop_options = loop_options
        self._element_type = element_type

    def visit_Expr(self, node: Any) -> Any:
        """Remove the call of a directive, and record the arguments of the call."""
        called = getattr(node.value, "func", None)
        if called is not None:
            self.visit(called)
            static = anno.getanno(called, directives.STATIC_VALUE, default=None)
            if static is self._loop_options:
                return self._loop_directive(node.value)
            if static is self._element_type:
                anno.setanno(called, directives.STATIC_VALUE, markers.set_element_type)
        return super().visit_Expr(node)

    def _loop_directive(self, call: Any) -> None:
        state = self.state[directives._LoopScope]
        state.statements_visited += 1
        if state.statements_visited > 1:
            raise ValueError('"set_loop_options" must be the first statement in the loop block')
        if state.level < 2:
            raise ValueError('"set_loop_options" must be used inside a statement')
        arguments = dict(zip(loop_option_names(), call.args))
        arguments |= {keyword.arg: keyword.value for keyword in call.keywords}
        notes = anno.getanno(state.ast_node, anno.Basic.DIRECTIVES, {})
        notes[markers.set_loop_options] = arguments
        anno.setanno(state.ast_node, anno.Basic.DIRECTIVES, notes)


class Transpiler(api.PyToPy):  # type: ignore[misc]
    """A converter of functions. The converted functions call `operators`, which they access as
    attributes of `ag__`.
    """

    def __init__(self, operators: dict[str, Any], loop_options: Any, element_type: Any) -> None:
        super().__init__()
        module = types.ModuleType("ag__")
        module.__dict__.update(operators)
        vars(module)["ConversionOptions"] = converter.ConversionOptions
        vars(module)["STD"] = converter.STANDARD_OPTIONS
        vars(module)["Feature"] = converter.Feature
        self._locals = {"ag__": module}
        self._markers = (loop_options, element_type)

    def get_transformed_name(self, node: Any) -> str:
        """Return the name of the converted function: `tf__f` for `f`."""
        return "tf__" + str(super(api.PyToPy, self).get_transformed_name(node))

    def get_extra_locals(self) -> dict[str, Any]:
        """Return the additional variables of the converted code: `ag__`, the module of the
        operators.
        """
        return self._locals

    def transform_ast(self, node: Any, ctx: Any) -> Any:
        """Convert the syntax tree of a function."""
        unsupported_features_checker.verify(node)
        node = self.initial_analysis(node, ctx)
        node = functions.transform(node, ctx)
        node = _LoopDirectives(ctx, *self._markers).visit(node)
        node = break_statements.transform(node, ctx)
        options = ctx.user.options
        if options.uses(converter.Feature.ASSERT_STATEMENTS):
            node = asserts.transform(node, ctx)
        node = continue_statements.transform(node, ctx)
        node = return_statements.transform(node, ctx)
        if options.uses(converter.Feature.LISTS):
            node = slices.transform(lists.transform(node, ctx), ctx)
        for stage in (
            call_trees,
            control_flow,
            conditional_expressions,
            logical_expressions,
            variables,
        ):
            node = stage.transform(node, ctx)
        return node


def options_of(
    recursive: bool, user_requested: bool, features: tuple[str, ...], internal: bool = True
) -> Any:
    """Return malt's ConversionOptions.

    Args:
      features: the names of members of `Feature`.
    """
    return converter.ConversionOptions(
        recursive=recursive,
        user_requested=user_requested,
        internal_convert_user_code=internal,
        optional_features=tuple(converter.Feature[name] for name in features),
    )


def program_context(options: Any) -> Any:
    """Return malt's context for one conversion."""
    return converter.ProgramContext(options=options)


def set_log_level(level: int | None, to_stdout: bool) -> None:
    """Set the verbosity of malt's logs."""
    ag_logging.verbosity_level = level
    ag_logging.echo_log_to_stdout = to_stdout
