//! What templates see and how they fail.

use super::support::{edit, edited, harbor, loaded, one, request, told};
use crate::*;
use csis_values::tree::Tree;

fn good(loaded: Loaded) -> Tree {
    assert!(loaded.diagnostics.0.is_empty(), "{:#?}", told(&loaded.diagnostics));
    loaded.tree.expect("a tree")
}

/// The tag `t` of the storage `ledger`, written as the template.
fn tag(template: &str) -> Loaded {
    loaded(&edited(&[(
        "storages/storages.yaml",
        "tags: {data: ledger}",
        &format!("tags: {{data: ledger, t: {template:?}}}"),
    )]))
}

fn tagged(template: &str) -> String {
    good(tag(template)).storage("ledger").and_then(|s| s.tags.get("t").cloned()).expect("the tag")
}

#[test]
fn an_item_sees_itself_its_builder_and_what_it_refers_to() {
    assert_eq!(tagged("{{ storage.name }}-{{ builder.size }}-{{ runtime.region }}"), "ledger-50-us-west-2");
    assert_eq!(tagged("{{ this.name }} {{ this.data }} {{ this.parent.groups[0] }}"), "ledger ledger crew");
    assert_eq!(
        tagged("{{ builder.name }} {{ builder.runtime }} {{ builder.variables.volume_type }}"),
        "volumes aws-west gp3"
    );
    assert_eq!(
        tagged("{{ config.module_source_base }} {{ storage.share_mode }} {{ storage.type }}"),
        "tfmodules 2770 volumes"
    );
    assert_eq!(
        tagged("{% for g in storage.groups %}{{ g | upper }}{% endfor %}{% if storage.public_read %}x{% endif %}"),
        "CREW"
    );
    assert_eq!(
        tagged("{{ storage.bucket_name | default('none') }} {{ builder.tags.owner | default('nobody') }}"),
        "none nobody"
    );
    assert_eq!(
        tagged("{% set a = 'x' %}{{ a ~ 1 }} ${#list[@]} {% raw %}{{ y }}{% endraw %}"),
        "x1 ${#list[@]} {{ y }}"
    );
}

#[test]
fn an_instance_sees_its_image_by_alias_too() {
    let tree = good(loaded(&edited(&[
        (
            "instances/instances.yaml",
            "tags: {tier: api}",
            "tags: {tier: \"{{ image.group }}-{{ instance.name }}-{{ image.display_name }}\"}",
        ),
        ("instances/instances.yaml", "name: api-1", "name: API-1"),
        ("instances/instances.yaml", "image: harbor-api", "image: api"),
        ("images/images.yaml", "  - name: harbor-api", "  - name: Harbor-API\n    aliases: [api]"),
    ])));
    assert_eq!(tree.instance("api-1").map(|i| i.tags["tier"].as_str()), Some("crew-api-1-Harbor-API"));
}

#[test]
fn an_entry_of_cfg_sees_the_document_and_its_own_mapping() {
    let mut memory = edited(&[
        (
            "cfg/storage-builders.yml",
            "tags: {team: harbor}",
            "tags: {team: \"{{ this.parent.volume_type }} {{ this.parent.parent.name }} {{ config.who }}\"}",
        ),
        (
            "cfg/storage-builders.yml",
            "    size: 50",
            "    size: \"{{ config.size }}\"\n    config: {who: \"{{ id }}\"}",
        ),
        ("cfg/_config.yml", "config:\n", "config:\n  size: \"{{ config.base }}0\"\n  base: 7\n"),
    ]);
    let tree = good(loaded(&memory));
    let volumes = tree.builder(Class::StorageBuilder, "volumes").expect("volumes");
    assert_eq!(volumes.fields.int("size"), Some(70));
    assert_eq!(
        volumes.fields.object("variables").map(|v| v.text_map("tags")["team"].clone()).as_deref(),
        Some("gp3 volumes harbor")
    );
    edit(&mut memory, "cfg/_config.yml", "base: 7", "base: \"{{ config.size }}\"");
    let found = told(&loaded(&memory).diagnostics);
    assert!(found.len() == 1 && found[0].contains("reads itself"), "{found:#?}");
}

