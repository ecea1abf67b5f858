"""Peer Pressure: will this network agree, on what, how fast, and what can an observer learn about its members.

Agents on a graph each hold a hidden opinion, show a noisy public one, and are pulled to their neighbours by growing
peer pressure. Build a ``Model``; then ``diagnose`` it, ``simulate`` it, compute its exact ``moments``, or ``recover``
the hidden opinions of its agents. What is needed less often lives one namespace down: ``networks``, ``schedules``,
``noise``, ``sde``, ``theory``, ``recovery``, ``privacy``, ``scenario``, ``sweep``, ``plotting`` and
``errors``.

The names are listed in ``__init__.pyi`` and loaded when they are first used, which keeps importing the package fast.
"""

from peerpressure.support.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__, ())
