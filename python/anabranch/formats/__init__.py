"""Files that hold networks and demands: one module for each format.

Each format's module has ``read(source) -> Draft``; those that hold demands have ``read_demands``, those that can be
written have ``write(network) -> str``. `source` opens and decodes a file, `detect` tells its format, and the rest is
shared: `graph` (node and edge lists with attributes), `attributes` (numbers with units), `labels` (unique node names),
`twins` (which link leads back).
"""
