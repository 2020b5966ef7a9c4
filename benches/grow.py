"""Writes a tree N times as large as examples/harbor: usage grow.py HARBOR DEST N. Every copy has its own groups, users, storages, images and instances."""
import pathlib
import re
import shutil
import sys

harbor, dest, times = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
shutil.copytree(harbor, dest, dirs_exist_ok=True)

ITEMS = "crew|audit|mira|oskar|lena|ledger|depot|vault|public-docs|harbor-base|harbor-api|harbor-edge|harbor-vault|harbor-public-docs|api-1|api-2|edge-1|probe"
NAME = re.compile(rf"(?<![\w-])({ITEMS})(?![\w-])")


def copy(text, n):
    text = NAME.sub(lambda m: f"{m[1]}-{n}", text)
    text = re.sub(r"\b(gid|uid): (\d+)", lambda m: f"{m[1]}: {int(m[2]) + 1000 * n}", text)
    # One root group in a tree.
    return text.replace("    is_root: true\n", "")


for file in ["groups/groups.yaml", "groups/users.yaml", "storages/storages.yaml", "images/images.yaml", "instances/instances.yaml"]:
    text = (harbor / file).read_text()
    for n in range(1, times):
        path = dest / file
        path.with_name(f"{path.stem}-{n:03}{path.suffix}").write_text(copy(text, n))
