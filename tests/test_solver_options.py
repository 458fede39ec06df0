"""Methods and options of solving, which are declared once: command line, help and docstrings follow."""

import inspect
import pkgutil
from typing import get_args

import pytest
import typer
from typer.testing import CliRunner

import anabranch as ab
from anabranch.cli import app
from anabranch.commands import solve as command
from anabranch.solvers import methods
from anabranch.solvers.fairness import FAIRNESS, FairnessName
from anabranch.solvers.methods import METHODS, MethodName, methods_for, takers_of, usual_method
from anabranch.solvers.options import OPTIONS

ONE_PATH = ab.Problem([1.0], [0, 1], [0], [0])
TWO_PATHS = ab.Problem([1.0, 1.0], [0, 1, 2], [0, 1], [0, 0])
NONE = ab.Problem([1.0], [0], [], [], [1.0])


def test_every_method_is_listed_under_the_name_that_it_has_and_every_module_is_listed():
    assert tuple(METHODS) == get_args(MethodName) == tuple(method.name for method in METHODS.values())
    folder = next(iter(methods.__path__))
    assert {module.name for module in pkgutil.iter_modules([folder])} == {name.replace("-", "_") for name in METHODS}


def test_methods_find_kinds_of_fairness_that_there_are_and_take_options_that_there_are():
    assert tuple(FAIRNESS) == get_args(FairnessName)
    for method in METHODS.values():
        assert method.fairness
        assert set(method.usual_for) <= set(method.fairness) <= set(FAIRNESS)
        assert bool(method.usual_for) <= bool(method.reason)
        assert set(method.options) <= {name for name, option in OPTIONS.items() if not option.is_general}
        for name, default in method.options.items():
            assert default is None or OPTIONS[name].values.check(name, default) == default
    for name, option in OPTIONS.items():
        assert option.is_general or takers_of(name), f"no method takes {name}"


@pytest.mark.parametrize("fairness", FAIRNESS)
def test_each_kind_of_fairness_has_one_usual_method_for_a_problem(fairness):
    for problem in (ONE_PATH, TWO_PATHS, NONE):
        suiting = [m for m in METHODS.values() if fairness in m.usual_for and m.suits(problem)]
        assert suiting == [usual_method(problem, fairness)]
        assert fairness in suiting[0].fairness


@pytest.mark.parametrize("function", [ab.solve, ab.solve_many])
def test_every_option_is_in_signature_and_docstring_with_its_default(function):
    parameters, words = inspect.signature(function).parameters, inspect.getdoc(function)
    assert "options" not in parameters
    assert "**options" not in words
    for name, option in OPTIONS.items():
        assert parameters[name].default == option.default
        assert f"\n{name} : {option.values.type_words}" in words
        for taker in takers_of(name):
            assert taker in words
    # What stands behind the options is still there.
    assert "\nRaises\n------\n" in words
    assert all(len(line) <= 120 for line in words.splitlines())


def test_every_option_is_on_the_command_line_and_in_one_group_of_the_help():
    own = typer.main.get_command(command.app)
    names = [parameter.name for parameter in own.params]
    grouped = [name for group in command.GROUPS.values() for name in group]
    assert set(OPTIONS) <= set(names)
    assert len(grouped) == len(set(grouped))
    assert set(names) - set(grouped) == {"input", "memory"}
    assert set(grouped) <= set(names)
    said = " ".join(CliRunner().invoke(app, ["solve", "--help"], prog_name="anabranch").output.split())
    for parameter in own.params:
        assert parameter.name == "input" or f"{parameter.opts[0]} " in said
    positions = [said.index(f"{heading}:") for heading in ("Arguments", *command.GROUPS, "Other options")]
    assert positions == sorted(positions)


