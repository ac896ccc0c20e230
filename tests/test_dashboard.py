from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from datetime import timedelta
import itertools
import math
import os
from pathlib import Path
import re
import shutil
import sys
import threading
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler
from wsgiref.simple_server import make_server

import optuna
import optuna_dashboard
from optuna_dashboard._custom_plot_data import get_plotly_graph_objects
import plotly.io as pio
from plotly.offline import get_plotlyjs
import pytest
from studies_to_see import six_d
from studies_to_see import study_of

from optuna_misowild import MisoWildSampler
from optuna_misowild.dashboard import FIGURES
from optuna_misowild.dashboard import DashboardCallback
from optuna_misowild.dashboard import note_of
from optuna_misowild.dashboard import publish
from optuna_misowild.figure_data import FigureData


def objective(trial: optuna.Trial) -> float:
    source = trial.suggest_categorical("source", ["full", "cheap|10%"])
    x = trial.suggest_float("x", 0.0, 1.0)
    y = trial.suggest_float("y", 1e-3, 1e3, log=True)
    trial.set_user_attr("cost", 2.5 if source == "full" else 0.5)
    return (x - 0.3) ** 2 + 0.01 * y**0.5 - (source != "full")


def sampler() -> MisoWildSampler:
    return MisoWildSampler(budget=40.0, seed=0)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dashboard") / "study.db"
    study = optuna.create_study(study_name="s", storage=f"sqlite:///{path}", sampler=sampler())
    study.optimize(objective, n_trials=12)
    return path


@pytest.fixture
def study(stored: Path, tmp_path: Path) -> optuna.Study:
    """A copy for each test: they all write to it."""
    shutil.copy(stored, tmp_path)
    storage = f"sqlite:///{tmp_path / stored.name}"
    return optuna.load_study(study_name="s", storage=storage, sampler=sampler())


def published(study: optuna.Study) -> set[str]:
    attributes = study._storage.get_study_system_attrs(study._study_id)
    prefix = "dashboard:plot_data:"
    return {key[len(prefix) :].rsplit(":", 1)[0] for key in attributes if key.startswith(prefix)}


def test_figures_and_a_note(study: optuna.Study) -> None:
    publish(study)
    assert published(study) == set(FIGURES)
    note = optuna_dashboard.get_note(study)
    n_full = sum(trial.params["source"] == "full" for trial in study.trials)
    spent = sum(trial.user_attrs["cost"] for trial in study.trials)
    assert f"| **full** (preferred) | {n_full} | {2.5 * n_full:.4g} |" in note
    assert f"| cheap\\|10% | {12 - n_full} |" in note
    assert re.search(
        r"cheap.*\| (worth|not worth|too few|cannot be)[a-z ]+ \|$", note, re.MULTILINE
    )
    assert f"**Spent:** {spent:g} of 40 ({spent / 40:.0%}) by 12 complete trials." in note
    assert f"**Best verified:** {study.best_value:.6g} on full, by trial" in note


def test_settings_are_those_of_the_sampler_that_is_given(study: optuna.Study) -> None:
    sampler = MisoWildSampler(budget=80.0)
    publish(study, sampler=sampler)
    assert " of 80 (" in optuna_dashboard.get_note(study)
    optuna_dashboard.save_note(study, "")
    study.optimize(objective, n_trials=1, callbacks=[DashboardCallback(1, sampler=sampler)])
    assert " of 80 (" in optuna_dashboard.get_note(study)


def test_the_note_of_a_study_that_maximises_seconds() -> None:
    study = optuna.create_study(direction="maximize")
    values = {"full": [1.0, 3.0, 2.0], "a_b|c": [5.0, 7.0]}
    begin = datetime(2026, 1, 1)
    for source, x, value in [(s, 0.1 * v, v) for s, own in values.items() for v in own]:
        trial = optuna.create_trial(
            params={"source": source, "x": x},
            distributions={
                "source": optuna.distributions.CategoricalDistribution([*values]),
                "x": optuna.distributions.FloatDistribution(0.0, 1.0),
            },
            value=value,
        )
        trial.datetime_start, trial.datetime_complete = begin, begin + timedelta(seconds=2)
        study.add_trial(trial)
    publish(study)
    note = optuna_dashboard.get_note(study)
    assert "| **full** (preferred) | 3 | 6 | 60% | 3 |" in note
    assert "| a\\_b\\|c | 2 | 4 | 40% | 7 |" in note
    assert "**Spent:** 10 s by 5 complete trials." in note
    assert "**Best verified:** 3 on full, by trial 1: x = 0.3." in note


