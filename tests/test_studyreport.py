# SPDX-License-Identifier: Apache-2.0
import functools
import http.server
import importlib.util
import json
import re
import shutil
import subprocess
import threading
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from tadaboost import reproduce, study, studyfigures, studyreport
from tadaboost.study import CURVES, Cell
from tadaboost.study_commands import settings_of, versions

TS = (0.0, 0.6, 0.9, 1.0, 1.1)
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def curves_of(cell):
    rng = np.random.default_rng([int(10 * cell.t), int(10 * cell.noise), len(cell.domain)])
    curves = np.zeros((cell.folds, cell.n_trees), CURVES)
    for name in CURVES.names:
        curves[name] = rng.random((cell.folds, cell.n_trees))
    curves["codensity_min"] *= 1e-3
    return curves


@pytest.fixture(scope="module")
def results():
    cells = [
        Cell("main", domain, 20, 8, leaves, t, noise, 4, 0)
        for domain in ("abalone", "qsar", "adult", "hillnoise")
        for leaves in ("theorem_a", "canonical")
        for noise in (0.0, 0.1)
        for t in TS
    ]
    return {cell: curves_of(cell) for cell in cells}


@pytest.fixture(scope="module")
def page(results):
    tests = study.compare(results, reproduce.clips)
    return studyreport.render(
        "A <title> & more",
        studyreport.groups(results, reproduce.clips),
        study.summarise(results, reproduce.clips),
        tests,
        reproduce.table_2(tests, [tests]),
        seeds=range(2),
        domains=dict.fromkeys(("abalone", "qsar", "adult", "hillnoise"), (10, 2, 0.5)),
        faults=["sonar.csv: <gone>"],
        clipping=studyreport.clipping_of(results),
        settings=settings_of(list(results)),
        versions=versions(),
    )


def test_panels_are_means_over_folds_and_those_of_the_paper(results):
    made = {group.name: group for group in studyreport.groups(results, reproduce.clips)}
    group = made["main-abalone-theorem_a-noise0.1"]
    assert [panel.title for panel in group.panels] == [
        "Test error", "Test error, clipped", "Smallest weight", "Largest weight"
    ]  # fmt: skip
    assert [panel.log for panel in group.panels] == [False, False, True, True]
    cell = Cell("main", "abalone", 20, 8, "theorem_a", 0.6, 0.1, 4, 0)
    t, mean = group.panels[1].curves[1]
    assert t == 0.6
    assert mean.tolist() == results[cell]["test_error_clipped"].mean(axis=0).tolist()
    assert [panel.title for panel in made["main-hillnoise-canonical-noise0"].panels[4:]] == [
        "Training error", "Training error, clipped"
    ]  # fmt: skip


def test_a_domain_shown_clipped_only_has_no_plain_panel():
    cell = Cell("A16", "winered", 150, 3, "theorem_a", 1.0, 0.0, 4, 0)
    (group,) = studyreport.groups({cell: curves_of(cell)}, reproduce.clips)
    assert [panel.title for panel in group.panels] == [
        "Test error, clipped",
        "Smallest weight",
        "Largest weight",
    ]


def test_figure_1_has_the_papers_rows(results):
    sheets = studyreport.figure_1(studyreport.groups(results, reproduce.clips))
    assert list(sheets) == ["theorem_a", "canonical"]
    assert [row[0].where for row in sheets["canonical"]] == [
        "abalone, noise 0, canonical", "qsar, noise 0.1, canonical", "adult, noise 0.1, canonical"
    ]  # fmt: skip


def test_a_sheet_is_an_svg_file_with_a_curve_and_a_label_for_each_t(results):
    group = studyreport.groups(results, reproduce.clips)[0]
    root = ET.fromstring(studyfigures.sheet([group.panels, group.panels]))
    panels = [node for node in root.iter() if node.get("class") == "panel"]
    assert len(panels) == 8
    for panel in panels:
        paths = [node for node in panel.iter() if node.get("class") == "curve"]
        assert len(paths) == len(TS)
        assert len({path.get("stroke-dasharray") for path in paths}) == len(TS)  # told apart without colour
        assert len({path.get("stroke") for path in paths}) == len(TS)
        labels = [node for node in panel.iter() if node.get("class") == "name"]
        assert sorted(label.text for label in labels) == ["0", "0.6", "0.9", "1", "1.1"]
        places = sorted(float(label.get("y")) for label in labels)
        assert min(np.diff(places)) > 9  # they do not cover each other
        assert places[-1] < 260
        assert len([node for node in panel.iter() if node.tag.endswith("circle")]) == 20  # AdaBoost's bullets


