mod harbor;
mod support;
