"""Lists of names that `tf` and one of its modules have in common. Both import them from here, by
`import *`.
"""
