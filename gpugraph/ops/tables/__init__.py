"""Tables of values by keys, which a session keeps behind handles, and files that fill them."""
