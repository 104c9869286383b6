"""Races in virtual time: a block runs inside a guest whose clock stands still while it computes."""
