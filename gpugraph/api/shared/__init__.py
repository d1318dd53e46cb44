"""Names that are in `tf` and in one of its modules; both import them from here by `import *`."""
