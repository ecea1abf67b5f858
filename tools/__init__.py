"""What contributors do besides the commands of the Makefile: ``python -m tools`` lists it."""
