"""Networks as folders of parts."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from peerpressure.errors import InvalidInputError
from peerpressure.networks import Network, barabasi_albert, grid, write_network
from peerpressure.simulation.partition import write_partition
from tests.cli.calling import run


def parts_of(folder: Path) -> tuple[list[int], list[dict[str, np.ndarray]]]:
    cuts = json.loads((folder / "partition.json").read_text())["cuts"]
    parts = []
    for k in range(len(cuts) - 1):
        with np.load(folder / f"part-{k}.npz") as archive:
            parts.append(dict(archive))
    return cuts, parts


def assembled(folder: Path) -> tuple[Network, list[int]]:
    cuts, parts = parts_of(folder)
    rows = np.repeat(np.arange(cuts[-1]), np.concatenate([np.diff(part["indptr"]) for part in parts]))
    columns, weights = (np.concatenate([part[name] for part in parts]) for name in ("indices", "weights"))
    return Network.from_edges((rows, columns), weights, n=cuts[-1], directed=True, signed=True), cuts


@pytest.mark.parametrize("order", ["given", "sorted", "metis"])
def test_parts_are_the_network_in_its_new_order(order: str, tmp_path: Path) -> None:
    if order == "metis":
        pytest.importorskip("pymetis", reason="METIS is optional where it has no wheel")
    network = grid(400, 100).permuted(np.random.default_rng(1).permutation(40_000))
    division = write_partition(network, 4, tmp_path / "parts", order)  # type: ignore[arg-type]
    positions = np.load(tmp_path / "parts" / "order.npy")
    found, cuts = assembled(tmp_path / "parts")
    expected = network.permuted(positions)
    assert (found.adjacency != expected.adjacency).nnz == 0
    assert tuple(cuts) == division.cuts
    assert all(cut % 1024 == 0 for cut in cuts[:-1])
    halos = []
    for first, last in itertools.pairwise(cuts):
        columns = expected.adjacency[first:last].indices
        halos.append(np.unique(columns[(columns < first) | (columns >= last)]).size)
    assert division.halo == tuple(halos)
    # In random order nearly all neighbours are elsewhere; sorted, a row of the lattice on either side of a cut.
    assert division.halo_per_agent > 1 if order == "given" else division.halo_per_agent < 0.3
    assert 1 <= division.balance < 1.2


def test_parts_have_equal_work_where_hubs_come_first(tmp_path: Path) -> None:
    division = write_partition(barabasi_albert(20_000, 4, seed=1), 3, tmp_path / "parts")
    assert division.balance < 1.2
    assert np.diff(division.cuts)[0] < np.diff(division.cuts)[-1]


def test_what_cannot_be_divided_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = grid(50, 50)
    with pytest.raises(InvalidInputError, match="use at most 3"):
        write_partition(network, 4, tmp_path / "new")
    with pytest.raises(InvalidInputError, match="given, sorted or metis"):
        write_partition(network, 2, tmp_path / "new", "best")  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(InvalidInputError, match=r"needs pymetis.*'sorted'"):
        write_partition(network, 2, tmp_path / "new", "metis")
    assert not (tmp_path / "new").exists()
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "file").touch()
    with pytest.raises(InvalidInputError, match="not empty"):
        write_partition(network, 2, tmp_path / "old")


def test_the_command_prints_what_travels(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_network(grid(64, 64), tmp_path / "lattice.npz")
    answer = run(capfd, "partition", tmp_path / "lattice.npz", "--parts", 4, "--out", tmp_path / "parts")
    assert (answer.status, answer.err) == (0, "")
    assert "4 parts in" in answer.out
    assert "0.0938" in answer.out
    # Two cuts of an inner part, one of an outer, of 64 agents each: 6 · 64 / 4096.
    again = run(capfd, "partition", tmp_path / "lattice.npz", "--parts", 4, "--out", tmp_path / "more", "--json")
    assert again.json["halo_per_agent"] == 6 * 64 / 4096
    refused = run(capfd, "partition", tmp_path / "lattice.npz", "--parts", 9, "--out", tmp_path / "many")
    assert refused.status == 2
    assert "use at most 4" in refused.err
