//! SSH public keys that the tree hands out.

use super::site::Site;
use csis_kinds::public_key;
use csis_values::Diagnostics;

pub(super) fn check(site: &Site<'_>, found: &mut Diagnostics) {
    for key in &site.tree.config.admin_public_keys {
        public_key::check("`config.admin_public_keys`", key, found);
    }
    for user in &site.tree.users {
        for key in &user.public_keys {
            public_key::check(&format!("user `{}`", user.name), key, found);
        }
    }
}
