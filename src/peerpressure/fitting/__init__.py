"""Whether people respond to each other: what panels of answers can tell of it, and what they cannot."""

from __future__ import annotations
