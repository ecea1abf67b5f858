"""The works that the report refers to, each with its DOI."""

from __future__ import annotations

from typing import Final, NamedTuple


class Publication(NamedTuple):
    """A published work."""

    name: str
    authors: str
    year: int
    title: str
    source: str
    doi: str


# By the first author's name, as the list on the page.
REFERENCES: Final = (
    Publication(
        "anderson",
        "Anderson, T. W., and Darling, D. A.",
        1952,
        "Asymptotic theory of certain “goodness of fit” criteria based on stochastic processes",
        "Annals of Mathematical Statistics 23, 193–212",
        "10.1214/aoms/1177729437",
    ),
    Publication(
        "barabasi",
        "Barabási, A.-L., and Albert, R.",
        1999,
        "Emergence of scaling in random networks",
        "Science 286, 509–512",
        "10.1126/science.286.5439.509",
    ),
    Publication(
        "dong",
        "Dong, J., Roth, A., and Su, W. J.",
        2022,
        "Gaussian differential privacy",
        "Journal of the Royal Statistical Society B 84, 3–37",
        "10.1111/rssb.12454",
    ),
    Publication(
        "griffin",
        "Griffin, C., Squicciarini, A., and Jia, F.",
        2023,
        "Consensus in complex networks with noisy agents and peer pressure",
        "arXiv 2306.14586",
        "10.48550/arXiv.2306.14586",
    ),
    Publication(
        "holme",
        "Holme, P., and Saramäki, J.",
        2012,
        "Temporal networks",
        "Physics Reports 519, 97–125",
        "10.1016/j.physrep.2012.03.001",
    ),
    Publication(
        "jadbabaie",
        "Jadbabaie, A., Lin, J., and Morse, A. S.",
        2003,
        "Coordination of groups of mobile autonomous agents using nearest neighbor rules",
        "IEEE Transactions on Automatic Control 48, 988–1001",
        "10.1109/TAC.2003.812781",
    ),
    Publication(
        "kloeden",
        "Kloeden, P. E., and Platen, E.",
        1992,
        "Numerical Solution of Stochastic Differential Equations",
        "Springer",
        "10.1007/978-3-662-12616-5",
    ),
    Publication(
        "nozari",
        "Nozari, E., Tallapragada, P., and Cortés, J.",
        2017,
        "Differentially private average consensus: obstructions, trade-offs, and optimal algorithm design",
        "Automatica 81, 221–231",
        "10.1016/j.automatica.2017.03.016",
    ),
    Publication(
        "robbins",
        "Robbins, H., and Monro, S.",
        1951,
        "A stochastic approximation method",
        "Annals of Mathematical Statistics 22, 400–407",
        "10.1214/aoms/1177729586",
    ),
    Publication(
        "semonsen",
        "Semonsen, J., Griffin, C., Squicciarini, A., and Rajtmajer, S.",
        2019,
        "Opinion dynamics in the presence of increasing agreement pressure",
        "IEEE Transactions on Cybernetics 49, 1270–1278",
        "10.1109/TCYB.2018.2799858",
    ),
    Publication(
        "shapiro",
        "Shapiro, S. S., and Wilk, M. B.",
        1965,
        "An analysis of variance test for normality (complete samples)",
        "Biometrika 52, 591–611",
        "10.1093/biomet/52.3-4.591",
    ),
    Publication(
        "touri",
        "Touri, B., and Nedić, A.",
        2011,
        "On ergodicity, infinite flow, and consensus in random models",
        "IEEE Transactions on Automatic Control 56, 1593–1605",
        "10.1109/TAC.2010.2091174",
    ),
)
