"""Tables of values by keys, which a session holds behind handles, and the files that fill them."""
