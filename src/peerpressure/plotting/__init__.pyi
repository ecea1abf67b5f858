from ._recovery import fit_diagnostics as fit_diagnostics
from .figures import FIGURES as FIGURES, draw as draw
from .style import render as render, save as save
from .sweep import sweep_plot as sweep_plot
