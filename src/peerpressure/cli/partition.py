"""``peerpressure partition``: a network as a folder of parts, for several processes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from peerpressure.cli.terminal import AsJson, facts, listing_problems, print_json, show
from peerpressure.support.files import declare_output


def partition(
    network: Annotated[
        Path, typer.Argument(metavar="NETWORK", help="File of edges, a matrix or a graph; its name tells the format.")
    ],
    parts: Annotated[int, typer.Option(min=1, help="Number of parts: that of the processes, or a multiple of it.")],
    out: Annotated[Path, typer.Option(help="New folder for the parts.")],
    order: Annotated[
        Literal["given", "sorted", "metis"],
        typer.Option(help="Order of the agents: as given, by reverse Cuthill–McKee, or by METIS (needs pymetis)."),
    ] = "given",
    directed: Annotated[
        bool, typer.Option("--directed", help="Edges of a list or a matrix go from an agent to those it listens to.")
    ] = False,
    signed: Annotated[bool, typer.Option("--signed", help="Allow negative weights.")] = False,
    as_json: AsJson = False,
) -> None:
    """Divide a network among processes, each of which reads only its own part.

    Parts are ranges of agents, cut at multiples of 1,024, with about equal work. order.npy contains the original
    position of each agent. Prints how many opinions travel per agent and step, and how unequal the parts are.

    Example: peerpressure partition friends.csv --parts 4 --order sorted --out friends-in-parts
    """
    from peerpressure.networks import read_network
    from peerpressure.simulation.partition import write_partition

    with listing_problems():
        declare_output(out)
        whole = read_network(network, directed=directed or None, signed=signed)
        division = write_partition(whole, parts, out, order)
    found = {"halo_per_agent": division.halo_per_agent, "balance": division.balance}
    if as_json:
        print_json({"network": repr(whole), "folder": out, "cuts": division.cuts, "order": order} | found)
        return
    rows = [
        ("network", repr(whole)),
        ("opinions sent per agent and step", f"{division.halo_per_agent:.3g}"),
        ("work of the largest part relative to the mean", f"{division.balance:.3g}"),
    ]
    show(f"{parts} parts in {out}", facts(rows))
