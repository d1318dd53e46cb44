"""Names that both `tf` and one of its modules have, for `import *`."""
