"""Peer Pressure: will this network agree, on what, how fast, and what can an observer learn about its members.

Agents on a graph hold a hidden opinion each, show a noisy public one, and are pulled to their neighbours by growing
peer pressure. Build a ``Model``; then ``diagnose`` it, ``simulate`` it, take its exact ``moments``, or ``recover`` what
its agents hide.

This is the public API, by the module that holds each name; ``__init__.pyi`` says the same to type checkers. Names are
loaded when they are first used, so that a command which needs none of them answers at once.
"""

from importlib import import_module

_HOMES = {
    "networks": """
        Network read_network write_network named
        k2 path cycle complete star grid erdos_renyi watts_strogatz barabasi_albert random_regular
        TemporalNetwork read_events read_contacts write_events recorded_contacts
        failing_edges edge_markovian activity_driven rewiring growing
        joint_connectivity shortest_window
    """,
    "schedules": """
        Schedule Growth Constant Linear Power Logarithmic StretchedExponential Table Formula
    """,
    "noise": """
        Noise Gaussian Laplace Uniform StudentT Rademacher NoNoise Custom White Frozen AR1
    """,
    "adaptation": "Adaptation",
    "model": "Model Update",
    "sde": "SDE exact_density solve_density",
    "simulation": "simulate Record",
    "trajectory": "Trajectory State",
    "theory": """
        diagnose Verdict Outcome moments Moments consensus_mode fixed_point contraction contraction_product
        consensus_limit consensus_limit_curve retention replicates_needed steps_needed
    """,
    "recovery": "recover Observation Prior Estimate information",
    "privacy": "exposure budget calibrate frontier",
    "scenario": "Scenario load_scenario",
    "errors": """
        PeerPressureError InvalidInputError NetworkError ScheduleError FormulaError NoiseError AdaptationError
        ModelError TooLargeError FileFormatError
    """,
    "version": "__version__",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME)  # noqa: PLE0605 — made from the table above


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'peerpressure' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
