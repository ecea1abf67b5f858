"""Formats that are not read, by name, with the lines of Python that convert them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from peerpressure.errors import FileFormatError, message

_PICKLE = (
    "a Python pickle, which can run code when it is loaded",
    "graph = pickle.load(open({old!r}, 'rb'))",
    "networkx.write_graphml(graph, '{new}.graphml')",
)
_EXCEL = ("an Excel workbook", "table = pandas.read_excel({old!r})", "table.to_csv('{new}.csv', index=False)")
_STATA = ("a Stata file", "table = pandas.read_stata({old!r})", "table.to_csv('{new}.csv', index=False)")
_SPSS = ("an SPSS file", "table = pandas.read_spss({old!r})", "table.to_csv('{new}.csv', index=False)")
_FEATHER = ("a Feather file", "table = pandas.read_feather({old!r})", "table.to_parquet('{new}.parquet')")
_HDF = ("an HDF5 file", "table = pandas.read_hdf({old!r})", "table.to_csv('{new}.csv', index=False)")
_DOT = (
    "a Graphviz file",
    "graph = networkx.nx_pydot.read_dot({old!r})",
    "networkx.write_graphml(graph, '{new}.graphml')",
)
_GRAPH6 = ("a graph6 file", "graph = networkx.read_graph6({old!r})", "networkx.write_graphml(graph, '{new}.graphml')")
_SPARSE6 = (
    "a sparse6 file",
    "graph = networkx.read_sparse6({old!r})",
    "networkx.write_graphml(graph, '{new}.graphml')",
)
_LEDA = ("a LEDA file", "graph = networkx.read_leda({old!r})", "networkx.write_graphml(graph, '{new}.graphml')")
_LGL = ("a file of LGL", "graph = igraph.Graph.Read_Lgl({old!r})", "graph.write_graphml('{new}.graphml')")
_DL = ("a UCINET file", "graph = igraph.Graph.Read_DL({old!r})", "graph.write_graphml('{new}.graphml')")
_MATLAB = ("a MATLAB file", "matrix = scipy.io.loadmat({old!r})['A']", "scipy.io.mmwrite('{new}.mtx', matrix)")
_R = ("a file of R", "table = list(pyreadr.read_r({old!r}).values())[0]", "table.to_csv('{new}.csv', index=False)")
UNREAD: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        **dict.fromkeys((".pkl", ".pickle", ".gpickle"), _PICKLE),
        **dict.fromkeys((".xlsx", ".xls", ".ods"), _EXCEL),
        ".dta": _STATA,
        ".sav": _SPSS,
        ".feather": _FEATHER,
        **dict.fromkeys((".h5", ".hdf5"), _HDF),
        **dict.fromkeys((".dot", ".gv"), _DOT),
        ".g6": _GRAPH6,
        ".s6": _SPARSE6,
        **dict.fromkeys((".lgr", ".gw", ".leda"), _LEDA),
        ".lgl": _LGL,
        ".dl": _DL,
        ".mat": _MATLAB,
        **dict.fromkeys((".rds", ".rdata"), _R),
    }
)


def check_other_format(file: Path) -> None:
    """Raise an error that names the format of a file, if it is a known one that is not read."""
    known = UNREAD.get(file.suffix.lower())
    if known is not None:
        name, *lines = known
        texts = [line.format(old=file.name, new=file.stem) for line in lines]
        # To be copied into Python, also where a terminal joins the lines.
        remedy = "convert it in Python:\n    " + ";\n    ".join(texts)
        raise FileFormatError(
            message("a network file must have a known suffix", got=f"{file.name!r}, {name}", remedy=remedy)
        )
