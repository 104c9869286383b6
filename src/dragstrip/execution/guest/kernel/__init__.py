"""The guest's kernel: user-mode Linux, built from the distribution's sources with our changes."""