#[test]
fn addresses_and_descriptions_come_from_the_user_builder() {
    let tree = good(loaded(&edited(&[(
        "cfg/identity.yml",
        "{name: posix-users, type: posix, is_default: true}",
        "{name: posix-users, type: posix, is_default: true, email_domain: x.org, default_user_email_template: \"{{ user.first_name | lower }}@{{ builder.email_domain }}\"}",
    )])));
    let mira = tree.user("mira").expect("mira");
    assert_eq!((mira.email.as_str(), mira.description.as_str()), ("mira@x.org", "User mira / mira@x.org"));
    let refused = loaded(&edited(&[(
        "cfg/identity.yml",
        "posix-users, type: posix,",
        "posix-users, type: posix, email_as_username: true, email_domain: x.org, default_user_email_template: \"{{ user.last_name }}\",",
    )]));
    assert!(
        told(&refused.diagnostics)
            .iter()
            .any(|t| t.contains("`mira`") && t.contains("`Quay`") && t.contains("posix-users"))
    );
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    for (template, path) in [
        ("{{ nope }}", "`nope`"),
        ("{{ storage.nme }}", "write `storage.name`"),
        ("{{ storage.nme.x }}", "storage.nme"),
        ("{{ builder.variables.encripted }}", "write `builder.variables.encrypted`"),
        ("{{ config.nope }}", "config.nope"),
        ("{{ storage.bucket_name }}", "storage.bucket_name"),
        ("{{ ENV.HOME }}", "template_env"),
        ("{{ ENV['HOME'] }}", "ENV.HOME"),
        ("{{ image.name }}", "`image`"),
        ("{% if nope %}{% endif %}", "`nope`"),
        ("{{ storage }}", "mapping"),
        ("{{ storage.groups }}", "join"),
        ("{{ none }}", "nothing"),
        ("{{ storage.name | nofilter }}", "nofilter"),
        ("{{ storage.name", "cannot be read"),
        ("{% include 'x' %}", "cannot be read"),
    ] {
        one(&tag(template).diagnostics, "storages/storages.yaml:4:29", &[path]);
    }
}

#[test]
fn a_value_that_failed_is_told_once_however_often_it_is_read() {
    let found = loaded(&edited(&[
        ("images/images.yaml", "{{ image.name }} on", "{{ image.nme }} on"),
        (
            "instances/instances.yaml",
            "tags: {tier: api}",
            "tags: {a: \"{{ image.source_image }}\", b: \"{{ config.bad }}\", c: \"{{ config.bad }}\"}",
        ),
        ("cfg/_config.yml", "config:\n", "config:\n  bad: \"{{ config.none_such }}\"\n"),
    ]));
    assert_eq!(told(&found.diagnostics).len(), 2, "{:#?}", told(&found.diagnostics));
}

#[test]
fn only_what_may_be_a_template_is_one() {
    let tree = loaded(&edited(&[
        ("images/images.yaml", "echo ${USER} 100%", "docker ps --format '{{ .Names }}' {{ nope }}"),
        ("images/images.yaml", "content: \"port=8080\\n\"", "content: \"{{ .Port }}\""),
        (
            "images/images.yaml",
            "config: {level: \"1\"}",
            "config: {level: \"{{ image.name }}\", list: [\"{{ nope }}\"]}",
        ),
        (
            "instances/instances.yaml",
            "      systemctl restart api\n",
            "      echo {{ instance.name }}\n      echo ${#a[@]} ${X%%.*}\n",
        ),
    ]));
    let found = told(&tree.diagnostics);
    assert!(found.len() == 1 && found[0].contains("Note template-foreign images/images.yaml:21:"), "{found:#?}");
    let tree = tree.tree.expect("a tree");
    let image = tree.image("harbor-base").expect("harbor-base");
    assert_eq!(
        image.modifications[0].fields.object("config").and_then(|c| c.text("level").map(str::to_owned)).as_deref(),
        Some("harbor-base")
    );
    assert_eq!(
        image.modifications[0].fields.object("config").map(|c| c.texts("list")[0].value.clone()).as_deref(),
        Some("{{ nope }}")
    );
    assert!(
        tree.image("harbor-api").is_some_and(|i| i.modifications[0].fields.texts("script")[1].contains("{{ nope }}"))
    );
    assert_eq!(tree.instance("api-1").map(|i| i.userdata.as_str()), Some("echo api-1\necho ${#a[@]} ${X%%.*}\n"));
    let read = loaded(&edited(&[(
        "instances/instances.yaml",
        "      systemctl restart api\n",
        "      one\n      two {{ nope }}\n",
    )]));
    one(&read.diagnostics, "instances/instances.yaml:12:1", &["`nope`"]);
}

