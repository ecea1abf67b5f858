"""Consensus with noisy agents and peer pressure."""
