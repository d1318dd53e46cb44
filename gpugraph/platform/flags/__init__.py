"""tf.flags, a program's command-line flags. They are defined by name and read as attributes of
`FLAGS`.

    tf.flags.DEFINE_integer("steps", 100, "How long to train.")
    FLAGS = tf.flags.FLAGS
    ... FLAGS.steps

`tf.app.run` parses the command line. Otherwise it is parsed when a flag is first read. Valid forms
are `--steps=5`, `--steps 5` and `-steps 5`, and for a boolean flag also `--verbose`, `--noverbose`
and `--verbose=false`. The program receives all arguments that are not flags, and all arguments
after `--`.
"""

from gpugraph.platform.flags.flag_definitions import (
    DEFINE_bool as DEFINE_bool,
    DEFINE_boolean as DEFINE_boolean,
    DEFINE_enum as DEFINE_enum,
    DEFINE_float as DEFINE_float,
    DEFINE_integer as DEFINE_integer,
    DEFINE_list as DEFINE_list,
    DEFINE_multi_float as DEFINE_multi_float,
    DEFINE_multi_integer as DEFINE_multi_integer,
    DEFINE_multi_string as DEFINE_multi_string,
    DEFINE_spaceseplist as DEFINE_spaceseplist,
    DEFINE_string as DEFINE_string,
    mark_flag_as_required as mark_flag_as_required,
    mark_flags_as_required as mark_flags_as_required,
    register_validator as register_validator,
    validator as validator,
)
from gpugraph.platform.flags.flag_values import (
    FLAGS as FLAGS,
    DuplicateFlagError as DuplicateFlagError,
    Error as Error,
    Flag as Flag,
    FlagValues as FlagValues,
    IllegalFlagValueError as IllegalFlagValueError,
    UnparsedFlagAccessError as UnparsedFlagAccessError,
    UnrecognizedFlagError as UnrecognizedFlagError,
    ValidationError as ValidationError,
)
