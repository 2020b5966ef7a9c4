//! One function per record file: its document to its part of the records.

use crate::FOLDER;
use crate::files::Files;
use crate::shapes::Shapes;
use csis_values::node::Node;
use csis_values::records::{
    Build, Generations, GroupRecord, Launch, LaunchMount, LocationRecord, Mounted, Pins, Records, StorageRecord,
};
use csis_values::{Diagnostic, Diagnostics, Place};
use std::sync::Arc;

/// Takes a document's part of the records.
type Reader = fn(&Node, &mut Shapes<'_>, &mut Records);

/// Reads the records. What cannot be read is an error among `found`; the records hold the rest.
pub fn read(files: &dyn Files, found: &mut Diagnostics) -> Records {
    let mut records = Records::default();
    let readers: [(&str, Reader); 9] = [
        ("storage-state.yaml", storages),
        ("lineage.yaml", lineage),
        ("pins.yaml", pins),
        ("launch-params.yaml", launches),
        ("instance-state.yaml", generations),
        ("state-locations.yaml", locations),
        ("identity.yaml", identity),
        ("releases.yaml", releases),
        ("image-tests.yaml", image_tests),
    ];
    for (name, reader) in readers {
        document(files, name, found, |node, shapes| reader(node, shapes, &mut records));
    }
    document(files, "vendor-images.yaml", found, |node, shapes| {
        let images = shapes.text_map(node.get("images"), "images");
        records.vendor_images = images.into_iter().map(|(key, id)| (key.to_owned(), id)).collect();
    });
    records.aliases = aliases(files, found);
    records
}

fn bytes(files: &dyn Files, name: &str, found: &mut Diagnostics) -> Option<Vec<u8>> {
    match files.read(name) {
        Ok(bytes) => bytes,
        Err(error) => {
            let path = format!("{FOLDER}/{name}");
            let what = format!("the record `{path}` cannot be read: {error}");
            found.push(
                Diagnostic::error("record-unreadable", what)
                    .at(&Place::head(path))
                    .help("make it a file that csis may read"),
            );
            None
        }
    }
}

fn document(files: &dyn Files, name: &str, found: &mut Diagnostics, read: impl FnOnce(&Node, &mut Shapes<'_>)) {
    let Some(bytes) = bytes(files, name, found) else { return };
    let path: Arc<str> = format!("{FOLDER}/{name}").into();
    let mut problems = Diagnostics::default();
    let node = csis_tree::yaml::parse(&path, &bytes, &mut problems);
    for problem in &mut problems.0 {
        problem.help.get_or_insert_with(|| format!("restore `{path}` from the last commit that landed"));
    }
    found.extend(problems);
    let Some(node) = node else { return };
    let mut shapes = Shapes { file: &path, found };
    if node.map().is_some() {
        read(&node, &mut shapes);
    } else if !node.is_null() {
        let what = format!("it is {}, where a mapping belongs", node.describe());
        shapes.wrong(&node.at, &what);
    }
}

fn storages(node: &Node, shapes: &mut Shapes<'_>, records: &mut Records) {
    for (name, of, path) in shapes.entries(node.get("storages"), "storages") {
        let state = shapes.text(of, "state", &path);
        if let Some(state) = &state
            && !matches!(state.as_str(), "active" | "archived" | "destroyed")
        {
            shapes.wrong(
                of.get("state").map_or(&of.at, |n| &n.at),
                &format!("`{path}.state` is `{state}`; known are active, archived and destroyed"),
            );
        }
        let mut record = StorageRecord {
            state,
            generation: shapes.count(of, "generation", &path).unwrap_or(0),
            ..Default::default()
        };
        if let Some(facts) = of.get("facts").filter(|facts| !facts.is_null()) {
            let path = format!("{path}.facts");
            shapes.map(Some(facts), &path);
            record.builder = shapes.text(facts, "builder", &path);
            record.kind = shapes.text(facts, "type", &path);
            record.bucket_name = shapes.text(facts, "bucket_name", &path);
            record.archive = shapes.text(facts, "archive", &path);
        }
        record.history = shapes.list(of.get("history"), &format!("{path}.history")).iter().map(Node::to_json).collect();
        records.storages.insert(name.to_owned(), record);
    }
}

fn lineage(node: &Node, shapes: &mut Shapes<'_>, records: &mut Records) {
    for (of, path) in shapes.items(node.get("builds"), "builds") {
        let (Some(build_id), Some(series), Some(runtime)) = (
            shapes.required(of, "build_id", &path),
            shapes.required(of, "series", &path),
            shapes.required(of, "runtime", &path),
        ) else {
            continue;
        };
        let mut build = Build {
            build_id,
            series,
            runtime,
            name: shapes.text(of, "name", &path).unwrap_or_default(),
            parent: shapes.text(of, "parent", &path),
            input_fingerprint: shapes.text(of, "input_fingerprint", &path),
            fingerprint_scheme: shapes.count(of, "fingerprint_scheme", &path),
            run: shapes.text(of, "run", &path),
            imported: shapes.flag(of, "imported", &path).unwrap_or(false),
            ..Default::default()
        };
        if let Some(stamp) = of.get("capabilities").filter(|stamp| !stamp.is_null()) {
            let path = format!("{path}.capabilities");
            build.stamped = stamp.map().is_some();
            shapes.map(Some(stamp), &path);
            build.identity_types = shapes.texts(stamp, "identity_types", &path);
            build.storage_types = shapes.texts(stamp, "storage_types", &path);
        }
        records.builds.push(build);
    }
}

fn pins(node: &Node, shapes: &mut Shapes<'_>, records: &mut Records) {
    let mut pins = Pins::default();
    let images = shapes.text_map(node.get("images"), "images");
    // A key without a runtime is of an older version: the build it names tells the runtime. A key that names its runtime goes before it.
    let (exact, legacy): (Vec<_>, Vec<_>) = images.into_iter().partition(|(key, _)| key.contains('@'));
    for (key, build) in legacy {
        let runtime = records.build(&build).map(|build| build.runtime.clone());
        pins.images.insert(runtime.map_or_else(|| key.to_owned(), |runtime| format!("{key}@{runtime}")), build);
    }
    pins.images.extend(exact.into_iter().map(|(key, build)| (key.to_owned(), build)));
    let owned = |texts: Vec<(&str, String)>| texts.into_iter().map(|(key, build)| (key.to_owned(), build)).collect();
    pins.instances = owned(shapes.text_map(node.get("instances"), "instances"));
    pins.pending_replacements = owned(shapes.text_map(node.get("pending_replacements"), "pending_replacements"));
    records.pins = pins;
}

fn launches(node: &Node, shapes: &mut Shapes<'_>, records: &mut Records) {
    for (name, of, path) in shapes.entries(node.get("instances"), "instances") {
        let launch = Launch {
            image: shapes.text(of, "image", &path),
            build: shapes.text(of, "build", &path).filter(|build| build != "unbound"),
            machine_type: shapes.text(of, "machine_type", &path),
            group: shapes.text(of, "group", &path),
            identity_type: shapes.text(of, "identity_type", &path),
            mounts: mounts(of, shapes, &path),
            session: shapes.text(of, "session", &path),
            hostname: shapes.text(of, "hostname", &path),
            alias: shapes.text(of, "alias", &path),
            ephemeral: shapes.flag(of, "ephemeral", &path).unwrap_or(false),
            userdata: shapes.text(of, "userdata", &path),
            launched: shapes.flag(of, "launched", &path).unwrap_or(false),
            launched_run: shapes.text(of, "launched_run", &path),
        };
        records.launches.insert(name.to_owned(), launch);
    }
}

fn mounts(of: &Node, shapes: &mut Shapes<'_>, path: &str) -> Vec<LaunchMount> {
    let mut mounts = Vec::new();
    for (mount, path) in shapes.items(of.get("mounts"), &format!("{path}.mounts")) {
        let (Some(storage), Some(mount_point)) =
            (shapes.required(mount, "storage", &path), shapes.required(mount, "mount_point", &path))
        else {
            continue;
        };
        mounts.push(LaunchMount {
            storage,
            mount_point,
            kind: shapes.text(mount, "type", &path),
            builder: shapes.text(mount, "builder", &path),
            group: shapes.text(mount, "group", &path),
            public_read: shapes.flag(mount, "public_read", &path).unwrap_or(false),
            device: shapes.text(mount, "device", &path),
        });
    }
    mounts
}

fn generations(node: &Node, shapes: &mut Shapes<'_>, records: &mut Records) {
    for (name, of, path) in shapes.entries(node.get("instances"), "instances") {
        let mut generations = Generations::default();
        if let Some(counts) = of.get("generation").filter(|counts| !counts.is_null()) {
            let path = format!("{path}.generation");
            shapes.map(Some(counts), &path);
            generations.durable = shapes.count(counts, "durable", &path).unwrap_or(0);
            generations.ephemeral = shapes.count(counts, "ephemeral", &path).unwrap_or(0);
        }
        if let Some(current) = of.get("current").filter(|current| !current.is_null()) {
            let path = format!("{path}.current");
            shapes.map(Some(current), &path);
            generations.instance_id = shapes.text(current, "instance_id", &path);
            generations.current_kind = shapes.text(current, "kind", &path);
            mounted(current, shapes, &path, &mut generations);
        }
        for (closed, path) in shapes.items(of.get("history"), &format!("{path}.history")) {
            mounted(closed, shapes, &path, &mut generations);
        }
        records.generations.insert(name.to_owned(), generations);
    }
}

/// What the machine of a generation mounted.
fn mounted(of: &Node, shapes: &mut Shapes<'_>, path: &str, generations: &mut Generations) {
    let Some(launch) = of.get("launch_params").filter(|launch| !launch.is_null()) else { return };
    let run = shapes.text(of, "opened_run", path);
    let path = format!("{path}.launch_params");
    shapes.map(Some(launch), &path);
    let storages = mounts(launch, shapes, &path).into_iter().map(|mount| mount.storage);
    generations.mounted.extend(storages.map(|storage| Mounted { storage, run: run.clone() }));
}

fn locations(node: &Node, shapes: &mut Shapes<'_>, records: &mut Records) {
    for (name, of, path) in shapes.entries(node.get("workspaces"), "workspaces") {
        let Some(location) = shapes.required(of, "location", &path) else { continue };
        let record = LocationRecord {
            location,
            backend: shapes.text(of, "backend", &path),
            kind: shapes.text(of, "type", &path),
            lineage: shapes.text(of, "lineage", &path),
            serial: shapes.count(of, "serial", &path),
        };
        records.locations.insert(name.to_owned(), record);
    }
}

fn identity(node: &Node, shapes: &mut Shapes<'_>, records: &mut Records) {
    for (name, of, path) in shapes.entries(node.get("groups"), "groups") {
        let record = GroupRecord {
            builder: shapes.text(of, "builder", &path),
            managed: shapes.flag(of, "managed", &path).unwrap_or(false),
        };
        records.groups.insert(name.to_owned(), record);
    }
}

fn releases(node: &Node, shapes: &mut Shapes<'_>, records: &mut Records) {
    for (model, of, path) in shapes.entries(node.get("current"), "current") {
        let images = shapes.text_map(Some(of), &path);
        records.released.extend(images.iter().map(|(_, build)| build.clone()));
        records
            .releases
            .insert(model.to_owned(), images.into_iter().map(|(image, build)| (image.to_owned(), build)).collect());
    }
    for (of, path) in shapes.items(node.get("releases"), "releases") {
        records.released.extend(shapes.required(of, "build_id", &path));
    }
}

fn image_tests(node: &Node, shapes: &mut Shapes<'_>, records: &mut Records) {
    for (build, of, path) in shapes.entries(node.get("builds"), "builds") {
        if let Some(ok) = shapes.flag(of, "ok", &path) {
            records.image_tests.insert(build.to_owned(), ok);
        }
    }
}

fn aliases(files: &dyn Files, found: &mut Diagnostics) -> Option<String> {
    let name = "aliases.txt";
    let Ok(text) = String::from_utf8(bytes(files, name, found)?) else {
        let path = format!("{FOLDER}/{name}");
        let error =
            Diagnostic::error("record-unreadable", format!("`{path}` is not UTF-8 text")).at(&Place::head(path));
        found.push(error.help("save it as UTF-8, one name per line"));
        return None;
    };
    Some(text)
}
