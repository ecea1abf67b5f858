"""How fast the simulator is: against other ways to run the same model, and against what the machine can do.

Run ``python -m benchmarks``; every file here measures one thing.
"""
