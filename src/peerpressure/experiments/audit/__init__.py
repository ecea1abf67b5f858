"""The paper's claims, each with what was found and a verdict computed from the numbers of the run.

Tables
------
audit
    id, claim, where (in the paper), printed (what the paper prints), found (with uncertainty), verdict (confirmed,
    corrected, refuted, cannot be tested), why (one sentence with numbers).
"""