def test_what_has_not_been_verified_is_no_result(study: optuna.Study) -> None:
    cheap = optuna.create_study()
    cheap.add_trials([trial for trial in study.trials if trial.params["source"] != "full"])
    publish(cheap)
    note = optuna_dashboard.get_note(cheap)
    assert re.search(r"; not verified on full yet; the model expects \S+ ± \d\S* there\.", note)
    assert "**Best verified:** nothing on full yet." in note


def test_the_importance_is_that_on_the_preferred_source(study: optuna.Study) -> None:
    publish(study)
    note = optuna_dashboard.get_note(study)
    ((y, share_y), (x, share_x)) = re.findall(
        r"([xy]) (\d+)%", re.search(r"\*\*Importance on full, by the model:\*\* (.*)\.", note)[1]
    )
    assert int(share_x) + int(share_y) in (99, 100, 101)
    assert "source" not in note.split("Importance")[1].split("\n")[0]


@pytest.mark.parametrize(
    "weights", [(1.0, 1.0), (4.0, 1.0), (1.0, 4.0), (1.0, 1.0, 0.0), (2.0, 1.0, 1.0, 2.0)]
)
def test_parameters_have_their_part_of_the_variance(weights: tuple[float, ...]) -> None:
    names = "abcd"[: len(weights)]

    def parabola(trial: optuna.Trial) -> float:
        return sum(
            weight * (trial.suggest_float(name, 0.0, 1.0) - 0.3) ** 2
            for name, weight in zip(names, weights, strict=True)
        )

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(parabola, n_trials=30)
    note = note_of(FigureData(study, MisoWildSampler()))
    (text,) = re.findall(r"\*\*Importance on objective, by the model:\*\* (.*)\.", note)
    shares = {name: int(share) for name, share in re.findall(r"(\w) (\d+)%", text)}
    squares = [weight**2 for weight in weights]
    for name, square in zip(names, squares, strict=True):
        assert shares[name] == pytest.approx(100.0 * square / sum(squares), abs=3.0)


def test_what_the_user_has_written_is_kept(study: optuna.Study) -> None:
    optuna_dashboard.save_note(study, "Ask Ann about this one.")
    publish(study)
    study.optimize(objective, n_trials=1)
    publish(study)
    note = optuna_dashboard.get_note(study)
    assert note.startswith("Ask Ann about this one.\n\n## Sources and costs")
    assert note.count("## Sources and costs") == 1
    assert "by 13 complete trials" in note


def test_a_study_without_trials() -> None:
    study = optuna.create_study()
    publish(study)
    assert published(study) == set(FIGURES)
    assert "nothing yet" in optuna_dashboard.get_note(study)


def test_the_callback_publishes_every_so_many_trials(study: optuna.Study) -> None:
    DashboardCallback()(study, study.trials[8])  # Every tenth, unless told otherwise.
    callback = DashboardCallback(every=4)
    study.optimize(objective, n_trials=3, callbacks=[callback])
    assert published(study) == set()
    study.optimize(objective, n_trials=1, callbacks=[callback])
    assert published(study) == set(FIGURES)
    with pytest.raises(ValueError, match="`every` must be at least 1"):
        DashboardCallback(every=0)


