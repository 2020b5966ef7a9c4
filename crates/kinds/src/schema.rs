//! JSON Schema from the tables of fields.