#[test]
fn variables_are_those_of_the_request_and_count_as_sensitive() {
    let memory = edited(&[(
        "storages/storages.yaml",
        "tags: {data: ledger}",
        "tags: {t: \"{{ ENV.TEAM }} {{ ENV.X | default('y') }}\"}",
    )]);
    let mut request = request();
    request.template_env.insert("TEAM".into(), "quiet".into());
    let read = load(&memory, &request, &Identities::default()).expect("loaded");
    assert_eq!(read.secrets.texts().collect::<Vec<_>>(), ["quiet"]);
    assert_eq!(good(read).storage("ledger").map(|s| s.tags["t"].as_str()), Some("quiet y"));
}

#[test]
fn the_time_of_the_run_is_a_warning() {
    let read = tag("{{ execution.timestamp }} {{ execution.date }}");
    one(&read.diagnostics, "storages/storages.yaml:4:29", &["Warning", "template-clock"]);
    assert_eq!(
        read.tree.and_then(|t| t.storage("ledger").map(|s| s.tags["t"].clone())).as_deref(),
        Some("20260131_080000 2026-01-31")
    );
}

#[test]
fn names_are_no_templates() {
    let read = loaded(&edited(&[("storages/storages.yaml", "name: public-docs", "name: \"{{ config.x }}\"")]));
    one(&read.diagnostics, "storages/storages.yaml:15:11", &["template"]);
}

#[test]
fn hostile_templates_end_soon() {
    for template in [
        "{{ 'x' * 1000000000 }}",
        "{% for a in range(100000) %}{% for b in range(100000) %}x{% endfor %}{% endfor %}",
        "{% set ns = namespace(x='aaaaaaaaaaaaaaaa') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x }}",
        "{{ 'aaaa' | replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaa') | replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaa') | replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaa') | replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaa') | replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaa') | replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaa') }}",
        "{{ '%999999999d' | format(1) }}",
    ] {
        let found = told(&tag(template).diagnostics);
        assert!(found.len() == 1 && found[0].contains("Error template-"), "{template}: {found:#?}");
    }
    let nested = format!("{{{{ {}1{} }}}}", "(".repeat(5000), ")".repeat(5000));
    assert!(tag(&nested).diagnostics.is_refused());
    let mut memory = harbor();
    let doubling: String =
        (0..40).map(|i| format!("  d{i}: \"{{{{ config.d{} }}}}{{{{ config.d{} }}}}\"\n", i + 1, i + 1)).collect();
    memory.insert("cfg/zz.yml", format!("config:\n{doubling}  d40: xxxxxxxx\n"), 0o644);
    assert!(loaded(&memory).diagnostics.is_refused());
    let heavy: String =
        (0..3000).map(|i| format!("  h{i}: \"{{% for a in range(9000) %}}{{% endfor %}}\"\n")).collect();
    memory.insert("cfg/zz.yml", format!("config:\n{heavy}"), 0o644);
    assert!(told(&loaded(&memory).diagnostics).iter().any(|t| t.contains("cost too much")));
}
