"""A research campaign by dragstrip: papers, their claims, and what our loads say of them.

The command `dragstrip reproduce` comes from here; see docs/decisions/0077-two-packages.md.
"""
