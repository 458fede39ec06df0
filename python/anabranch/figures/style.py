"""Colours and names of methods, for all figures."""

INK = "#1b2430"
SOFT_INK = "#4a5563"
GREY = "#8a94a0"
PALE = "#c9d0d8"
GRID = "#e4e8ec"

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#1b2430")
"""Told apart with any colour sight, the first ones best."""

METHODS = {"c-slen": "c-SLEN", "iewf": "IEWF", "lp": "linear programs", "swan": "SWAN"}


def method_name(method: str) -> str:
    """Give a method's name as the literature writes it."""
    return METHODS.get(method, method.replace("-", " "))
