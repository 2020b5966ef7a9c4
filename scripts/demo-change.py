"""The change that scripts/demo makes to a copy of examples/harbor: usage demo-change.py TREE."""
import pathlib
import sys

tree = pathlib.Path(sys.argv[1])


def edit(file, find, replace):
    path = tree / file
    text = path.read_text()
    if text.count(find) != 1:
        sys.exit(f"{file}: expected exactly one {find!r}")
    path.write_text(text.replace(find, replace))


edit("instances/instances.yaml", "machine_type: m7i.large", "machine_type: m7i.xlarge")
edit("storages/storages.yaml", "  - name: depot\n", "  - name: journal\n    groups: [crew]\n    tags: {data: journal}\n  - name: depot\n")
edit(
    "instances/instances.yaml",
    "  - name: edge-1\n",
    "  - name: api-3\n    image: harbor-api\n    storages:\n      - {name: journal, mount_point: /mnt/journal}\n"
    "      - {name: depot, mount_point: /mnt/depot}\n  - name: edge-1\n",
)
edit("storages/storages.yaml", "  - name: public-docs\n    type: buckets\n    bucket_name: harbor-public-docs\n    public_read: true\n", "")
