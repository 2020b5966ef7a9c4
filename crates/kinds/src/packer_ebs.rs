//! Machine images of EC2, baked by Packer.

use crate::family::{ImageKind, Kind};
use crate::vocabulary::{check_label, check_requirements};
use csis_values::fields::{Field, Shape};
use csis_values::tree::Builder;
use csis_values::{Class, Diagnostics};

pub struct PackerEbs;

const FIELDS: &[Field] = &[
    Field::new(
        "default_machine_type",
        Shape::Text,
        "The machine bakes run on when image and entry name none; left out, the runtime's.",
    )
    .default("default"),
    Field::new(
        "required_plugins",
        Shape::Objects(&[
            Field::new("name", Shape::Text, "The plugin's name, e.g. `amazon`.").required(),
            Field::new("version", Shape::Text, "The version constraint.").required(),
            Field::new("source", Shape::Text, "The plugin's source address."),
            Field::new("config", Shape::Free, "Accepted; template data.").default("{}"),
        ]),
        "The Packer plugins its bakes require.",
    )
    .default("[]"),
];

impl Kind for PackerEbs {
    fn name(&self) -> &'static str {
        "packer-ebs"
    }

    fn class(&self) -> Class {
        Class::ImageBuilder
    }

    fn fields(&self) -> &'static [Field] {
        FIELDS
    }

    fn check(&self, builder: &Builder, found: &mut Diagnostics) {
        check_label(builder.class, &builder.name, &builder.at, found);
        check_requirements(builder, found);
    }
}

impl ImageKind for PackerEbs {}
