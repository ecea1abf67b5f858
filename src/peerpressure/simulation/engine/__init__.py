"""The only place that steps states. Importing it loads numba, so ``simulate`` does that when it is first called."""
