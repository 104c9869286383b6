"""Figures and drawings as SVG or Vega, each a pure function of its rows."""
