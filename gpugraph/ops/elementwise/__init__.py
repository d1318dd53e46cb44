"""Functions of each element: arithmetic, comparisons, logic, Python's operators."""
