from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from optuna_misowild.optim.domain import Domain
from optuna_misowild.optim.maximize import Acquisition
from optuna_misowild.optim.maximize import Maximum
from optuna_misowild.optim.maximize import maximize


class Bumps:
    """A sum of bumps for every source; along categorical coordinates they are mere matches."""

    def __init__(
        self,
        d: int,
        *,
        n_sources: int = 3,
        n_bumps: int = 15,
        categorical: np.ndarray | None = None,
        unit: float = 1.0,
        seed: int = 0,
    ) -> None:
        rng = np.random.default_rng(seed)
        self.sources = tuple(range(n_sources))
        self.centers = rng.random((n_bumps, d))
        self.steepness = np.full(n_bumps, 20.0)
        self.weights = unit * rng.random((n_sources, n_bumps))
        self.categorical = np.zeros(d, dtype=bool) if categorical is None else categorical

    def _bumps(self, X: np.ndarray) -> np.ndarray:
        difference = X[:, None, :] - self.centers
        difference[..., self.categorical] = np.round(2.0 * difference[..., self.categorical])
        return np.exp(-self.steepness * np.sum(difference**2, axis=2))

    def values(self, X: np.ndarray) -> np.ndarray:
        return self._bumps(X) @ self.weights.T

    def value_and_gradient(
        self, X: np.ndarray, source: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        bumps = self._bumps(X) * self.weights[source]
        difference = (X[:, None, :] - self.centers) * ~self.categorical
        slope = -2.0 * self.steepness[:, None] * difference
        return bumps.sum(axis=1), np.einsum("mb,mbd->md", bumps, slope)


class Gated:
    """An acquisition that is excluded where a condition on (X, source) holds."""

    def __init__(self, inner: Acquisition, gate: Callable[[np.ndarray, int], np.ndarray]) -> None:
        self.inner = inner
        self.sources = inner.sources
        self.gate = gate

    def values(self, X: np.ndarray) -> np.ndarray:
        excluded = np.stack([self.gate(X, source) for source in self.sources], axis=1)
        return np.where(excluded, -np.inf, self.inner.values(X))

    def value_and_gradient(
        self, X: np.ndarray, source: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        value, gradient = self.inner.value_and_gradient(X, source)
        closed = [self.gate(x[None], s)[0] for x, s in zip(X, source, strict=True)]
        return np.where(closed, -np.inf, value), gradient


def grid(k: int) -> np.ndarray:
    return (np.arange(k) + 0.5) / k


def mixed(*sizes: int | None, categorical: tuple[int, ...] = ()) -> Domain:
    grids = tuple(None if k is None else grid(k) for k in sizes)
    return Domain(grids, np.isin(np.arange(len(sizes)), categorical))


def brute_force(acquisition: Acquisition, domain: Domain, resolution: int = 50) -> float:
    axes = [np.linspace(0, 1, resolution + 1) if g is None else g for g in domain.grids]
    X = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, domain.d)
    return max(
        float(acquisition.values(part).max()) for part in np.array_split(X, len(X) // 20_000 + 1)
    )


def search(acquisition: Acquisition, domain: Domain, *, seed: int = 0, **kwargs) -> Maximum:
    maximum = maximize(acquisition, domain, rng=np.random.default_rng(seed), **kwargs)
    assert isinstance(maximum.source, int) and isinstance(maximum.value, float)
    assert maximum.source in acquisition.sources
    assert maximum.x.shape == (domain.d,)
    return maximum


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "domain",
    [
        mixed(None),
        mixed(None, None),
        mixed(None, None, None),
        mixed(40, 50),  # enumerated
        mixed(300, 400),
        mixed(6, 7, 8, 9),
        mixed(50, 50, categorical=(0, 1)),
        mixed(None, 3, categorical=(1,)),
        mixed(None, 200, 4, categorical=(2,)),
    ],
    ids=lambda domain: "x".join("c" if g is None else str(len(g)) for g in domain.grids),
)
def test_finds_what_brute_force_finds(domain: Domain, seed: int) -> None:
    acquisition = Bumps(domain.d, categorical=domain.categorical, seed=seed)
    maximum = search(acquisition, domain)
    assert maximum.value >= brute_force(acquisition, domain) * (1.0 - 1e-9)
    np.testing.assert_array_equal(maximum.x, domain.snap(maximum.x))
    value = acquisition.values(maximum.x[None])[0, maximum.source]
    assert maximum.value == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("unit", [1e-30, 1e-8, 1e8, 1e30])
def test_is_indifferent_to_units(unit: float) -> None:
    domain = mixed(None, None, 5)
    expected = search(Bumps(3), domain)
    maximum = search(Bumps(3, unit=unit), domain)
    assert maximum.source == expected.source
    np.testing.assert_allclose(maximum.x, expected.x, atol=1e-6)


def test_same_seed_gives_the_same_result() -> None:
    acquisition, domain = Bumps(3), mixed(None, None, 100)
    first, second = search(acquisition, domain, seed=5), search(acquisition, domain, seed=5)
    assert (first.source, first.value) == (second.source, second.value)
    np.testing.assert_array_equal(first.x, second.x)


def test_starts_lead_to_a_narrow_peak() -> None:
    acquisition, domain = Bumps(6, n_bumps=2), Domain.continuous(6)
    acquisition.steepness[:] = 1.0, 1e6
    acquisition.weights[:] = [[0.2, 0.5], [0.3, 1.0], [0.1, 0.1]]
    needle = acquisition.centers[1:]
    maximum = search(acquisition, domain, starts=needle + 3e-4)
    assert maximum.source == 1
    np.testing.assert_allclose(maximum.x, needle[0], atol=1e-5)
    assert search(acquisition, domain).value < 0.5


def test_climbs_from_places_that_are_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The highest peak is narrow: every candidate on it is lower than many on the broad one."""
    acquisition, domain = Bumps(3, n_sources=1, n_bumps=2), Domain.continuous(3)
    acquisition.centers[:] = [[0.3], [0.7]]
    acquisition.steepness[:] = 20.0, 200.0
    acquisition.weights[:] = 1.0, 1.5
    for seed in range(5):
        maximum = search(acquisition, domain, seed=seed)
        np.testing.assert_allclose(maximum.x, acquisition.centers[1], atol=1e-3)
    monkeypatch.setattr("optuna_misowild.optim.maximize.N_STARTS", 1)
    assert min(search(acquisition, domain, seed=seed).value for seed in range(5)) < 1.1


def test_choices_are_apart_however_many_there_are() -> None:
    """A climb starts in one choice of thousands although a better one is the next in the list."""
    n_choices = 3000
    domain = mixed(None, n_choices, categorical=(1,))
    broad, narrow = grid(n_choices)[1500:1502]

    class TwoChoices(Bumps):
        def values(self, X: np.ndarray) -> np.ndarray:
            zero = np.zeros(len(X), dtype=int)
            return self.value_and_gradient(X, zero)[0][:, None]

        def value_and_gradient(
            self, X: np.ndarray, source: np.ndarray
        ) -> tuple[np.ndarray, np.ndarray]:
            choices = [X[:, 1] == broad, X[:, 1] == narrow]
            height, center, steepness = (
                np.select(choices, values) for values in ([1.0, 1.5], [0.5, 0.6], [20.0, 2000.0])
            )
            value = height * np.exp(-steepness * (X[:, 0] - center) ** 2)
            slope = -2.0 * steepness * (X[:, 0] - center) * value
            value[~np.any(choices, axis=0)] = -np.inf
            return value, np.stack([slope, np.zeros(len(X))], axis=1)

    starts = np.array([[0.5, broad], [0.57, narrow]])
    maximum = search(TwoChoices(2, n_sources=1), domain, starts=starts, n_candidates=4)
    np.testing.assert_allclose(maximum.x, [0.6, narrow], atol=1e-3)


def test_climbs_on_every_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("optuna_misowild.optim.maximize.N_STARTS", 1)
    acquisition, domain = Bumps(3, n_sources=2, n_bumps=2), Domain.continuous(3)
    acquisition.steepness[:] = 20.0, 500.0
    acquisition.weights[:] = [[1.0, 0.0], [0.0, 1.5]]
    maximum = search(acquisition, domain)
    assert maximum.source == 1
    assert maximum.value == pytest.approx(1.5)


def test_keeps_the_best_place_seen_of_a_rough_function() -> None:
    seen = []

    class Rough(Bumps):
        def values(self, X: np.ndarray) -> np.ndarray:
            return super().values(X) + 0.5 * np.cos(1e4 * X[:, :1])

        def value_and_gradient(
            self, X: np.ndarray, source: np.ndarray
        ) -> tuple[np.ndarray, np.ndarray]:
            value = self.values(X)[np.arange(len(X)), source]
            seen.extend(value)
            return value, super().value_and_gradient(X, source)[1]

    maximum = search(Rough(2), Domain.continuous(2))
    assert maximum.value >= max(seen)


def test_fixed_coordinates_are_honoured() -> None:
    acquisition, domain = Bumps(3), mixed(None, 30, None)
    fixed = np.array([0.123, grid(30)[7], np.nan])
    maximum = search(acquisition, domain, fixed=fixed, starts=np.full((1, 3), 0.9))
    np.testing.assert_array_equal(maximum.x[:2], fixed[:2])
    line = np.column_stack([np.tile(fixed[:2], (2001, 1)), np.linspace(0, 1, 2001)])
    assert maximum.value >= acquisition.values(line).max()


def test_everything_fixed() -> None:
    acquisition = Bumps(2)
    fixed = np.array([0.3, 0.6])
    maximum = search(acquisition, Domain.continuous(2), fixed=fixed)
    np.testing.assert_array_equal(maximum.x, fixed)
    assert maximum.value == acquisition.values(fixed[None]).max()


@pytest.mark.parametrize("domain", [mixed(None, None), mixed(20, 20)])
@pytest.mark.parametrize("source", [2, 5, 9])
def test_sources_are_named_as_the_acquisition_names_them(domain: Domain, source: int) -> None:
    class Named(Bumps):
        def value_and_gradient(
            self, X: np.ndarray, source: np.ndarray
        ) -> tuple[np.ndarray, np.ndarray]:
            return super().value_and_gradient(X, np.searchsorted(self.sources, source))

    named = Named(2)
    named.sources = (2, 5, 9)
    column = named.sources.index(source)
    named.weights[column] += 1.0
    maximum = search(named, domain)
    assert maximum.source == source
    assert maximum.value == pytest.approx(named.values(maximum.x[None])[0, column], rel=1e-12)
    assert maximum.value >= brute_force(named, domain) * (1.0 - 1e-9)


@pytest.mark.parametrize("domain", [mixed(None, None), mixed(10, 10), mixed(100, 100)])
def test_a_gated_region_is_not_entered(domain: Domain) -> None:
    inner = Bumps(2)
    ungated = search(inner, domain)
    # The gate cuts the peak in two, so that the best allowed place is on its border.
    gated = Gated(inner, lambda X, s: (X[:, 0] > ungated.x[0] - 0.05) | (s != ungated.source))
    maximum = search(gated, domain)
    assert maximum.x[0] <= ungated.x[0] - 0.05
    assert brute_force(gated, domain, 500) * (1 - 1e-2) <= maximum.value < ungated.value


@pytest.mark.parametrize("excluded", [-np.inf, np.nan])
@pytest.mark.parametrize("domain", [mixed(None, None), mixed(10, 10)])
def test_an_excluded_source_is_not_chosen(domain: Domain, excluded: float) -> None:
    acquisition = Bumps(2)
    best = search(acquisition, domain).source
    acquisition.weights[best] = excluded
    maximum = search(acquisition, domain)
    assert maximum.source != best
    assert np.isfinite(maximum.value)


@pytest.mark.parametrize("domain", [mixed(None, 4), mixed(10, 10), mixed(100, 100), mixed()])
def test_everything_excluded_ends_on_the_first_source(domain: Domain) -> None:
    acquisition = Gated(Bumps(domain.d), lambda X, s: np.ones(len(X), dtype=bool))
    maximum = search(acquisition, domain, avoid={1: np.empty((0, domain.d))})
    assert (maximum.source, maximum.value) == (0, -np.inf)
    np.testing.assert_array_equal(maximum.x, domain.snap(maximum.x))


@pytest.mark.parametrize("domain", [mixed(), mixed(1), mixed(1, 1, categorical=(1,))])
def test_a_single_point(domain: Domain) -> None:
    class Constant(Bumps):
        def values(self, X: np.ndarray) -> np.ndarray:
            return np.tile([1.0, 3.0, 2.0], (len(X), 1))

    maximum = search(Constant(domain.d), domain, starts=np.full((2, domain.d), 0.2))
    assert (maximum.source, maximum.value) == (1, 3.0)
    again = search(Constant(domain.d), domain, avoid={1: np.full((1, domain.d), 0.5)})
    assert (again.source, again.value) == (2, 2.0)


def test_a_finite_space_is_exhausted_before_anything_is_repeated() -> None:
    acquisition, domain = Bumps(2, n_sources=2), mixed(3, 2)
    seen: dict[int, list[tuple[float, ...]]] = {0: [], 1: []}
    for i in range(13):
        avoid = {source: np.array(points).reshape(-1, 2) for source, points in seen.items()}
        maximum = search(acquisition, domain, avoid=avoid, seed=i)
        if i < 12:
            assert tuple(maximum.x) not in seen[maximum.source]
            seen[maximum.source].append(tuple(maximum.x))
    assert maximum.value == brute_force(acquisition, domain)


def test_ties_are_not_broken_towards_a_corner() -> None:
    class Flat(Bumps):
        def values(self, X: np.ndarray) -> np.ndarray:
            return np.zeros((len(X), 3))

        def value_and_gradient(
            self, X: np.ndarray, source: np.ndarray
        ) -> tuple[np.ndarray, np.ndarray]:
            return np.zeros(len(X)), np.zeros_like(X)

    for domain in (mixed(4, 4), mixed(None, None)):
        found = [search(Flat(2), domain, seed=seed) for seed in range(8)]
        assert {maximum.source for maximum in found} == {0}
        assert len({tuple(maximum.x) for maximum in found}) > 4
