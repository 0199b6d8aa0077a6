# SPDX-License-Identifier: Apache-2.0
import html.parser
import re
from types import SimpleNamespace

import numpy as np
import pytest

from tadaboost.charts import Series, line_chart, linear_ticks, log_ticks
from tadaboost.evaluate import Estimate, Figure
from tadaboost.report import importances, render_report

ROUND_FIELDS = ("train_error", "codensity_min", "codensity_max", "n_off")
VOID = {"meta", "link", "br"}


class Page(html.parser.HTMLParser):
    """Checks that tags nest, and collects tags and text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.texts, self.attributes = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data.strip())


@pytest.fixture
def model():
    rounds = np.zeros(30, dtype=[(name, "f8") for name in ROUND_FIELDS])
    rounds["train_error"] = np.linspace(0.4, 0.0, 30)
    rounds["codensity_max"] = 0.05 * 1.2 ** np.arange(30)
    rounds["codensity_min"] = 0.05 * 0.01 ** np.arange(30)
    rounds["codensity_min"][20:] = 0.0
    rounds["n_off"][20:] = 3
    return SimpleNamespace(
        classes_=np.array(["<no>", "yes & no"]),
        rounds_=rounds,
        n_iter_=30,
        stop_reason_="n_estimators",
        feature_names_in_=np.array(['[км],"x"<b>', "plain"], dtype=object),
        feature_importances_=np.array([0.25, 0.75]),
        get_params=lambda: {"t": 0.5, "growth": "best"},
        table_={
            "file": "</title><script>.csv",
            "rows": 20,
            "columns": [{"name": '[км],"x"<b>', "kind": "number"}, {"name": "plain", "kind": "text"}],
            "left_out": [{"name": "<i>id", "reason": "text, all values different"}],
            "target": {"name": "a<b", "positive": None},
            "weight": None,
        },
    )


@pytest.fixture
def y():
    return np.array(["<no>", "yes & no"] * 10)


@pytest.fixture
def estimate(y):
    proba = np.where(y == "yes & no", 0.9, 0.1)
    proba[:2] = 0.5, 1.0  # a tie, which goes to the first class, and a certain row
    figures = (Figure(0.123, 0.01), Figure(0.4, 0.02), Figure(0.95, 0.003))
    return Estimate(2, 0, *figures, proba, np.tile(np.linspace(0.5, 0.1, 30), (2, 1)))


def test_the_page_nests_and_asks_for_nothing_outside(model, estimate, y):
    text = render_report(model, estimate, y, date="2024-01-31")
    page = Page(text)
    assert "script" not in page.tags
    assert "link" not in page.tags
    assert not {"src", "href", "onload"} & {name for name, _ in page.attributes}
    assert "url(" not in text
    assert re.findall("https?:", text) == []
    assert page.tags.count("svg") == 3 + 2  # three charts, two bars


def test_names_survive_whatever_they_hold(model, estimate, y):
    texts = Page(render_report(model, estimate, y, date="")).texts
    for name in ('[км],"x"<b>', "<no>", "<i>id", "</title><script>.csv"):
        assert name in texts
    assert "predicted yes & no" in texts


def test_the_estimate_stands_in_words_at_the_top(model, estimate, y):
    text = (
        render_report(model, estimate, y, date="").replace("\N{NO-BREAK SPACE}", " ").replace("&nbsp;", " ")
    )
    assert "be wrong on about <strong>12.3 % ± 1.0 %</strong>" in text
    assert "would be wrong on 50.0 %" in text


def test_the_confusion_table_counts_rows_and_gives_ties_to_the_first_class(model, estimate, y):
    text = render_report(model, estimate, y, date="")
    counts = re.findall(r"<td(?: class=\"right\")?>(\d+)<br>", text)
    assert counts == ["10", "0", "0", "10"]


def test_weights_count_as_rows_in_the_confusion_table(model, estimate, y):
    text = render_report(model, estimate, y, sample_weight=np.full(20, 3.0), date="")
    assert re.findall(r"<td(?: class=\"right\")?>(\d+)<br>", text) == ["30", "0", "0", "30"]


def test_without_an_estimate_the_page_leaves_out_what_needs_one(model, y):
    page = Page(render_report(model, None, y, date=""))
    assert "Calibration" not in page.texts
    assert "Confusion" not in page.texts
    assert any("No error was estimated" in text for text in page.texts)


def test_rows_that_are_off_are_said(model, estimate, y):
    text = render_report(model, estimate, y, date="").replace("\N{NO-BREAK SPACE}", " ")
    assert "At the end 3 rows are off: their weight is 0." in text


def test_every_chart_has_a_title_and_a_description(model, estimate, y):
    page = Page(render_report(model, estimate, y, date=""))
    assert page.tags.count("desc") == 3
    assert {"Error by round", "Weights by round", "Calibration"} <= set(page.texts)


@pytest.mark.parametrize("n_rounds", [1, 2, 1000])
def test_any_number_of_rounds_can_be_drawn(model, estimate, y, n_rounds):
    model.rounds_ = np.resize(model.rounds_, n_rounds)
    model.n_iter_ = n_rounds
    text = render_report(model, estimate, y, date="")
    Page(text)
    assert not re.search(r"nan|inf\b", " ".join(re.findall(r' d="([^"]*)"| points="([^"]*)"', text)[0]))
    assert len(text) < 120_000


def test_a_rule_is_said_in_the_header(model, estimate, y):
    for positive, words in (
        (">=6", "a&lt;b &gt;=6, predicted"),
        ("x", "a&lt;b = x, predicted"),
        ("in:a,b", "in a,b"),
    ):
        model.table_["target"]["positive"] = positive
        assert words in render_report(model, estimate, y, date="")


def test_importances_come_largest_first(model):
    assert importances(model) == [("plain", 0.75), ('[км],"x"<b>', 0.25)]


@pytest.mark.parametrize(("low", "high"), [(0, 1), (1, 1000), (0, 0.0003), (-5, 5), (3, 3)])
def test_ticks_are_few_and_lie_within(low, high):
    ticks = linear_ticks(low, high)
    assert 1 <= len(ticks) <= 7
    assert all(low - 1e-9 <= value <= high + 1e-9 for value, _ in ticks)


@pytest.mark.parametrize(
    ("low", "high"), [(1e-300, 1.0), (1e-4, 3.0), (0.0011, 0.0049), (0.9, 1.1), (2.1, 2.4)]
)
def test_log_ticks_are_few_and_lie_within(low, high):
    ticks = log_ticks(low, high)
    assert 1 <= len(ticks) <= 7
    assert all(low <= value * (1 + 1e-9) <= high * (1 + 1e-8) for value, _ in ticks)


def test_a_gap_in_a_line_lifts_the_pen():
    chart = line_chart(
        [1, 2, 3, 4],
        [Series("s", [0.1, 0.0, 0.2, 0.3])],
        title="",
        description="",
        x_label="",
        y_label="",
        log=True,
    )
    (path,) = re.findall(r'class="line s0" d="(M[\d. ]+M[^"]*)"', chart)
    assert path.count("M") == 2
    assert path.count("L") == 1
