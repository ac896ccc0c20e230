"""The files that ``examples/figures.py`` writes, with and without a browser."""

from __future__ import annotations

from pathlib import Path
import struct

import plotly.graph_objects as go
import plotly.io as pio
import pytest
from studies_to_see import study_of

from examples.figures import write_figures
from examples.figures import write_study


FIGURES = {
    "one": go.Figure(go.Scatter(y=[1, 2]), {"width": 300, "height": 200}),
    "two": go.Figure(go.Bar(y=[3, 4])),
}


def test_html_shares_one_script_and_no_tool_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(**_: object) -> None:
        raise RuntimeError("\n\nKaleido requires Google Chrome to be installed.\n\n")

    monkeypatch.setattr(pio, "write_images", fail)
    written = write_figures(FIGURES, tmp_path / "new" / "folder")

    assert [path.name for path in written] == ["one.html", "two.html"]
    assert {path.name for path in (tmp_path / "new" / "folder").iterdir()} == {
        "one.html",
        "two.html",
        "plotly.min.js",
    }
    for page in written:
        assert 'src="plotly.min.js"' in page.read_text()
        assert page.stat().st_size < 100_000
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "plotly_get_chrome" in message


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (ValueError('Requires the kaleido package:\n $ pip install "kaleido"'), "kaleido>=1"),
        (RuntimeError("out of\nshared memory"), "failed: out of shared memory."),
    ],
)
def test_advice_names_what_is_missing(
    error: Exception,
    advice: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(pio, "write_images", fail)
    write_figures(FIGURES, tmp_path)
    assert advice in capsys.readouterr().err


def test_pictures_are_drawn_where_there_is_a_browser(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = write_figures(FIGURES, tmp_path)
    if "Chrome" in capsys.readouterr().err:
        pytest.skip("no Chrome or Chromium here")
    assert [path.name for path in written if path.suffix == ".png"] == ["one.png", "two.png"]
    sizes = []
    for path in written:
        if path.suffix == ".png":
            header = path.read_bytes()[:24]
            assert header.startswith(b"\x89PNG")
            sizes.append(struct.unpack(">II", header[16:24]))
    assert sizes == [(600, 400), (1400, 1000)]  # as laid out, and plotly's default; twice as fine


def test_every_figure_that_shows_something_has_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: object) -> None:
        raise RuntimeError("Kaleido requires Google Chrome to be installed.")

    monkeypatch.setattr(pio, "write_images", fail)
    written = write_study(study_of(10), tmp_path)
    names = ["acquisition", "cost-history", "cost-model", "discrepancy"]
    names += ["feasibility", "objective-model", "source-usage", "source-worth"]  # no steps
    assert sorted(path.name for path in written) == [f"{name}.html" for name in names]


def test_nothing_to_write(tmp_path: Path) -> None:
    assert write_figures({}, tmp_path) == []
