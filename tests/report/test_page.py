"""What a report says, without a browser."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

import fepysr_dyn as fd
from fepysr_dyn.conservation import Conserved
from fepysr_dyn.errors import DataError
from fepysr_dyn.expressions import parse
from fepysr_dyn.integration import Outcome
from fepysr_dyn.report.methods import method_table
from fepysr_dyn.report.numbers import NONE
from fepysr_dyn.report.origin import origin
from fepysr_dyn.report.page import render_report
from fepysr_dyn.report.verdict import verdict
from fepysr_dyn.search.front import Candidate

VOID = {"meta", "link", "br", "img"}


class Nesting(HTMLParser):
    """Checks that every element is closed where it should be."""

    def __init__(self):
        super().__init__()
        self.open, self.identities = [], []

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)
        self.identities += [value for name, value in attributes if name == "id"]

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_elements_are_nested_and_identities_unique(found):
    page = Nesting()
    page.feed(render_report(found))
    assert page.open == []
    assert len(set(page.identities)) == len(page.identities)


def test_everything_asked_for_is_there(tyson):
    page = render_report(tyson)
    for part in ("equations", "warnings", "experiments", "phase", "fronts", "features", "constants"):
        assert f'id="{part}"' in page
    assert tyson.provenance["data_sha256"] in page
    assert "fepysr-dyn discover data.nc --seed 0 --engine sparse -o again" in page
    assert "has only 3 levels" in page
    assert "fepysr-dyn report DIR --compare" in page


def test_nothing_outside_is_named(found):
    page = render_report(found)
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", page)
    assert "url(" not in page.replace("url(#", "")
    assert "default-src 'none'" in page.replace("&#39;", "'")


def test_a_report_is_small(glycolysis):
    assert len(render_report(glycolysis)) < 600_000


def test_one_sentence_for_a_good_result(lorenz):
    said = verdict(lorenz)
    assert said.validated
    assert said.sentence.startswith(
        "Integrated again, the equations reproduce the experiment (smallest R² 1)"
    )
    assert "all equations equal the true ones" in said.sentence
    assert said.sentence.endswith(".")
    assert said.sentence.count(".") == 1


def test_a_failed_integration_is_said(growth):
    (run,) = growth.validation.runs
    failed = replace(run, outcome=Outcome.BLOW_UP, r2={"x": float("-inf")}, nrmse={"x": float("inf")})
    bad = replace(growth, validation=replace(growth.validation, runs=(failed,)), complete=False)
    said = verdict(bad)
    assert not said.validated
    assert "do not reproduce the experiment (the integration of 1 ended early)" in said.sentence
    assert "cut short" in said.sentence
    page = render_report(bad)
    assert "✗ blow-up" in page
    assert "Not validated" in page


def test_held_out_experiments_stand_apart(growth):
    from fepysr_dyn.simulation import simulate

    other = simulate(replace(growth.truth, initial={"x": 3.0}), noise=0.02, seed=5)
    page = render_report(growth, held_out=other)
    assert "reproduce the held-out experiment" in page
    assert page.index("<h3>Training</h3>") < page.index("<h3>Held out</h3>")
    assert page.count("<td>held-out</td>") == 1


def test_what_stays_open_is_said(growth):
    other = Candidate(parse("0.7*x"), 3, 0.1, "sparse")
    said = verdict(replace(growth, alternatives={"x": (other,)}, warnings=("few samples",)))
    assert "1 warning says what the data cannot decide" in said.sentence
    assert "other formulas fit dx/dt as well" in said.sentence


def test_conserved_quantities_are_no_warnings(tyson):
    kept = Conserved({"X1": 1.0, "X2": 2.0}, 0.0, 0.0)
    lost = Conserved({"X1": 1.0, "X2": -1.0}, 0.0, 0.3)
    notes = tuple(str(quantity) for quantity in (kept, lost))
    page = render_report(
        replace(tyson, validation=replace(tyson.validation, conserved=(kept, lost), notes=notes))
    )
    assert "✓ the equations keep it constant" in page
    assert "✗ the equations change it" in page
    assert str(kept) not in page
    assert str(lost) in page


def test_constants_have_their_errors(growth):
    page = render_report(growth)
    assert "standard error" in page
    assert len(re.findall(r'<td class="number">0\.0\d+</td>', page)) >= 2


def test_where_no_constant_was_fitted_it_is_said_why(growth, lorenz):
    assert "none was left to fit" in render_report(lorenz)
    assert "were not estimated" in render_report(replace(growth, constants=()))


def test_features_are_ranked(growth):
    page = render_report(replace(growth, features={"x": (parse("x"), parse("exp(-x)"))}))
    assert page.index('title="x"') < page.index('title="exp(-x)"')


def test_a_result_without_its_data_is_drawn_as_far_as_possible(tyson):
    page = render_report(replace(tyson, data=None, truth=None))
    assert "The data were not kept" in page
    assert 'class="residual"' not in page.split('id="experiments"')[1].split("<details", 1)[1].split("id=")[0]
    assert "Equations for X1, X2" in page


def test_a_comparison_becomes_a_table(growth):
    comparison = fd.compare(growth.data, truth=growth.truth, ours=growth, baselines=["sindy-poly1"])
    page = render_report(growth, comparison=comparison)
    for part in ("sindy-poly1", "reconstruction R²", "equations right", "Equations of every method"):
        assert part in page
    table = method_table(comparison)
    assert [row.name for row in table.rows] == ["fepysr-dyn", "sindy-poly1"]
    assert not table.has_generalization
    assert table.rows[0].generalization == (NONE, NONE)


@pytest.mark.parametrize("document", [{}, {"methods": 3}, {"methods": [{"name": "x"}], "held_out": ""}])
def test_a_broken_comparison_is_refused(document):
    with pytest.raises(DataError, match="expected the JSON document of a comparison"):
        method_table(document)


def test_origin_survives_a_result_that_says_nothing(growth):
    empty = origin(replace(growth, provenance={}, data=None))
    assert (empty.versions, empty.derivatives, empty.command, empty.repeat) == ((), (), "", "")


def test_a_place_that_cannot_be_written_is_one_line(growth, tmp_path):
    with pytest.raises(DataError, match="cannot be written"):
        fd.write_report(growth, tmp_path / "nowhere" / "report.html")
