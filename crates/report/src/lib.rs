//! Answers to text, JSON, SVG, HTML and the formats of other tools.
