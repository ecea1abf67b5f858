"""Files of graphs from other programs: GraphML, GEXF, GML, Pajek and JSON, with the attributes of their nodes.

Agents are named by the labels of the nodes if every node has one of its own, else by their names or identifiers.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from types import MappingProxyType
from typing import Any, NamedTuple

from peerpressure.errors import FileFormatError, NetworkError, first_few
from peerpressure.networks._edge_lists import parse_labels
from peerpressure.networks.validation import Label, check_attribute, described_repeats
from peerpressure.support.files import decode_text
from peerpressure.support.parameters import composed
from peerpressure.support.tables import cell_text, places_in

# To NetworkX every text means directed, and another spelling nothing. Other quoted texts and comments are left out.
_DIRECTION = re.compile(r'^\s*#.*|"[^"]*"|\b(directed)\s+("[^"]*"|[^\s\]]+)', re.IGNORECASE | re.MULTILINE)
_GEXF_13 = re.compile(rb"http://(?:www\.)?gexf\.net/1\.3(?=[\"'/])")
_WORDS = re.compile(r'"([^"]*)"|(\S+)')


class GraphFile(NamedTuple):
    """A graph of NetworkX with agents as nodes, named by an attribute or "id"; ``weight`` is an attribute of edges."""

    graph: Any
    named_by: str
    weight: str | None

    @classmethod
    def of(cls, graph: Any, weight: str | None = "weight") -> GraphFile:
        """Return a parsed graph; edges without the weight of others have the default of the file, or 1."""
        graph, named_by = _with_labels(graph)
        defaults = graph.graph.get("edge_default", {})
        names = [*dict.fromkeys([name for *_, data in graph.edges(data=True) for name in data] + [*defaults])]
        # Other programs have other names for weights, as in tables.
        if weight == "weight" and weight not in names:
            weight = next((names[k] for k in places_in(names, ("weight",)).values()), weight)
        # Weights by a name that no edge has would all be 1 without a word.
        if weight is not None and weight not in ("weight", *names):
            check_attribute(weight, names)
        if weight in defaults:
            for *_, data in graph.edges(data=True):
                data.setdefault(weight, defaults[weight])
        return cls(graph, named_by, weight if weight in names else None)

    @property
    def attributes(self) -> list[str]:
        """Names of the attributes of nodes, in the order of first appearance."""
        names = [name for _, data in self.graph.nodes(data=True) for name in data]
        return [name for name in dict.fromkeys([*names, *self.defaults]) if name not in ("label", self.named_by)]

    @property
    def defaults(self) -> Mapping[str, Any]:
        """Attributes of nodes that have none of their own."""
        attributes: Mapping[str, Any] = self.graph.graph.get("node_default", {})
        return attributes

    @property
    def description(self) -> str:
        """How the file was read, in words."""
        parts = [f"agents by {self.named_by}", *([f"weight from {self.weight!r}"] if self.weight else [])]
        names, unused = self.attributes, self.unused
        notes = [
            *([f"attributes: {first_few(map(repr, names), len(names))}"] if names else []),
            *([f"attributes of edges not used: {first_few(map(repr, unused), len(unused))}"] if unused else []),
            *described_repeats(self._parallel()),
        ]
        return "; ".join([", ".join(parts), *notes])

    @property
    def unused(self) -> list[str]:
        """Names of the attributes of edges other than the weight and the identifier, which programs add."""
        names = dict.fromkeys(name for *_, data in self.graph.edges(data=True) for name in data)
        return [name for name in names if name not in ("id", self.weight)]

    def _parallel(self) -> list[tuple[Label, Label]]:
        """Return the ends of edges that the graph has more than once."""
        pairs = [pair for pair, count in Counter(list(self.graph.edges())).items() if count > 1]
        # An undirected edge of Pajek is one in each direction.
        return list({frozenset(pair): pair for pair in reversed(pairs)}.values())[::-1]


def _with_labels(graph: Any) -> tuple[Any, str]:
    """Return the graph with agents as nodes, and whether they are named by label, name or id."""
    import networkx as nx

    texts, named_by = [composed(str(node)) for node in graph.nodes], "id"
    # igraph writes names, and Gephi labels, which take precedence; either must tell all agents apart.
    for attribute in ("name", "label"):
        names = [composed(cell_text(data.get(attribute))) for _, data in graph.nodes(data=True)]
        if all(names) and len(set(names)) == len(names):
            texts, named_by = names, attribute
    if len(set(texts)) < len(texts):
        twice = next(text for text, count in Counter(texts).items() if count > 1)
        raise NetworkError("nodes must have different identifiers", got=f"{twice!r} twice", remedy="rename one")
    name = parse_labels(texts)
    return nx.relabel_nodes(graph, dict(zip(graph.nodes, (name[text] for text in texts), strict=True))), named_by


ONE_GRAPH = "write each graph to a file of its own"


def _parsed_xml(data: bytes, kind: str) -> BytesIO:
    """Return an XML file, which must not define entities: these can expand to gigabytes or include other files.

    NetworkX reads the first of several graphs, and makes nodes of the ends of edges that are none.
    """
    from defusedxml import DTDForbidden, ElementTree

    # Entities are declared in a document type only.
    try:
        _check_elements(ElementTree.fromstring(data, forbid_dtd=True), kind)
    except DTDForbidden:
        rule, remedy = f"{kind} must not define a document type", "remove it; a graph needs none"
        raise FileFormatError(rule, got="a DOCTYPE", remedy=remedy) from None
    return BytesIO(data)


def _check_elements(root: Any, kind: str) -> None:
    """Raise unless there is one graph, whose nodes differ and whose edges link two of them."""
    parts: dict[str, list[Any]] = {"graph": [], "node": [], "edge": []}
    for element in root.iter():
        parts.get(str(element.tag).rpartition("}")[2], []).append(element)
    # GEXF has a default.
    name, others = ("edgedefault", ()) if kind == "GraphML" else ("defaultedgetype", (None, "mutual"))
    for graph in parts["graph"]:
        if graph.get(name) not in ("directed", "undirected", *others):
            rule = f"{name} must be 'directed' or 'undirected', in small letters"
            raise FileFormatError(rule, got=repr(graph.get(name)), remedy="write one of these")
    if len(parts["graph"]) > 1:
        raise _several_graphs(kind, f"{len(parts['graph'])}, of which one may be inside another")
    counts = Counter(node.get("id") for node in parts["node"])
    for name, count in counts.items():
        if count > 1:
            raise NetworkError("nodes must have different identifiers", got=f"{name!r} twice", remedy="rename one")
    for number, edge in enumerate(parts["edge"], start=1):
        unknown = [end for end in (edge.get("source"), edge.get("target")) if end not in counts]
        if unknown:
            raise _no_node(number, unknown[0])
    inside = (str(element.tag) for node in parts["node"] for element in node.iter())
    if any(tag.rpartition("}")[2] == "edge" for tag in inside):
        raise _several_graphs(kind, "edges inside a node")


def _several_graphs(kind: str, got: str) -> FileFormatError:
    return FileFormatError(f"{kind} must hold one graph", got=got, remedy=ONE_GRAPH)


def _unclear_direction(rule: str, got: str) -> FileFormatError:
    return FileFormatError(rule, got=got, remedy="write one of these, without quotes")


def _no_node(number: int, name: object) -> FileFormatError:
    rule = f"edge {number} must link two nodes of the file"
    return FileFormatError(rule, got=f"{name!r}, which is none", remedy="list it among the nodes")


def graphml(data: bytes) -> Any:
    """Return the graph of a GraphML file."""
    import networkx as nx

    return nx.read_graphml(_parsed_xml(data, "GraphML"))


def gexf(data: bytes) -> Any:
    """Return the graph of a GEXF file."""
    import networkx as nx

    # Version 1.3, which Gephi writes, has the elements of 1.2 for what is read here; older NetworkX knows only these.
    data = _GEXF_13.sub(b"http://www.gexf.net/1.2draft", data)
    graph = nx.read_gexf(_parsed_xml(data, "GEXF"))
    if graph.graph.get("mode") == "dynamic":
        remedy = "export one graph without times, or a list of contacts"
        raise FileFormatError("a GEXF file must hold one graph for all times", got="mode dynamic", remedy=remedy)
    return graph


def gml(data: bytes) -> Any:
    """Return the graph of a GML file."""
    import networkx as nx

    # By id, because labels may be missing or repeat; both are kept.
    text = decode_text(data)[0]
    for found in _DIRECTION.finditer(text):
        if found[1] and (found[1] != "directed" or found[2] not in ("0", "1")):
            raise _unclear_direction("'directed' must be 0 or 1, and in small letters", found[0])
    graph = nx.parse_gml(text, label="id")
    if any("graph" in data for _, data in graph.nodes(data=True)):
        raise _several_graphs("GML", "a graph inside a node")
    return graph


# Node-link JSON of NetworkX and D3, parsed here: NetworkX makes nodes of ends that are none


def node_link(data: bytes) -> Any:
    """Return the graph of a node-link JSON file."""
    import networkx as nx

    plain = json.loads(decode_text(data)[0], object_pairs_hook=_without_repeats)
    found = [name for name in plain if name.casefold() in ("edges", "links")] if isinstance(plain, dict) else []
    links = next(iter(found), None)
    found += [name for name, value in plain.items() if _holds_graphs(name, value)] if found else []
    if len(found) > 1:
        raise _several_graphs("a JSON file", f"both {found[0]!r} and {found[1]!r}")
    if links is None or not all(_are_objects(plain.get(part)) for part in ("nodes", links)):
        got = ", ".join(map(repr, list(plain)[:6])) if isinstance(plain, dict) else type(plain).__name__
        remedy = (
            "write json.dump(networkx.node_link_data(graph), file), or another format with\n"
            "    networkx.write_graphml(graph, 'network.graphml')"
        )
        raise FileFormatError("a JSON file must have nodes, and edges or links", got=got, remedy=remedy)
    directed = plain.get("directed", False)
    said = [(part, name) for part in (plain, *plain[links]) for name in part if name.casefold() == "directed"]
    for part, name in said:
        if name != "directed" or part[name] is not directed or not isinstance(directed, bool):
            got = f"{json.dumps(name)}: {json.dumps(part[name])[:40]}"
            raise _unclear_direction("'directed' must be true or false, for the graph as a whole", got)
    graph = nx.MultiDiGraph() if directed else nx.MultiGraph()
    names = [_hashable(node.get("id", k)) for k, node in enumerate(plain["nodes"])]
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise NetworkError("nodes must have different identifiers", got=f"{twice!r} twice", remedy="rename one")
    for name, node in zip(names, plain["nodes"], strict=True):
        graph.add_node(name, **{str(key): value for key, value in node.items() if key != "id"})
    for number, link in enumerate(plain[links], start=1):
        graph.add_edge(*_link_ends(link, number, graph), **_link_facts(link))
    return graph


def _holds_graphs(name: str, value: Any) -> bool:
    """Return whether a part of a JSON object beside the links has further graphs, or nodes by another name."""
    parts = value if isinstance(value, list) else [value]
    inside = any(isinstance(part, dict) and _are_objects(part.get("nodes")) for part in parts)
    return inside or (name != "nodes" and name.casefold() == "nodes")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, of which Python keeps the last of equal names."""
    facts = dict(pairs)
    if len(facts) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        rule = "an object of JSON must have each name once"
        raise FileFormatError(rule, got=f"{twice!r} twice", remedy=f"rename one of them; {ONE_GRAPH}")
    return facts


