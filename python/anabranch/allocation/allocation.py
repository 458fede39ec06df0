"""Rates for all, with levels and bottlenecks, and the proof that they are fair."""

from __future__ import annotations

import json
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anabranch import _core
from anabranch.allocation.comparison import Comparison, compare_rates
from anabranch.allocation.csv_tables import write_csv_tables
from anabranch.allocation.summary import Summary
from anabranch.allocation.tables import connection_table, link_table, subflow_table
from anabranch.errors import CertificateError
from anabranch.folder import new_folder, put_parquet
from anabranch.model.quantities import rate_bps

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from anabranch.model.paths import Paths
    from anabranch.model.problem import Problem

FEASIBLE = 1e-9
"""Relative overload that is rounding."""

THETA = 1e-4
"""The rate under which rates count as this in a comparison, by the median capacity, as in [namyar2024]."""


class Allocation:
    """The rates that a solver found; immutable.

    Attributes
    ----------
    problem : Problem
        The capacities, paths and demands.
    paths : Paths or None
        The network's paths, if the problem came from a network.
    path_rates : ndarray of float64, shape (paths,)
        In the unit of the problem (bit/s for a network), in the order of its paths.
    connection_rates : ndarray of float64, shape (connections,)
        The sum over the paths of each connection.
    fairness, method : str
        The kind of fairness, and the method that found the rates.
    tolerance : float
        The relative tolerance to which every path has a bottleneck, if `converged`.
    passes : int
        Passes over the whole problem (for ``"lp"``: linear programs; for ``"dual-simplex"``: exchanges).
    is_approximation : bool
        Whether the method promises no fairness to a tolerance, only rates that overload nothing.
    has_stop_rule : bool
        Whether the method goes in passes until a stop rule is met, so that `converged` says only that it was.
    converged : bool
        Whether the method's stop rule was met and the certificate bears the answer out; of an approximation, that
        nothing is overloaded. IEWF, and c-SLEN with a ``stop_change``, stop where rates cease to change, which may be
        far from a fair allocation: of these it says only that they did, and `residual` and `certify` say how far.
    unmet : str or None
        The remedy, if the method stopped before its stop rule was met.
    shortcoming : str or None
        The reason why the answer did not converge, and the remedy.
    residual : float
        The largest shortfall of any path from its best bottleneck; 0 is exactly fair.
    """

    def __init__(
        self,
        problem: Problem,
        path_rates: NDArray[np.float64],
        *,
        fairness: str,
        method: str,
        tolerance: float,
        passes: int,
        unmet: str | None = None,
        paths: Paths | None = None,
        is_approximation: bool = False,
        has_stop_rule: bool = False,
    ) -> None:
        self.problem = problem
        self.paths = paths
        self.path_rates = path_rates
        self.connection_rates = problem.core.sum_by_connection(path_rates)
        self.fairness = fairness
        self.method = method
        self.tolerance = tolerance
        self.passes = passes
        self.unmet = unmet
        self.is_approximation = is_approximation
        self.has_stop_rule = has_stop_rule
        for array in (self.path_rates, self.connection_rates):
            array.flags.writeable = False

    @cached_property
    def certificate(self) -> _core.Certificate | _core.PriceCertificate:
        """The result of an independent check, from the definitions alone."""
        return self.problem.core.certify(self.path_rates, self.tolerance)

    @property
    def how(self) -> str:
        """The kind of fairness and the method, in words."""
        by = ", approximated by" if self.is_approximation else " by"
        return f"{self.fairness}{by} {self.method}"

    @property
    def converged(self) -> bool:
        """Whether the method's stop rule was met and the certificate bears the answer out."""
        return self.shortcoming is None

    @cached_property
    def shortcoming(self) -> str | None:
        """The reason why the answer did not converge, and the remedy; None if it converged."""
        if self.unmet is not None:
            passes = "1 pass" if self.passes == 1 else f"{self.passes} passes"
            return (
                f"{self.method} stopped after {passes} with a residual of {self.residual:.3g} (tolerance"
                f" {self.tolerance:g}): {self.unmet}"
            )
        # IEWF overloads by design, and a stop rule may ask for no certificate.
        if self.has_stop_rule or self._holds:
            return None
        try:
            self._refuse_infeasible(FEASIBLE)
            if not self.is_approximation:
                self._refuse_unfair()
        except CertificateError as error:
            return f"{self.method} lost digits to rounding: {error}; bring capacities and weights closer together"
        return None

    @property
    def _holds(self) -> bool:
        """Whether the allocation is proved, to its tolerance."""
        return self.certificate.holds

    @property
    def residual(self) -> float:
        """The largest shortfall of any path from its best bottleneck; 0 is exactly fair."""
        return self.certificate.residual

    def certify(self, *, allow_overload: float = 0.0) -> _core.Certificate | _core.PriceCertificate:
        """Prove the allocation feasible and fair.

        Parameters
        ----------
        allow_overload : float
            Relative overload of links and demands to overlook; IEWF makes some by design, the more the greater its
            unit. It says nothing of fairness: every path must have a bottleneck all the same.

        Returns
        -------
        Certificate
            Overload, residual, and the bottleneck of every path.

        Raises
        ------
        CertificateError
            The worst violation: a bad rate, an overloaded link, an exceeded demand, or a path without a bottleneck.
        """
        self._refuse_infeasible(max(allow_overload, FEASIBLE))
        self._refuse_unfair()
        return self.certificate

    def _refuse_infeasible(self, allowed: float) -> None:
        """Raise if the certificate finds rates that cannot be."""
        found = self.certificate
        if found.bad_rate is not None:
            rate = self.path_rates[found.bad_rate]
            raise CertificateError(f"{self._path(found.bad_rate)}: its rate is {rate}; it must be finite and 0 or more")
        if found.overloaded_link is not None and found.overload > allowed:
            load = self._rate(found.loads[found.overloaded_link])
            raise CertificateError(
                f"link {self._link(found.overloaded_link)}: its load is {load}, {found.overload:.3g} over its capacity"
            )
        if found.over_demand_connection is not None and found.over_demand > allowed:
            name = self._connection(found.over_demand_connection)
            raise CertificateError(f"connection {name}: its rate is {found.over_demand:.3g} over its demand")

    def _refuse_unfair(self) -> None:
        """Raise if the certificate finds that the rates are not fair."""
        found = self.certificate
        assert isinstance(found, _core.Certificate)
        if found.worst_path is not None and not found.residual <= self.tolerance:
            raise CertificateError(
                f"{self._path(found.worst_path)}: no link holds it back: its best one is {found.residual:.3g} short of"
                f" a bottleneck, by slack or by a greater level of others, over the tolerance of {self.tolerance:g}"
            )

    def compare(self, reference: Allocation, *, theta: float | str | None = None) -> Comparison:
        """Compare the rates with those of a reference, in three numbers: fairness index, total, worst.

        Parameters
        ----------
        reference : Allocation
            Rates of the same connections, such as exact max-min fair ones.
        theta : float or str, optional
            The rate under which rates count as this in the fairness index [namyar2024], in the unit of the rates, or
            on a network as text. If not given, a ten-thousandth of the median capacity of the links that have a limit.

        Raises
        ------
        ValueError
            The allocations have different numbers of connections, or theta is not positive.
        """
        if theta is None:
            capacity = self.problem.capacity
            limited = capacity[np.isfinite(capacity) & (capacity > 0)]
            theta = THETA * float(np.median(limited if len(limited) else self.connection_rates.max(initial=1.0)))
        elif isinstance(theta, str):
            if self.paths is None:
                raise ValueError(f"theta is {theta!r}, and the problem has its own unit; give a number in that")
            theta = rate_bps(theta, "theta")
        return compare_rates(self.connection_rates, reference.connection_rates, theta)

    def _rate(self, rate: float) -> str:
        return f"{rate:.6g}" if self.paths is None else _core.format_rate(rate)

    def _link(self, link: int) -> str:
        return str(link) if self.paths is None else f"`{self.paths.demands.network.core.link_names[link]}`"

    def _connection(self, connection: int) -> str:
        return str(connection) if self.paths is None else f"`{self.paths.demands.core.names[connection]}`"

    def _path(self, path: int) -> str:
        if self.paths is None:
            return f"path {path}"
        connection = int(self.problem.path_connection[path])
        rank = path - int(self.paths.connection_offsets[connection]) + 1
        return f"connection {self._connection(connection)}, path {rank}"

    @cached_property
    def connections(self) -> pl.DataFrame:
        """A table with a row for each connection, in the order of the problem.

        The columns are ``rate``, ``demand`` (null for no limit), ``met`` (rate divided by demand), ``weight``,
        ``level`` (rate without the reserved part divided by claim; below 0 the share of the reserved part that is
        missing), ``bottleneck`` (the link that limits its largest subflow; null if none
        does), ``held_by`` ("link", "demand" or "nothing") and ``paths``. On a network there are also ``name``,
        ``source`` and ``target``; rates are then in bit/s, named ``rate_bps``, ``demand_bps``, ``level_bps``, and the
        weight is the ``claim``: weight times QoS factor. Where parts of rates are reserved, there is ``reserved`` or
        ``reserved_bps``, too.
        """
        return connection_table(self)

    @cached_property
    def subflows(self) -> pl.DataFrame:
        """A table with a row for each path, in the order of the problem.

        The columns are ``connection``, ``rank`` (1 for the connection's first path), ``path`` (its nodes), ``rate``
        (``rate_bps``), ``portion`` of the connection's rate, ``bottleneck`` and ``held_by``.
        """
        return subflow_table(self)

    @cached_property
    def links(self) -> pl.DataFrame:
        """A table with a row for each link: ``capacity``, ``load``, ``utilisation`` and the number of ``subflows``.

        On a network there are also ``name``, ``source`` and ``target``, and ``capacity_bps`` and ``load_bps``. The
        utilisation of a link of capacity 0 is null.
        """
        return link_table(self)

    @property
    def summary(self) -> Summary:
        """The request, the result and its proof as plain values by name; it prints as lines."""
        return Summary(self._facts())

    def _facts(self) -> dict[str, Any]:
        """Give what the summary says."""
        found = self.certificate
        core = self.problem.core
        unit = "" if self.paths is None else "_bps"
        return {
            "fairness": self.fairness,
            "method": self.method,
            "connections": core.connections,
            "subflows": core.paths,
            "links": core.links,
            "passes": self.passes,
            "approximation": self.is_approximation,
            "converged": self.converged,
            "tolerance": self.tolerance,
            "certified": found.holds,
            "residual": found.residual,
            "overload": found.overload,
            f"total_rate{unit}": float(self.connection_rates.sum()),
            f"least_rate{unit}": float(self.connection_rates.min(initial=np.inf)) if core.connections else 0.0,
            "saturated_links": int((self.links["utilisation"] >= 1.0 - self.tolerance).sum()),
        } | self._reserved_facts()

    def _reserved_facts(self) -> dict[str, Any]:
        """Give what the summary says of reserved parts, if there are any."""
        if not self.problem.has_reserved:
            return {}
        level = self.certificate.levels
        return {
            "unmet_reserved": int((level < -self.tolerance).sum()),
            "least_reserved_met": 1.0 + min(0.0, level.min()),
        }

    def write(self, folder: str | Path, *, origin: dict[str, Any] | None = None) -> None:
        """Write ``connections``, ``subflows`` and ``links`` as Parquet tables, and ``meta.json``, to a new folder.

        An allocation on a network also has ``nodes``, ``paths`` (the numbers of the links of each), and in ``links``
        the ``delay_s`` and ``twin`` of each, so that `read_allocation` reads it back. The folder appears when it is
        whole, or not at all.

        Parameters
        ----------
        origin : dict, optional
            The files, options and seed from which the numbers come, kept in ``meta.json``.

        Raises
        ------
        ScenarioError
            The folder exists or cannot be made.
        StorageError
            It cannot be written to its end, as on a full disk.
        """
        with new_folder(folder) as aside:
            for name, table in self._tables().items():
                put_parquet(table, aside / f"{name}.parquet")
            meta = {
                "anabranch": version("anabranch"),
                "title": "" if self.paths is None else self.paths.demands.network.name,
                "summary": self.summary,
                "unmet": self.unmet,
                "has_stop_rule": self.has_stop_rule,
                "origin": origin or {},
            }
            (aside / "meta.json").write_text(json.dumps(meta, indent=2) + "\n", encoding="utf-8")

    def write_csv(self, folder: str | Path) -> None:
        """Write ``connections``, ``subflows`` and ``links`` as CSV files to a new folder.

        Parameters
        ----------
        folder : path
            It appears when it is whole, or not at all.

        Raises
        ------
        ScenarioError
            The folder exists or cannot be made.
        StorageError
            It cannot be written to its end, as on a full disk.
        """
        tables = {"connections": self.connections, "subflows": self.subflows, "links": self._links_to_write()}
        write_csv_tables(tables, folder)

    def _tables(self) -> dict[str, pl.DataFrame]:
        """Give the tables to write, by name."""
        tables = {"connections": self.connections, "subflows": self.subflows, "links": self._links_to_write()}
        if self.paths is not None:
            tables |= {"nodes": self.paths.demands.network.nodes, "paths": self.paths.links()}
        return tables

    def _links_to_write(self) -> pl.DataFrame:
        """Give the table of links with all that the network knows of them."""
        if self.paths is None:
            return self.links
        return self.links.hstack(self.paths.demands.network.links.select("delay_s", "twin"))

    def __repr__(self) -> str:
        core = self.problem.core
        state = "certified" if self.certificate.holds else f"not certified, residual {self.residual:.3g}"
        return (
            f"<Allocation {self.how}: {core.connections} connections, {core.paths} subflows,"
            f" {state} at {self.tolerance:g}>"
        )

    def _repr_html_(self) -> str:
        from anabranch.notebook import allocation_html

        return allocation_html(self)
