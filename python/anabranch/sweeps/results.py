"""The runs of a sweep as tables: one frame over all of them, read when it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import numpy as np
import polars as pl

from anabranch.errors import ScenarioError
from anabranch.runs.columns import schema_of
from anabranch.runs.result import read_result
from anabranch.runs.table_files import SERIES_FILES
from anabranch.runs.written_before import SERIES, rows_of, with_path_lists
from anabranch.sweeps.quantity import SERIES_REMEDY, Of
from anabranch.sweeps.single_run import TOGETHER, tables_of
from anabranch.sweeps.store import Store, is_whole_of_many, tables_folders

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from anabranch.sweeps.points import Point

KINDS: tuple[Of, ...] = get_args(Of)
"""The tables over runs."""

POINTS = "points.parquet"

FILE = "file of the run"
"""A column of our own; nothing that is varied is called so."""


@dataclass(frozen=True)
class Swept:
    """The results of a sweep.

    Attributes
    ----------
    folder : Path
        Where its runs are.
    points : DataFrame
        A row for each point: ``run``, the name of its folder under ``runs``, null if it is not there; then a column for
        all that was varied: numbers, in the unit that the column's name ends with, or text.
    failed : DataFrame
        A row for each point whose run failed: ``error``, and what was varied.
    """

    folder: Path
    points: pl.DataFrame
    failed: pl.DataFrame

    @property
    def varied(self) -> list[str]:
        """The columns of what was varied."""
        return [name for name in self.points.columns if name != "run"]

    def table(self, of: Of) -> pl.LazyFrame:
        """Give a table over all runs that are there.

        Parameters
        ----------
        of : str
            ``"runs"``: a row for each run with what is known of it, as in `Result.meta`. Or a table of results:
            ``"connections"``, ``"subflows"``, ``"links"``, ``"waits"``. What was sampled, ``"series_connections"``,
            ``"series_subflows"``, ``"series_links"`` and ``"series_run"``, and ``"spread"`` are read from each run's
            folder, so they take their time.

        Returns
        -------
        LazyFrame
            ``run``, what was varied, and the columns of the table, in the order of the points. A column of the table
            that has the name of something varied is called ``own_protocol`` and so on.

        Raises
        ------
        ScenarioError
            There is no such table.
        """
        return self._joined(of, self.points)

    def numbered(self, of: Of) -> pl.LazyFrame:
        """Give a table over all runs, with the number of the ``point`` if several points are one run."""
        names = self.points["run"].drop_nulls()
        is_shared = names.n_unique() < len(names)
        return self._joined(of, self.points.with_row_index("point") if is_shared else self.points)

    def _joined(self, of: Of, points: pl.DataFrame) -> pl.LazyFrame:
        if of not in KINDS:
            if of == SERIES:
                raise ScenarioError(f"{self.folder}: there is no table `{of}`; {SERIES_REMEDY}")
            raise ScenarioError(f"{self.folder}: there is no table `{of}`; there is {', '.join(KINDS)}")
        done = points.lazy().filter(pl.col("run").is_not_null())
        rows = self._rows(of)
        taken = [name for name in rows.collect_schema().names() if name in self.varied]
        own = rows.rename({name: f"own_{name}" for name in taken})
        return done.join(own, on="run", how="inner", maintain_order="left_right")

    def _rows(self, of: Of) -> pl.LazyFrame:
        is_together = of == "runs" or of in TOGETHER
        parts = [*self._segments(of), *self._loose(of)] if is_together else self._apart(of)
        if not parts:
            return pl.LazyFrame({"run": []}, schema={"run": pl.String})
        return pl.concat(parts, how="diagonal_relaxed")

    def _segments(self, of: str) -> list[pl.LazyFrame]:
        files = _files_together(self.folder, of)
        if of != "subflows":
            return [_scanned(files)] if files else []
        # Tables of earlier versions have paths as texts.
        older = [file for file in files if pl.read_parquet_schema(file)["path"] == pl.String]
        newer = [file for file in files if file not in older]
        return [*map(_with_path_lists, older), *([_scanned(newer)] if newer else [])]

    def _loose(self, of: str) -> list[pl.LazyFrame]:
        return [tables[of].lazy() for tables in (self._loose_tables,) if of in tables]

    @cached_property
    def _loose_tables(self) -> dict[str, pl.DataFrame]:
        return together(Store(self.folder), self.loose_runs)

    @cached_property
    def loose_runs(self) -> list[str]:
        """The runs that are in no table of many runs together."""
        known = runs_together(self.folder)
        return [run for run in self.points["run"].drop_nulls().unique(maintain_order=True) if run not in known]

    def _apart(self, of: str) -> list[pl.LazyFrame]:
        kind = SERIES_FILES.get(of)
        if kind is None:
            return [_with_run(pl.scan_parquet(files, glob=False, include_file_paths=FILE)) for files in self._files(of)]
        # Runs need not have recorded the same columns.
        schema = schema_of(kind)
        newer = [
            pl.scan_parquet(
                files,
                glob=False,
                schema=schema,
                missing_columns="insert",
                extra_columns="ignore",
                include_file_paths=FILE,
            )
            for files in self._files(of)
        ]
        older = [
            rows_of(pl.scan_parquet(files, glob=False, include_file_paths=FILE), kind, FILE)
            for files in self._files(SERIES)
        ]
        return [_with_run(frame) for frame in (*newer, *older)]

    def _files(self, name: str) -> list[list[Path]]:
        """Give the files of a table in the folders of the runs: one list of all, or no list if there is none."""
        runs = self.points["run"].drop_nulls().unique(maintain_order=True).to_list()
        files = [file for run in runs if (file := self.folder / "runs" / run / f"{name}.parquet").is_file()]
        return [files] if files else []

    def __repr__(self) -> str:
        there = len(self.points) - self.points["run"].null_count()
        failed = f", {len(self.failed)} failed" if len(self.failed) else ""
        return f"<Swept {self.folder}: {there} of {len(self.points)} runs{failed}>"


def _with_run(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Give the rows of files of runs with the names of the runs."""
    return frame.with_columns(pl.col(FILE).str.extract(r"([^/\\]+)[/\\][^/\\]+$").alias("run")).drop(FILE)


