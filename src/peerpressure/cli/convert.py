"""``peerpressure convert``: a network file in another format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peerpressure.cli.terminal import AsJson, listing_problems, print_json
from peerpressure.support.files import declare_output

if TYPE_CHECKING:
    from peerpressure.networks import Network


def convert(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="File of edges, a matrix or a graph; its name tells the format.")
    ],
    out: Annotated[Path, typer.Argument(metavar="TARGET", help="File to write; its name tells the format.")],
    weight: Annotated[str, typer.Option(help="Column or attribute that holds the weights.")] = "weight",
    unweighted: Annotated[bool, typer.Option("--unweighted", help="Leave weights out.")] = False,
    directed: Annotated[
        bool, typer.Option("--directed", help="Edges of a list or a matrix go from an agent to those it listens to.")
    ] = False,
    signed: Annotated[bool, typer.Option("--signed", help="Allow negative weights.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a network file in another format.

    Formats: edge lists, matrices, GraphML, GEXF, GML, Pajek, JSON and others. Prints how the file was read, and what
    the new one does not keep.

    Example: peerpressure convert friends.csv friends.graphml
    """
    from peerpressure.networks import describe_network_file, read_network, write_network

    with listing_problems():
        declare_output(out)
        name = None if unweighted else weight
        network = read_network(source, weight=name, directed=directed or None, signed=signed)
        read_as = describe_network_file(source, weight=name, directed=directed or None)
        notes = _notes(network, source, out)
        write_network(network, out)
    if as_json:
        print_json({"network": repr(network), "read": read_as, "written": out, "notes": notes})
        return
    lines = [
        f"{source}: {network!r}",
        *([f"  read as: {read_as}"] if read_as else []),
        *(f"  {note}" for note in notes),
    ]
    print("\n".join([*lines, f"written to {out}"]))


def _notes(network: Network, source: Path, target: Path) -> list[str]:
    """Return what the new file does not keep, and what reading it takes."""
    from peerpressure.networks.formats import graph_of, is_graph_file

    attributes = graph_of(source).attributes if is_graph_file(source) else []
    # Graphs say themselves whether they are directed; all formats hold negative weights without a word.
    plain = not is_graph_file(target)
    needs = [
        *(["--directed"] if network.directed and plain else []),
        *(["--signed"] if network.signed else []),
    ]
    return [
        *([f"attributes of agents are not written: {', '.join(attributes)}"] if attributes else []),
        *([f"to read the new file, pass {' and '.join(needs)}"] if needs else []),
    ]
