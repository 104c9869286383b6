"""A capsule's tables: built, described, exported."""
