"""Names on a terminal."""


def printable(name: str) -> str:
    """Give a name without what would move the cursor or start a line: control characters are written out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in name)