def _scanned(files: list[Path]) -> pl.LazyFrame:
    return pl.scan_parquet(files, glob=False, missing_columns="insert", extra_columns="ignore")


def _with_path_lists(file: Path) -> pl.LazyFrame:
    """Read the subflows of many runs together that an earlier version wrote."""
    links = pl.read_parquet(file.with_name("links.parquet"), glob=False, columns=["run", "link"])
    known = {run: own["link"].to_list() for (run,), own in links.partition_by("run", as_dict=True).items()}
    subflows = pl.read_parquet(file, glob=False).partition_by("run", maintain_order=True)
    return pl.concat([with_path_lists(own, known.get(own["run"][0], [])) for own in subflows]).lazy()


def _files_together(folder: Path, of: str) -> list[Path]:
    """Give the files of a table of many runs together."""
    files = [own / f"{of}.parquet" for own in tables_folders(folder) if is_whole_of_many(own)]
    return [file for file in files if file.is_file()]


def runs_together(folder: Path) -> set[str]:
    """Give the runs that are in tables of many runs together."""
    files = _files_together(folder, "runs")
    return set(pl.scan_parquet(files, glob=False).select("run").collect()["run"]) if files else set()


def together(store: Store, runs: Sequence[str]) -> dict[str, pl.DataFrame]:
    """Read runs, and give their tables together, each with the column ``run``."""
    return joined([(run, tables_of(read_result(store.place(run)))) for run in runs])


def joined(tables: Sequence[tuple[str, dict[str, pl.DataFrame]]]) -> dict[str, pl.DataFrame]:
    """Give the tables of runs together, each with the column ``run``."""
    found = {}
    for name in ("runs", *TOGETHER):
        parts = [(run, own[name]) for run, own in tables if name in own]
        if parts:
            heights = [len(frame) for _, frame in parts]
            runs = pl.Series("run", [run for run, _ in parts]).gather(np.repeat(np.arange(len(parts)), heights))
            rows = pl.concat([frame for _, frame in parts], how="diagonal_relaxed")
            found[name] = rows.insert_column(0, runs)
    return found


def alone(folder: Path, point: Point, run: str) -> Swept:
    """Give a sweep as if it had one point."""
    own = pl.DataFrame({"run": run, **point.values})
    return Swept(folder, own, own.clear())


def read_sweep(folder: str | os.PathLike[str]) -> Swept:
    """Read the results of a sweep that are there.

    Raises
    ------
    ScenarioError
        The folder is not that of a sweep, or is damaged.
    """
    place = Path(folder)
    if not (place / POINTS).is_file():
        reason = f"it has no {POINTS}" if place.is_dir() else "there is no such folder"
        raise ScenarioError(f"{place}: {reason}; name a folder that `anabranch sweep` has written")
    store = Store(place)
    try:
        points = pl.read_parquet(place / POINTS, glob=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise ScenarioError(
            f"{place}: its points cannot be read ({error}); sweep again, which keeps the runs"
        ) from error
    lines = list(store.lines())
    noted = pl.DataFrame(
        {"key": [line["key"] for line in lines], "run": [line["run"] for line in lines]},
        schema={"key": pl.String, "run": pl.String},
    ).unique("key", keep="last", maintain_order=True)
    there = pl.DataFrame({"run": sorted(store.names())}, schema={"run": pl.String})
    own = points.join(noted.join(there, on="run"), on="key", how="left", maintain_order="left")
    failures = store.failures()
    errors = pl.DataFrame(
        {"key": list(failures), "error": [str(failure.get("error", "")) for failure in failures.values()]},
        schema={"key": pl.String, "error": pl.String},
    )
    varied = [name for name in points.columns if name != "key"]
    failed = own.filter(pl.col("run").is_null()).join(errors, on="key", maintain_order="left")
    return Swept(place, own.select("run", *varied), failed.select("error", *varied))
