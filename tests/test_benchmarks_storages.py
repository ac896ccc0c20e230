"""The benchmark of storages: several workers on one study."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.benchmarks.storages import measure


@pytest.mark.slow
def test_workers_share_a_study_until_it_has_its_trials(tmp_path: Path) -> None:
    per_second, n_repeated, median, longest = measure(f"journal:{tmp_path}/s.log", 2, 6)
    assert per_second > 0.0
    assert n_repeated == 0
    assert 0.0 < median <= longest
