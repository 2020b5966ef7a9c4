use super::{Found, Rule};
use crate::attributes as attr;
use crate::{Question, address};

/// No cloud shrinks a volume: the apply fails, or makes a new, empty one.
pub struct VolumeShrink;

impl Rule for VolumeShrink {
    fn id(&self) -> &'static str {
        "volume-shrink"
    }

    fn sentence(&self) -> &'static str {
        "No volume is made smaller"
    }

    fn remedy(&self) -> &'static str {
        "leave the size; for a smaller volume declare a new storage, copy the data, and undeclare the old one"
    }

    fn judge(&self, q: &Question<'_>, found: &mut Found<'_>) {
        for change in q.managed() {
            for attribute in &change.attributes {
                let path = attr::plain(&attribute.path);
                let name = path.rsplit('.').next().unwrap_or(&path);
                if !matches!(name, "size" | "volume_size" | "allocated_storage") {
                    continue;
                }
                let (Some(was), Some(now)) = (attr::number(&attribute.before), attr::number(&attribute.after)) else {
                    continue;
                };
                if now < was {
                    found
                        .refuse(format!("{} would shrink from {was} GiB to {now} GiB", address::object(q, change)))
                        .on(change);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use csis_values::plan::Action;

    #[test]
    fn smaller_is_refused_and_larger_is_not() {
        for (before, after, refused) in
            [("100", "50", true), ("50", "100", false), ("100", "100", false), ("9", "10", false)]
        {
            let volume = with(
                change("module.storage_a.aws_ebs_volume.this", Action::Update),
                "size",
                value(before),
                value(after),
            );
            assert_eq!(judged(&plan(vec![volume])).is_refused(), refused, "{before} {after}");
        }
    }
}
