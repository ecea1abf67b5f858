"""Tolerances and size limits of recovery, in one place.

Tolerances are relative: to the largest weight, singular value or standard deviation of the same kind. Sizes are counted
in agents unless a name says otherwise, and anything larger raises `TooLargeError` before memory is allocated.
"""

from __future__ import annotations

# Tolerances.

# A weight of x₀, or a singular value of rows, below this part of the largest is lost in double precision.
NEGLIGIBLE = 1e-10
# An eigenvalue of scaled normal equations below this part of the largest, for each unknown, is a rounding error of 0.
EIGENVALUE_TOLERANCE = 4e-16
# Singular values of exact rows below this part of the largest, for each row or column, are rounding errors of 0.
EXACT_RANK_TOLERANCE = 1e-13
# A standard deviation below this part of what it would be unobserved may be a rounding error of 0.
NOISE_TOLERANCE = 1e-12
# Eigenvalues of a scaled covariance below this part of the largest, for each row, are rounding errors of 0.
COVARIANCE_TOLERANCE = 1e-14
# An unknown that takes part in an unidentified direction by more than this is not identified.
SHARE_TOLERANCE = 1e-7
# Exact facts that contradict one another by more than this, relative to their size, are no answers of the model …
CONTRADICTION = 1e-4
# … unless rounding errors of the facts, this many times enlarged, explain it.
ROUNDING_ALLOWANCE = 100.0
# An exact fact whose rounding error is more than this, relative to its size, counts as noisy by that much.
COARSE = 1e-6
# An exact fact whose rounding error is more than this, relative to its size, says nothing.
ILLEGIBLE = 0.1
# Last digits in which an answer and the equation that it stands for may be wrong: those that simulation and estimation
# lose between them.
WRONG_DIGITS = 8.0
# Last digits by which y_t − C_t y_{t−1} may be off: simulation and inversion each sum over neighbours, and dividing by
# the gain amplifies the error. 64 is generous, since a wrong error message is worse than a missed one.
INVERTED_DIGITS = 64
# An innovation whose standard deviation is below this many units in the last place of the answers consists mostly of
# rounding error. Dividing it by √f would turn that error into a confident statement about x₀, so it is left out.
MIN_SIGNIFICANT = 1000
# Part of a variance below which its rounding error is left out.
NEGLIGIBLE_ERROR = 0.05
# Residual at which conjugate gradients stop, and the most iterations until then.
CG_TOLERANCE, CG_ITERATIONS = 1e-11, 20_000
# An unknown whose part in a random unidentified direction is more than this is not identified, where such directions
# are found by conjugate gradients: far above their errors.
NULL_TOLERANCE = 1e-6
# Information about the logarithm of the scale of inferred weights below which it is lost: an error of a factor √e.
LEAST_INFORMATION = 4.0

# Sizes.

# A full covariance is formed up to here; beyond, operators and conjugate gradients take over.
DENSE_LIMIT = 2_000
# The dense Kalman filter takes some 50 ms a step here; beyond, it is not used for an estimate of x₀.
FILTER_LIMIT = 300
# Partial observations whose information is computed by a dense filter, the work of which grows with the cube.
PARTIAL_LIMIT = 1_000
# Answers of a replicate whose likelihood in unknown parameters is maximised; one evaluation takes a second or two.
FIT_NUMBERS = 10_000_000
# Responses of every answer to every opinion that the modification of a likelihood takes in full, 8 MB …
FIT_RESPONSES = 1_000_000
# … and pieces of an unknown course of peer pressure, each with a profile of its own.
FIT_PIECES = 32
# Agents whose answers are fitted together, with a dense filter …
ANSWER_LIMIT = 200
# … and bytes that it takes for the points that it follows side by side.
ANSWER_BYTES = 2**28
# Edges of a symmetric network that are fitted together; the dense matrix of their errors takes 130 MB.
JOINT_PAIRS = 4_000
# Unknowns that may meet in one step of the sparse elimination, which takes about ten seconds on two cores.
FRONT_LIMIT = 6_000
# Numbers in the stacked system of generalised least squares; its factorisation takes some ten seconds.
STACKED_NUMBERS = 1.6e7
# Bytes of the responses from which the residuals of the filter are computed; beyond, there are none.
PATH_BYTES = 2e9
# Bytes of the paths that a block of the regression's columns takes.
BLOCK_BYTES = 2**25
# Perturbed copies that measure rounding errors cost little up to so many agents …
COPIED_AGENTS = 300
# … and are made of at most so many numbers, 1 GB, beyond.
COPIED_NUMBERS = 2**27
# Answers whose residuals are kept, of the first steps beyond; the inversion takes some eight times as much memory.
RESIDUAL_NUMBERS = 2**24
# Answers that are compared with a law that is not Gaussian, each by an integral.
LAW_NUMBERS = 2**15
# Agents whose pairs are all scored, in a few seconds; of larger networks only the agents themselves are …
SCORED_AGENTS = 1_000
# … and answers of all replicates that take part.
SCORED_NUMBERS = 2**23
