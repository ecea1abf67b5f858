"""What several processes do together: ``mpiexec -n K python -m tests.simulation.partition.program TASK FOLDER``.

Process 0 writes, for each check, the empty text or what is wrong.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

import peerpressure as pp
from peerpressure import networks
from peerpressure.errors import CancelledError, FileFormatError, InvalidInputError, ModelError, NetworkError
from peerpressure.simulation.engine.parts import PartRun
from peerpressure.simulation.partition import PartitionedModel, PartitionedNetwork, PartTrajectory, write_partition
from peerpressure.simulation.processes import digest_of
from peerpressure.simulation.trajectory import State
from tests.simulation.partition.cases import AGENTS, SEED, STEPS, cases, small_world

Check = Callable[[MPI.Intracomm], None]
EVERY = 5  # steps between checkpoints
PAIR = 2  # processes of the run that is killed, and resumed by as many
FOUND = "found.json"
# Features for which it matters that a part has others on both sides: who is heard or kept differs between parts.
EVERYWHERE = {
    "hubs, Laplace noise, blocks of replicates",
    "directed and weighted, chosen replicates",
    "one update at a time",
    "temporal network",
    "temporal network of those who keep silent",
    "some agents, every third step",
}


def digest(run: pp.Trajectory) -> str:
    parts = [run.times, run.agents, run.states, run.minimum, run.maximum, run.mean, run.hidden]
    return digest_of((*parts, run.final.public, run.final.memory, run.final.hidden, run.final.step))


def same_bits(name: str, model: Any, arguments: Mapping[str, Any], wanted: str) -> Check:
    def check(comm: MPI.Intracomm) -> None:
        asked = {"steps": STEPS, "seed": SEED, "threads": 1 + comm.rank % 2} | dict(arguments)
        got = pp.simulate(model, comm=comm, **asked)
        assert digest(got) == wanted, f"another result in process {comm.rank} of {comm.size}"

    return check


# Errors


@contextlib.contextmanager
def raised(kind: type[BaseException], *words: str) -> Iterator[None]:
    try:
        yield
    except kind as error:
        said = str(error)
        assert all(word in said for word in words), said
    else:
        raise AssertionError(f"no {kind.__name__} was raised")


def whole_model(noise: float = 0.5) -> pp.Model:
    return pp.Model(small_world(), np.linspace(0, 1, AGENTS), noise=noise)


def refused(comm: MPI.Intracomm) -> None:
    model = whole_model()
    with raised(InvalidInputError, "use at most 1", f"{comm.size} processes for 200 agents"):
        few = pp.Model(networks.cycle(200), np.zeros(200))
        pp.simulate(few, 5, comm=comm)
    with raised(InvalidInputError, "device='cpu'", "leave comm out"):
        pp.simulate(model, 5, comm=comm, device="gpu")
    with raised(InvalidInputError, "one process"):
        pp.simulate(pp.SDE(model, step=0.1, method="taylor"), 5, comm=comm)
    with raised(InvalidInputError, "intracommunicator", "MPI.COMM_WORLD"):
        pp.simulate(model, 5, comm=MPI.COMM_NULL)  # type: ignore[arg-type]


def differing_arguments(comm: MPI.Intracomm) -> None:
    with raised(InvalidInputError, "the same seed", "process 1"):
        pp.simulate(whole_model(), 5, seed=min(comm.rank, 1), comm=comm)
    with raised(InvalidInputError, "the same model"):
        pp.simulate(whole_model(0.1 + min(comm.rank, 1)), 5, comm=comm)
    with raised(InvalidInputError, "steps must be", "" if comm.rank == 1 else "process 1 has ended the run"):
        pp.simulate(whole_model(), -1 if comm.rank == 1 else 5, comm=comm)


def cancelled(comm: MPI.Intracomm) -> None:
    with raised(CancelledError, "should_stop"):
        pp.simulate(whole_model(), 5, comm=comm, should_stop=lambda: comm.rank == 1)


def interrupted(comm: MPI.Intracomm) -> None:
    def stop() -> bool:
        if comm.rank == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return False

    with raised(KeyboardInterrupt):
        pp.simulate(whole_model(), 5, comm=comm, should_stop=stop)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def failing_step(comm: MPI.Intracomm) -> None:
    class Failing(PartRun):
        def _step(self, *arguments: Any) -> None:
            if comm.rank == 1:
                raise RuntimeError("a broken step")
            super()._step(*arguments)

    from peerpressure.simulation.engine import parts

    parts.PartRun = Failing  # type: ignore[misc]
    try:
        if comm.rank == 1:
            with raised(RuntimeError, "a broken step"):
                pp.simulate(whole_model(), 5, comm=comm)
        else:
            with raised(pp.PeerPressureError, "process 1 has ended the run: RuntimeError: a broken step"):
                pp.simulate(whole_model(), 5, comm=comm)
    finally:
        parts.PartRun = PartRun  # type: ignore[misc]


def progress_in_one(comm: MPI.Intracomm) -> None:
    seen: list[tuple[int, int]] = []
    pp.simulate(whole_model(), 5, comm=comm, progress=lambda done, steps: seen.append((done, steps)))
    assert (seen[-1:] == [(5, 5)]) is (comm.rank == 0), seen


def overflow(comm: MPI.Intracomm) -> None:
    network = PartitionedNetwork.of(small_world(), comm)
    model = PartitionedModel(
        network,
        lambda i: np.where(i < 4200, 0.0, 1.7e308),
        noise=lambda i: np.where(i < 4200, 1.0, 1e308),
        pressure=0.0,
        start=0.0,
    )
    where = "" if comm.rank == comm.size - 1 else f"process {comm.size - 1} has ended the run"
    # After one step, only agents of the last process are out of range.
    with raised(pp.PeerPressureError, "the public state of agent 42", "left the range of float64", where):
        model.simulate(1, seed=1)


# Networks that no process holds


def same_network(one: pp.Network, other: pp.Network) -> bool:
    A, B = one.adjacency, other.adjacency
    return all(np.array_equal(getattr(A, part), getattr(B, part)) for part in ("indptr", "indices", "data"))


def generators(comm: MPI.Intracomm) -> None:
    n, alone = 5000, MPI.COMM_SELF
    lattice = PartitionedNetwork.grid(50, 100, comm=comm)
    assert same_network(lattice.assembled(), networks.grid(50, 100))
    pairs = PartitionedNetwork.erdos_renyi(n, 6 / n, seed=3, comm=comm)
    assert same_network(pairs.assembled(), networks.erdos_renyi(n, 6 / n, seed=3, connected=False))
    ring = PartitionedNetwork.watts_strogatz(n, 6, 0.0, comm=comm)
    assert same_network(ring.assembled(), networks.watts_strogatz(n, 6, 0.0))
    rewired = PartitionedNetwork.watts_strogatz(n, 6, 0.2, seed=4, comm=comm).assembled()
    assert same_network(rewired, PartitionedNetwork.watts_strogatz(n, 6, 0.2, seed=4, comm=alone).assembled())
    assert abs(rewired.edge_count - 3 * n) <= 5
    moved = (rewired.adjacency - ring.assembled().adjacency).data
    # Of 15,000 edges a fifth: each that has moved is an entry less and one more, in either direction.
    assert abs((moved != 0).sum() / 4 - 3000) < 5 * np.sqrt(15_000 * 0.2 * 0.8)
    wheel = PartitionedNetwork.circulant(n, [1, 77, 1234], comm=comm).assembled()
    i = np.arange(n)
    expected = networks.Network.from_edges((np.tile(i, 3), np.concatenate([(i + o) % n for o in (1, 77, 1234)])))
    assert same_network(wheel, expected)


def illegal_networks(comm: MPI.Intracomm) -> None:
    with raised(NetworkError, "below n − 1"):
        PartitionedNetwork.watts_strogatz(5000, 5, 0.1, comm=comm)
    with raised(NetworkError, "probability"):
        PartitionedNetwork.erdos_renyi(5000, 1.5, comm=comm)
    with raised(NetworkError, "offsets"):
        PartitionedNetwork.circulant(5000, [1, 2500], comm=comm)
    with raised(InvalidInputError, "use at most 1" if comm.size > 1 else ""):
        PartitionedNetwork.grid(10, 10, comm=comm)
    with raised(InvalidInputError, "the same parameters"):
        PartitionedNetwork.watts_strogatz(5000, 6, 0.1, seed=comm.rank, comm=comm)


def parts_of_a_model(comm: MPI.Intracomm) -> None:
    network = PartitionedNetwork.watts_strogatz(AGENTS, 6, 0.05, seed=1, comm=comm)
    hidden = np.sin

    def weights(i: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.where(i % 50 == 7, np.inf, 1.0 + i % 3)

    def spread(i: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(0.1 + i % 2)

    model = PartitionedModel(network, hidden, weights, noise=spread, start=lambda i: i / AGENTS, adaptation=0.01)
    i = np.arange(AGENTS)
    whole = pp.Model(network.assembled(), hidden(i), weights(i), noise=spread(i), start=i / AGENTS, adaptation=0.01)
    wanted = pp.simulate(whole, STEPS, 3, seed=SEED)
    run = model.simulate(STEPS, 3, seed=SEED, record="all")
    assert same(run.gathered(comm), wanted.states)
    assert same(run.gathered(comm, "hidden"), wanted.hidden)
    assert same(run.gathered(comm, "public"), wanted.final.public)
    assert same(run.spread, wanted.spread)
    assert (run.first, run.last, run.n) == (network.first, network.last, AGENTS)
    some = model.simulate(STEPS, seed=SEED, record=pp.Record(agents=[4321, 5], every=5))
    assert sorted(some.gathered(comm, "agents").tolist()) == [5, 4321]
    assert some.times.tolist() == [0, 5, 10, 12]
    cut = model.simulate(STEPS - 3, 3, seed=SEED)
    assert same(model.simulate(3, start=cut).gathered(comm, "public"), wanted.final.public)
    everything = PartitionedModel.of(whole, comm).simulate(STEPS, 3, seed=SEED, record="final")
    assert same(everything.gathered(comm, "public"), wanted.final.public)


def illegal_models(comm: MPI.Intracomm) -> None:
    network = PartitionedNetwork.grid(50, 90, comm=comm)
    bad = np.where(network.agents == network.cuts[1], np.nan, 0.0)
    where = "" if comm.rank == 1 else "process 1 has ended the run"
    with raised(ModelError, "hidden must be finite", f"nan at agent {network.cuts[1]}", where):
        PartitionedModel(network, bad)
    with raised(ModelError, "stubbornness must be positive"):
        PartitionedModel(network, np.sin, lambda i: 0.0 * i)
    with raised(ModelError, "for each of the"):
        PartitionedModel(network, np.zeros(AGENTS))
    with raised(ModelError, "the same for all agents"):
        PartitionedModel(network, np.sin, adaptation=pp.Adaptation(0.1, np.ones(AGENTS)))
    model = PartitionedModel(network, np.sin)
    with raised(InvalidInputError, "numbers 0 to 4,499"):
        model.simulate(5, record=pp.Record(agents=["ann"]))
    with raised(InvalidInputError, "PartTrajectory or a State"):
        model.simulate(5, start=3)  # type: ignore[arg-type]
    with raised(InvalidInputError, "agents of this process"):
        model.simulate(5, start=State(1, np.zeros(7)))


def files(folder: Path) -> Check:
    def check(comm: MPI.Intracomm) -> None:
        network = small_world()
        rng = np.random.default_rng(5)
        upper = network.adjacency.tocoo()
        weights = rng.choice([0.5, 2.0, -1.0], upper.nnz)
        directed = pp.Network.from_edges((upper.row, upper.col), weights=weights, n=AGENTS, directed=True, signed=True)
        if comm.rank == 0:
            for ending in ("npz", "csv", "parquet"):
                networks.write_network(network, folder / f"ring.{ending}")
                networks.write_network(directed, folder / f"signed.{ending}")
            write_partition(network, 4, folder / "given")
            (folder / "names.csv").write_text("source,target\nann,bob\n")
            (folder / "loops.csv").write_text(
                "source,target\n" + "".join(f"{k},{k + 1}\n" for k in range(5000)) + "3,3\n"
            )
            (folder / "other.gml").write_text("graph []")
        comm.Barrier()
        for ending in ("npz", "csv", "parquet"):
            asked = {} if ending == "npz" else {"directed": True, "signed": True}
            assert same_network(PartitionedNetwork.read(folder / f"ring.{ending}", comm).assembled(), network), ending
            read = PartitionedNetwork.read(folder / f"signed.{ending}", comm, **asked)
            assert same_network(read.assembled(), directed), ending
        assert same_network(PartitionedNetwork.read(folder / "given", comm).assembled(), network)
        with raised(NetworkError, "whole numbers", "ann"):
            PartitionedNetwork.read(folder / "names.csv", comm)
        with raised(NetworkError, "its own neighbour", "self-loop at 3"):
            PartitionedNetwork.read(folder / "loops.csv", comm)
        with raised(NetworkError, "not negative"):
            PartitionedNetwork.read(folder / "signed.csv", comm, directed=True)
        with raised(FileFormatError, "folder of parts"):
            PartitionedNetwork.read(folder / "other.gml", comm)
        with raised(FileFormatError, "must exist"):
            PartitionedNetwork.read(folder / "missing.csv", comm)
        with raised(NetworkError, "numbers 0 to 2,999"):
            PartitionedNetwork.read(folder / "ring.csv", comm, n=3000)

    return check


# Checkpoints


def long_run(comm: MPI.Intracomm) -> tuple[PartitionedModel, pp.Model]:
    noise = pp.Gaussian(0.3, temporal=pp.AR1(0.5))
    whole = pp.Model(small_world(), np.linspace(0, 1, AGENTS), noise=noise, adaptation=0.01)
    return PartitionedModel.of(whole, comm), whole


def killed(folder: Path) -> Check:
    def check(comm: MPI.Intracomm) -> None:
        model, _ = long_run(comm)

        def stop() -> bool:
            if comm.rank == 1 and list((folder / "kept").glob("state-0000000015.part-1.npz")):
                os.kill(os.getpid(), signal.SIGKILL)
            return False

        model.simulate(30, 2, seed=SEED, record="all", checkpoint=folder / "kept", every=EVERY, should_stop=stop)

    return check


def resumed(folder: Path) -> Check:
    def check(comm: MPI.Intracomm) -> None:
        model, whole = long_run(comm)
        seen: list[int] = []
        run = model.simulate(
            30, 2, seed=SEED, record="all", checkpoint=folder / "kept", every=EVERY,
            progress=lambda done, steps: seen.append(done),
        )  # fmt: skip
        wanted = pp.simulate(whole, 30, 2, seed=SEED)
        assert comm.rank or min(seen) > 15, seen
        assert same(run.gathered(comm), wanted.states)
        assert same(run.gathered(comm, "hidden"), wanted.hidden)
        assert same(run.mean, wanted.mean)
        assert same(run.final.memory, np.asarray(wanted.final.memory)[:, run.first : run.last])
        states = sorted(path.name for path in (folder / "kept").glob("state-*"))
        assert states == [f"state-0000000030.part-{k}.npz" for k in range(comm.size)], states
        # Complete: read again without a step, and continued with more.
        again = model.simulate(30, 2, seed=SEED, record="all", checkpoint=folder / "kept", every=EVERY)
        assert same(again.gathered(comm), wanted.states)
        longer = model.simulate(32, 2, seed=SEED, record="all", checkpoint=folder / "kept", every=EVERY)
        assert same(longer.gathered(comm), pp.simulate(whole, 32, 2, seed=SEED).states)
        with raised(InvalidInputError, "has reached step 32", "0 to 30"):
            model.simulate(30, 2, seed=SEED, record="all", checkpoint=folder / "kept")
        with raised(InvalidInputError, "the same seed", "name a new folder"):
            model.simulate(30, 2, seed=1, record="all", checkpoint=folder / "kept")
        with raised(InvalidInputError, "the same record"):
            model.simulate(30, 2, seed=SEED, checkpoint=folder / "kept")
        longer.save(folder / "saved")
        loaded = PartTrajectory.load(folder / "saved", comm)
        further, one = model.simulate(3, start=loaded).mean, pp.simulate(whole, 35, 2, seed=SEED).mean
        assert same(np.asarray(further)[:, -1], np.asarray(one)[:, -1])

    return check


def full_disk(folder: Path) -> Check:
    def check(comm: MPI.Intracomm) -> None:
        model, _ = long_run(comm)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        if comm.rank == 1:
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
        try:
            with raised(FileFormatError, "must be writable", "room", "" if comm.rank == 1 else "process 1 has ended"):
                model.simulate(20, seed=SEED, checkpoint=folder / "full", every=EVERY)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert not list((folder / "full").glob(".*")), "half of a file is left"
        run = model.simulate(20, seed=SEED, checkpoint=folder / "full", every=EVERY)
        assert run.final.step == 20

    return check


# The command line


def command_line(folder: Path) -> Check:
    def check(comm: MPI.Intracomm) -> None:
        from peerpressure.cli import invoke

        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = invoke(["run", str(folder / "study.toml"), "--out", str(folder / "shared")])
        assert status == 0, said.getvalue()
        assert ("files in" in said.getvalue()) is (comm.rank == 0), said.getvalue()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            refused = invoke(["simulate", "--network", "ba:100:2", "--out", str(folder / "few")])
        assert refused == 2, refused
        assert ("use at most 1" in said.getvalue()) is (comm.rank == 0), said.getvalue()
        assert not (folder / "few").exists()

    return check


# The page


def page(folder: Path) -> Check:
    def check(comm: MPI.Intracomm) -> None:
        programs = json.loads((folder / "page.json").read_text(encoding="utf-8"))
        assert len(programs) == 2
        place = folder / "page"
        place.mkdir(exist_ok=True)
        with contextlib.chdir(place), contextlib.redirect_stdout(io.StringIO()) as said:
            for text in programs:
                small = text.replace("10**9", "5000").replace("10**6", "5000").replace("1000,", "20,")
                exec(compile(small, "<block>", "exec"), {})
        assert len(said.getvalue().split()) == (2 if comm.rank == 0 else 0), said.getvalue()

    return check


# All of them


def wait(comm: MPI.Intracomm) -> None:
    """Wait for all processes without taking a core, as MPI itself does while it waits."""
    arrival = comm.Ibarrier()
    while not arrival.Test():
        time.sleep(0.01)


def same(found: Any, wanted: Any) -> bool:
    return wanted is not None and np.array_equal(found, wanted)


def divided(world: MPI.Intracomm, count: int) -> MPI.Intracomm:
    """Return the first ``count`` processes, or the others."""
    parts = world.Split(int(world.rank < count))
    assert isinstance(parts, MPI.Intracomm)
    return parts


def judged(check: Check, comm: MPI.Intracomm) -> str:
    try:
        check(comm)
        said = ""
    except BaseException:
        said = f"process {comm.rank} of {comm.size}: {traceback.format_exc()}"
    return "".join(comm.allgather(said))


def features(world: MPI.Intracomm) -> dict[str, str]:
    """Return what is wrong with each feature: in two processes and in one, and some in three."""
    models, own = cases(), {}
    for name, (model, arguments) in [*models.items()][world.rank :: world.size]:
        asked = {"steps": STEPS, "seed": SEED, "threads": 1} | arguments
        own[name] = digest(pp.simulate(model, **asked))
    wait(world)
    wanted = {name: text for part in world.allgather(own) for name, text in part.items()}
    two_and_one, found = divided(world, PAIR), {}
    for name, (model, arguments) in models.items():
        check = same_bits(name, model, arguments, wanted[name])
        said = judged(check, two_and_one) + (judged(check, world) if name in EVERYWHERE else "")
        wait(world)
        found[name] = "".join(world.allgather(said))
    return found


def main(task: str, folder: Path) -> None:
    world = MPI.COMM_WORLD
    if task == "killed":
        killed(folder)(world)
        return
    checks: dict[str, Check] = {
        "refused": refused,
        "differing arguments": differing_arguments,
        "cancelled": cancelled,
        "interrupted": interrupted,
        "failing step": failing_step,
        "progress in one": progress_in_one,
        "overflow": overflow,
        "generators": generators,
        "illegal networks": illegal_networks,
        "parts of a model": parts_of_a_model,
        "illegal models": illegal_models,
        "files": files(folder),
        "full disk": full_disk(folder),
        "command line": command_line(folder),
        "page": page(folder),
    }
    found = features(world) | {name: judged(check, world) for name, check in checks.items()}
    pair = divided(world, PAIR)
    if world.rank < PAIR:
        found["resumed"] = judged(resumed(folder), pair)
    wait(world)
    if world.rank == 0:
        (folder / FOUND).write_text(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
