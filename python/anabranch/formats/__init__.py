"""Files that hold networks and demands: one module for each format.

Each format's module declares its ``FORMAT``: how a file is recognised, read and written. `known` lists the modules,
`source` opens and decodes a file, `detect` finds its format, and the rest is shared: `graph` (node and edge lists with
attributes), `attributes` (numbers with units), `labels` (unique node names), `twins` (which link leads back).
"""
