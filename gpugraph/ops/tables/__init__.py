"""Tables of values by keys, which a session keeps behind handles, and the files that fill them."""