@pytest.mark.parametrize("name", [name for name, option in OPTIONS.items() if not option.is_general])
def test_methods_refuse_the_options_that_they_do_not_list(name):
    value = {"start": "equal", "ratio": 3.0, "last_worth": 0.5}.get(name, 2)
    for fairness in FAIRNESS:
        more = {"alpha": 2.0} if fairness == "alpha" else {}
        for method in methods_for(fairness):
            if method not in takers_of(name):
                with pytest.raises(ValueError, match=f"{name} was given, and {method} takes none; leave it out"):
                    ab.solve(ONE_PATH, fairness=fairness, method=method, **more, **{name: value})


def test_a_method_of_another_kind_of_fairness_is_told_with_the_kinds_that_it_finds():
    fitting = "c-slen, iewf, progressive-filling, dual-simplex$"
    said = "^swan finds max-min fair rates, not upward-max-min fair ones; leave out the fairness, or take one of the "
    with pytest.raises(ValueError, match=f"{said}methods for upward-max-min: {fitting}"):
        ab.solve(TWO_PATHS, fairness="upward-max-min", method="swan")
    said = "^interior-point finds proportional and alpha fair rates, not max-min fair ones"
    with pytest.raises(ValueError, match=said):
        ab.solve(TWO_PATHS, fairness="max-min", method="interior-point")
    with pytest.raises(ValueError, match=r"it must be one of interior-point$"):
        ab.solve(TWO_PATHS, fairness="proportional", method="newton")


def test_max_min_is_the_kind_of_fairness_where_nothing_is_named_and_a_method_implies_its_own():
    # A link of 2 for c0 alone, one of 2 for both: c0 leaves the second to c1, and each has 2.
    shared = ab.Problem([2.0, 2.0], [0, 1, 2, 3], [0, 1, 1], [0, 0, 1])
    exact = ab.solve(shared)
    assert (exact.fairness, exact.method, exact.tolerance) == ("max-min", "dual-simplex", 1e-6)
    assert exact.connection_rates.tolist() == pytest.approx([2.0, 2.0], rel=1e-12)
    assert ab.solve(ONE_PATH).how == "max-min by progressive-filling"
    implied = {name: ab.solve(ONE_PATH, method=name).fairness for name in METHODS}
    assert {name for name, fairness in implied.items() if fairness == "upward-max-min"} == {"c-slen", "iewf"}
    assert {name for name, fairness in implied.items() if fairness == "proportional"} == {"interior-point"}
    assert {fairness for name, fairness in implied.items() if "max-min" in METHODS[name].fairness} == {"max-min"}
    assert ab.solve(shared, alpha=2.0).fairness == "alpha"
    assert ab.solve(shared, method="interior-point", alpha=2.0).fairness == "alpha"


def test_max_min_fair_rates_are_upward_max_min_fair_too():
    # c0 on links of 3 and 1, c1 on links of 2 and of the first: found as max-min, proved as upward max-min.
    problem = ab.Problem([3.0, 1.0, 2.0], [0, 1, 2, 4, 5], [0, 1, 0, 2, 2], [0, 0, 1, 1])
    exact = ab.solve(problem)
    facts = {"fairness": "upward-max-min", "method": "dual-simplex", "tolerance": 1e-6, "passes": 1}
    ab.Allocation(problem, exact.path_rates, **facts).certify()


def test_a_method_of_another_kind_takes_its_options_nowhere_else():
    with pytest.raises(
        ValueError, match=r"takes none; leave it out, or name a method that takes it: swan, geometric-binner$"
    ):
        ab.solve(TWO_PATHS, ratio=3.0)


def test_counts_have_an_end():
    with pytest.raises(ValueError, match="max_passes is 4611686018427387905; it must be at most 4611686018427387904"):
        ab.solve(TWO_PATHS, method="c-slen", max_passes=2**62 + 1)
    with pytest.raises(TypeError, match=r"max_passes is 1\.5; it must be a whole number"):
        ab.solve(TWO_PATHS, method="c-slen", max_passes=1.5)
    # More bins than connections: a bin for each.
    many = ab.solve(TWO_PATHS, fairness="max-min", method="equi-depth-binner", bins=2**62)
    assert many.connection_rates.tolist() == [2.0]
