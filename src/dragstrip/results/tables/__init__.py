"""Builds, describes and exports a capsule's tables."""