def _are_objects(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, dict) for value in values)


def _hashable(value: Any) -> Any:
    # JSON has no tuples, which NetworkX writes as lists.
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _link_ends(link: Mapping[str, Any], number: int, graph: Any) -> list[Any]:
    ends = [_hashable(link.get(role)) for role in ("source", "target")]
    unknown = [end for end in ends if isinstance(end, dict) or end not in graph]
    if unknown:
        raise _no_node(number, unknown[0])
    return ends


def _link_facts(link: Mapping[str, Any]) -> dict[str, Any]:
    return {str(name): value for name, value in link.items() if name not in ("source", "target", "key")}


# Pajek, parsed here: NetworkX merges vertices with equal labels, and edges and arcs of one file


def pajek(data: bytes) -> Any:
    """Return the graph of a Pajek file."""
    import networkx as nx

    lines = [(k, _words(line)) for k, line in enumerate(decode_text(data)[0].splitlines(), start=1)]
    lines = [(k, words) for k, words in lines if words and not words[0].startswith("%")]
    graph, section, row = nx.MultiDiGraph(), "", 0
    sections: list[str] = []
    relations: set[str] = set()
    for number, words in lines:
        if words[0].startswith("*"):
            section = words[0].lower().removeprefix("*")
            # Relations are numbered, as in *Arcs :2 "advice".
            sections.append(section)
            relations |= {word for word in words[1:2] if word.startswith(":")}
            if sections.count(section) > 1 or len(relations) > 1:
                raise _several_graphs("a Pajek file", f"{' '.join(words)!r} on line {number} after others")
            if section == "vertices":
                # Every vertex of a connected graph is mentioned somewhere; a larger count is a mistake.
                limit = sum(len(words) for _, words in lines)
                graph.add_nodes_from(range(1, 1 + _vertex(words[1] if len(words) > 1 else "", limit, number)))
            elif section not in PAJEK and section != "network":
                raise _pajek_error(number, f"one of *{', *'.join(['vertices', *PAJEK])}", words[0])
        elif section == "vertices":
            vertex = _vertex(words[0], len(graph), number)
            if "label" in graph.nodes[vertex]:
                raise _pajek_error(number, "a vertex that is not listed above", f"{vertex} again")
            graph.nodes[vertex]["label"] = words[1] if len(words) > 1 else words[0]
        elif section in PAJEK:
            row += section == "matrix"
            for source, target, weight in PAJEK[section](words, number, row, len(graph)):
                graph.add_edge(source, target, weight=weight)
                if section.startswith("edges"):
                    graph.add_edge(target, source, weight=weight)
    for vertex, facts in graph.nodes(data=True):
        facts.setdefault("label", str(vertex))
    return graph


