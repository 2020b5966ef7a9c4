mod harbor;
mod hostile;
mod overlays;
mod support;
mod templates;
