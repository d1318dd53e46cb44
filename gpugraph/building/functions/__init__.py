"""Functions of a program, traced once into graphs that ops run as a unit."""