def _words(line: str) -> list[str]:
    return [quoted or plain for quoted, plain in _WORDS.findall(line)]


Links = Iterator[tuple[int, int, float]]


def _pair(words: list[str], number: int, row: int, n: int) -> Links:
    if len(words) < 2 or any(word.startswith("[") for word in words):
        raise _pajek_error(number, "two vertices and a weight, without times", " ".join(words)[:60])
    yield _vertex(words[0], n, number), _vertex(words[1], n, number), _weight(words[2:3], number)


def _list(words: list[str], number: int, row: int, n: int) -> Links:
    source, *targets = (_vertex(word, n, number) for word in words)
    yield from ((source, target, 1.0) for target in targets)


def _matrix_row(words: list[str], number: int, row: int, n: int) -> Links:
    weights = [_weight([word], number) for word in words]
    if len(weights) != n or row > n:
        raise _pajek_error(number, f"one of {n} rows of {n} weights", f"row {row} with {len(weights)}")
    yield from ((row, target, weight) for target, weight in enumerate(weights, start=1) if weight != 0)


PAJEK: Mapping[str, Callable[[list[str], int, int, int], Links]] = MappingProxyType(
    {"edges": _pair, "arcs": _pair, "edgeslist": _list, "arcslist": _list, "matrix": _matrix_row}
)


def _vertex(text: str, limit: int, number: int) -> int:
    # Fewer than 10 digits fit any graph, and int() takes long for a million of them.
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and 1 <= int(text) <= limit):
        raise _pajek_error(number, f"a vertex from 1 to {limit}", repr(text[:40]))
    return int(text)


def _weight(words: list[str], number: int) -> float:
    try:
        return float(words[0]) if words else 1.0
    except ValueError:
        raise _pajek_error(number, "a weight that is a number", repr(words[0][:40])) from None


def _pajek_error(number: int, wanted: str, got: str) -> FileFormatError:
    return FileFormatError(f"line {number} must have {wanted}", got=got, remedy="write the file again")