def test_a_study_survives_a_failure_to_publish(
    study: optuna.Study, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(optuna_dashboard, "save_note", fail)
    study.optimize(objective, n_trials=2, callbacks=[DashboardCallback(every=1)])
    assert len(study.trials) == 14
    assert "Publishing on the dashboard after trial 13 failed with OSError" in caplog.text


def test_without_the_dashboard(study: optuna.Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna_dashboard", None)
    with pytest.raises(ImportError, match=r"needs optuna-dashboard.*misowild\[dashboard\]"):
        DashboardCallback()
    with pytest.raises(ImportError, match="needs optuna-dashboard"):
        publish(study)


# In a real browser.


class Quiet(WSGIRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def address(study: optuna.Study) -> Iterator[str]:
    server = make_server(
        "127.0.0.1", 0, optuna_dashboard.wsgi(study._storage), handler_class=Quiet
    )
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/dashboard/studies/{study._study_id}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    from selenium import webdriver

    programs = shutil.which("chromium"), shutil.which("chromedriver")
    if None in programs:
        message = "The test of the dashboard needs chromium and chromedriver."
        if os.environ.get("MISOWILD_REQUIRE_SERVICES") == "1":
            pytest.fail(message)
        pytest.skip(message)
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for flag in (
        "headless",
        "no-sandbox",
        "disable-gpu",
        "disable-dev-shm-usage",
        "disable-quic",
        "no-first-run",
        "disable-background-networking",
        "disable-component-update",
        "disable-sync",
        "window-size=1600,4500",
        f"user-data-dir={tmp_path}/profile",
    ):
        options.add_argument(f"--{flag}")
    service = webdriver.ChromeService(executable_path=programs[1])
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


@pytest.mark.slow
def test_the_page_of_the_study(study: optuna.Study, address: str, browser: Any) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    publish(study)
    wait = WebDriverWait(browser, 40)

    def text() -> str:
        return browser.find_element(By.TAG_NAME, "body").text

    titles = ["Cost History Plot", "Source Worth Plot", "Source Usage Plot", "Cost Model Plot"]
    titles += ["Objective Model Plot", "Discrepancy Plot", "Acquisition Plot"]
    browser.get(address)
    wait.until(lambda driver: all(title in text() for title in titles))
    drawn = browser.find_elements(By.CSS_SELECTOR, ".contourlayer .contour")
    assert len(drawn) >= 8  # Cost and objective: mean and standard deviation of two sources.

    browser.get(f"{address}/note")
    wait.until(lambda driver: "Best verified:" in text() and "Sources and costs" in text())
    browser.get(f"{address}/trials")
    wait.until(lambda driver: "source_index" in text() and "cost" in text())


@pytest.mark.slow
def test_the_table_of_trials(study: optuna.Study, address: str, browser: Any) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get(f"{address}/smartSelection")  # /trialTable, where it once was, is an empty page.
    WebDriverWait(browser, 40).until(
        lambda driver: len(driver.find_elements(By.CSS_SELECTOR, "tbody tr")) == len(study.trials)
    )

    def cells(row: str) -> list[list[str]]:
        return browser.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map("
            "row => [...row.cells].map(cell => cell.textContent))",
            row,
        )

    (header,) = cells("thead tr")
    # Whatever a header has behind its name, such as how it is sorted.
    column = {
        name: next(i for i, title in enumerate(header) if title.startswith(name))
        for name in ("Number", "UserAttribute cost", "UserAttribute source_index")
    }
    shown = [tuple(float(row[place]) for place in column.values()) for row in cells("tbody tr")]
    assert sorted(shown) == [
        (t.number, 2.5, 0) if t.params["source"] == "full" else (t.number, 0.5, 1)
        for t in study.trials
    ]


def figures_on_the_page_of(study: optuna.Study) -> list[Any]:
    publish(study)
    attributes = study._storage.get_study_system_attrs(study._study_id)
    return [pio.from_json(text) for text in get_plotly_graph_objects(attributes).values()]


@pytest.mark.slow
def test_no_letters_lie_on_others_in_the_frames_of_the_page(browser: Any, tmp_path: Path) -> None:
    figures = []
    for decades in (0.4, 2, 4):

        def space(trial: optuna.Trial, high: float = 10.0**decades) -> float:
            x, y = (trial.suggest_float(name, 1.0 / high, high, log=True) for name in "xy")
            return 0.1 * math.log10(x * y)

        study = study_of(20, space, sources=("100%", "40%", "30%", "20%", "10%"))
        figures += figures_on_the_page_of(study)
    # Two rows of slices.
    figures += figures_on_the_page_of(study_of(20, six_d, sources=("full", "30%", "10%", "3%")))
    assert len(figures) == 4 * len(FIGURES)
    # What is larger than the page's frame would be cut off.
    assert {(f.layout.width, f.layout.height) for f in figures} == {(None, None)}
    frame = {"default_width": "640px", "default_height": "450px", "full_html": False}
    frames = [figure.to_html(include_plotlyjs=False, **frame) for figure in figures]
    page = tmp_path / "page.html"
    page.write_text(f"<script>{get_plotlyjs()}</script>{''.join(frames)}", encoding="utf-8")
    browser.get(page.as_uri())
    letters_of_figures = browser.execute_script(
        """
        const letters = ".xtick text, .ytick text, .annotation-text, .gtitle, .legend, .xtitle";
        return [...document.querySelectorAll(".js-plotly-plot")].map(figure =>
            [...figure.querySelectorAll(letters)]
                .map(text => [text.textContent, text.getBoundingClientRect(), text.getScreenCTM()])
                .map(([text, r, at]) => [text, r.left, r.right, r.top, r.bottom, at.b != 0])
                .filter(([text, left, right]) => left < right));
        """
    )
    assert sum(map(len, letters_of_figures)) > 160
    for figure, letters in zip(figures, letters_of_figures, strict=True):
        level = [letter for letter in letters if not letter[5]]
        # Names of bars may be turned, the numbers at narrow axes are not.
        assert level == letters or figure.layout.title.text.startswith("Source Usage Plot")
        for one, other in itertools.combinations(level, 2):
            apart = [max(one[i], other[i]) >= min(one[i + 1], other[i + 1]) - 3.0 for i in (1, 3)]
            assert any(apart), (one, other)
