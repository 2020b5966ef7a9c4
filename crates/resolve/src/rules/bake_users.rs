//! The user a bake logs in as: of all places that may set it the first counts, and what it says must be an account's name.

use super::site::Site;
use super::words::is_account_name;
use csis_values::fields::Fields;
use csis_values::{Class, Diagnostic, Diagnostics};

pub(super) fn check(site: &Site<'_>, found: &mut Diagnostics) {
    for image in &site.tree.images {
        for entry in &image.runtimes {
            judge(&entry.fields, "ssh_username", &format!("image `{}`", image.name), found);
        }
    }
    for os in site.tree.builders_of(Class::OsBuilder) {
        let what = format!("OS builder `{}`", os.name);
        for entry in os.fields.objects("runtimes") {
            judge(&entry, "ssh_username", &what, found);
        }
        judge(&os.fields, "config_username", &what, found);
    }
    for runtime in site.tree.builders_of(Class::Runtime) {
        for key in ["ssh_username", "default_config_username"] {
            judge(&runtime.fields, key, &format!("runtime `{}`", runtime.name), found);
        }
    }
}

fn judge(fields: &Fields, key: &str, whose: &str, found: &mut Diagnostics) {
    let Some(user) = fields.spanned(key) else { return };
    if user.value != "default" && !is_account_name(&user) {
        let what = format!("{whose}: `{key}` is {:?}, which cannot be the account a bake logs in as", user.value);
        found.push(
            Diagnostic::error("bake-user", what)
                .at(&user.at)
                .help("name an account of the vendor image, or leave it out; first counts the image's runtime entry, then the OS entry's `ssh_username`, the OS builder's `config_username`, the runtime's `ssh_username` and `default_config_username`, then the family's own"),
        );
    }
}
