"""A research campaign with dragstrip: papers, their claims, and our answers to them.

The command `dragstrip reproduce` comes from here; see docs/decisions/0077-two-packages.md.
"""
