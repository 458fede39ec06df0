"""The page of samples: a table of the columns for each kind of item, made from the table of columns."""

from anabranch.runs.columns import KINDS, RECORDED_BY, THINGS, columns_of

INTRO = """# Samples

A run records values at equal intervals of time ([how to simulate](../how-to/simulate.md)). `result.series` has a table
for each kind of item, and the folder of the run has a file for each. A table has only the columns that the run
recorded, and a folder has only the files with recorded columns. [Result](../api.md#simulate) describes each column.

The first column of each table is `time_s`, the time of the sample in seconds. Fair rates and errors also need
`"fairness"` in `record`, windows need `"windows"`, and the longest queue of the run needs `"errors"`."""

HEADINGS = "| column | unit | type |\n|---|---|---|"


def samples_page() -> str:
    """Give the page."""
    return "\n\n".join([INTRO, *map(_section, KINDS)]) + "\n"


def _section(kind: str) -> str:
    name = f"Column `{THINGS[kind]}` has the name of the {THINGS[kind]}. " if kind in THINGS else ""
    head = (
        f"## {kind.capitalize()}\n\n"
        f'`series["{kind}"]`, file `series_{kind}.parquet`. {name}'
        f'`record = ["{RECORDED_BY[kind]}"]` in `[run]` records this table.'
    )
    rows = [f"| `{column.name}` | {column.unit} | {column.dtype.__name__} |" for column in columns_of(kind)]
    return f"{head}\n\n{HEADINGS}\n" + "\n".join(rows)
