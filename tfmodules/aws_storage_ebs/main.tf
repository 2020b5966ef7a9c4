# csis modules 1

data "aws_subnet" "this" {
  count = var.availability_zone == "" && var.subnet_id != "" ? 1 : 0

  id = var.subnet_id
}

data "aws_ebs_snapshot" "archive" {
  count = var.snapshot_name == "" ? 0 : 1

  most_recent = true
  owners      = ["self"]

  filter {
    name   = "tag:Name"
    values = [var.snapshot_name]
  }

  lifecycle {
    # Names are not unique in an account. Archives of before carry no owner.
    postcondition {
      condition     = contains([lookup(var.tags, "csis_config", ""), ""], lookup(self.tags, "csis_config", ""))
      error_message = "The newest snapshot named ${var.snapshot_name} belongs to another configuration; nothing is restored from it."
    }
  }
}

locals {
  availability_zone = var.availability_zone == "" ? one(data.aws_subnet.this[*].availability_zone) : var.availability_zone
}

resource "aws_ebs_volume" "this" {
  availability_zone = local.availability_zone
  size              = var.size
  type              = var.volume_type
  encrypted         = var.encrypted
  snapshot_id       = one(data.aws_ebs_snapshot.archive[*].id)
  tags              = merge({ Name = var.name }, var.tags)

  lifecycle {
    # The archive a volume was restored from may go; the volume stays.
    ignore_changes = [snapshot_id]

    precondition {
      condition     = var.availability_zone != "" || var.subnet_id != ""
      error_message = "Storage ${var.name} has no zone: give it an availability_zone, or its runtime a default subnet."
    }
  }
}
