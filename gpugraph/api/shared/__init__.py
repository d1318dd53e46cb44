"""Names that `tf` and one of its modules both have, for `import *`."""
