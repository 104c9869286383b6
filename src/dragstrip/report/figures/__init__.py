"""Figures and drawings as SVG or Vega. Each depends only on its rows."""
