"""What the figures have in common: colours, and how methods are called in them."""

INK = "#1b2430"
SOFT_INK = "#4a5563"
GREY = "#8a94a0"
PALE = "#c9d0d8"
GRID = "#e4e8ec"

METHODS = {"c-slen": "c-SLEN", "iewf": "IEWF", "lp": "linear programs"}


def method_name(method: str) -> str:
    """Give a method's name as the literature writes it."""
    return METHODS.get(method, method.replace("-", " "))
