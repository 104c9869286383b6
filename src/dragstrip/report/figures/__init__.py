"""Draws figures as SVG or Vega. Each figure depends only on its rows."""