def test_flat_or_zero_curves_can_be_drawn():
    for log in (False, True):
        for values in (np.zeros(5), np.full(5, 0.3), np.full(5, np.nan), np.zeros(1)):
            panel = studyfigures.Panel("x", "y", "z", log, ((1.0, values),))
            ET.fromstring(str(studyfigures.draw(panel, [1.0])))


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed")
def test_png_of_the_same_panels_is_the_same_every_time(results):
    panels = studyreport.groups(results, reproduce.clips)[0].panels
    first = studyfigures.png([panels[:2], panels[:1]])
    assert first[:4] == b"\x89PNG"
    assert first == studyfigures.png([panels[:2], panels[:1]])


def test_the_page_refers_to_nothing_outside_and_escapes_names(page):
    assert not re.findall(r"(?:src|href)\s*=\s*\"(?!#)|@import|url\(", page)
    assert "A &lt;title&gt; &amp; more" in page
    assert "sonar.csv: &lt;gone&gt;" in page
    assert "default-src 'none'" in page


def test_the_page_says_what_stands_where(page, results):
    assert page.count('<svg class="panel"') == 4 * 2 * 2 * 4 + 2 * 2 * 2
    assert "Table A11 and A12" in page
    rows = page[page.index('id="cells"') :].count("<tr>") - 1
    assert page.count(">reference<") == 2 * 2 * 2 * 4
    assert rows >= 2 * len(results)
    assert "counts over 4 of the paper's 10 domains" in re.sub("&#39;", "'", page)
    assert re.search(r"In \d+ cells the paper", page)


CHECK = """<!DOCTYPE html><meta charset="utf-8"><body><script>
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
async function look(width) {
  const frame = document.createElement("iframe");
  frame.style.cssText = `width:${width}px;height:900px;border:0`;
  frame.src = "report.html";
  document.body.append(frame);
  await new Promise((done) => frame.addEventListener("load", done));
  const page = frame.contentDocument;
  const seen = (node) => {
    const box = node.getBoundingClientRect();
    return box.width > 100 && box.height > 50;
  };
  const panels = [...page.querySelectorAll("svg.panel")];
  const buttons = [...page.querySelectorAll("#cells thead button")];
  const lines = () => [...page.querySelectorAll("#cells tbody tr")];
  const column = () => lines().map((row) => Number(row.cells[6].dataset.v));
  buttons[6].focus();
  const focused = page.activeElement === buttons[6];
  buttons[6].click();
  const up = column(), sort = buttons[6].parentElement.getAttribute("aria-sort");
  buttons[6].click();
  const down = column(), rows = up.length;
  const filter = page.getElementById("filter");
  filter.value = "abalone clipped 0.6";
  filter.dispatchEvent(new Event("input"));
  const left = lines().filter((row) => !row.hidden).length;
  return {width, tables: page.querySelectorAll("table").length,
    panels: panels.length, visible: panels.filter(seen).length,
    curves: panels.every((one) => one.querySelector(".curve").getTotalLength() > 100),
    overflow: page.documentElement.scrollWidth - page.documentElement.clientWidth, focused, sort, rows, left,
    sorted: up.every((v, i) => !i || up[i - 1] <= v), reversed: down.every((v, i) => !i || down[i - 1] >= v)};
}
(async () => {
  const found = [];
  for (const width of [1280, 400]) found.push(await look(width));
  document.body.innerHTML = "";
  const out = document.createElement("pre");
  out.id = "found"; out.textContent = JSON.stringify(found);
  document.body.append(out);
})();
</script>"""


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine: install the package chromium")
def test_in_a_browser_tables_and_pictures_are_there_and_the_table_sorts(page, results, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "report.html").write_text(page, "utf-8")
    (site / "check.html").write_text(CHECK, "utf-8")
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_request(self, code="-", size="-"):
            asked.append(self.path)

        def log_message(self, form, *values):
            pass

    # From a local server: a page of a file may not look into another.
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=site)
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        flags = (
            "--headless --no-sandbox --disable-gpu --disable-background-networking --enable-logging=stderr"
        )
        own = [f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=20000", "--dump-dom"]
        run = subprocess.run(
            [BROWSER, *flags.split(), *own, f"http://127.0.0.1:{server.server_port}/check.html"],
            capture_output=True,
            text=True,
            timeout=150,
            check=True,
        )
        server.shutdown()
    assert [line for line in run.stderr.splitlines() if "CONSOLE" in line and "favicon" not in line] == []
    text = re.search(r'<pre id="found">(.*?)</pre>', run.stdout, re.S)
    assert text is not None, run.stdout[-2000:]
    for found in json.loads(text[1]):
        assert found["panels"] == found["visible"] == page.count('<svg class="panel"')
        assert found["curves"]
        assert found["tables"] == 4
        assert found["overflow"] <= 0, "the page scrolls sideways"
        assert (found["focused"], found["sort"], found["sorted"], found["reversed"]) == (
            True,
            "ascending",
            True,
            True,
        )
        assert found["rows"] == 2 * len(results)
        assert found["left"] == 4  # two leaves, two noises
    assert set(asked) <= {"/check.html", "/report.html", "/favicon.ico"}
