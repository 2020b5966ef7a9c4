# csis modules 1

resource "aws_efs_file_system" "this" {
  count = var.existing_file_system_id == "" ? 1 : 0

  creation_token   = var.name
  performance_mode = var.performance_mode
  encrypted        = var.encrypted
  tags             = merge({ Name = var.name }, var.tags)

  # EFS wants each transition in a policy of its own.
  dynamic "lifecycle_policy" {
    for_each = var.transition_to_ia == "" ? [] : [var.transition_to_ia]

    content {
      transition_to_ia = lifecycle_policy.value
    }
  }

  dynamic "lifecycle_policy" {
    for_each = var.transition_to_archive == "" ? [] : [var.transition_to_archive]

    content {
      transition_to_archive = lifecycle_policy.value
    }
  }
}

data "aws_efs_file_system" "existing" {
  count = var.existing_file_system_id == "" ? 0 : 1

  file_system_id = var.existing_file_system_id
}

locals {
  file_system_id  = var.existing_file_system_id == "" ? aws_efs_file_system.this[0].id : data.aws_efs_file_system.existing[0].id
  has_mount_group = var.vpc_id != "" && length(var.mount_target_subnet_ids) > 0
}

# No posix_user: who writes stays who they are, so that files keep their owners;
# the directory's setgid bit and mode give the group.
resource "aws_efs_access_point" "group" {
  for_each = var.access_points

  file_system_id = local.file_system_id

  root_directory {
    path = each.value.path

    creation_info {
      owner_gid   = each.value.gid
      owner_uid   = 0
      permissions = each.value.permissions
    }
  }

  tags = merge({ Name = "${var.name}-${each.key}", "csis:group" = each.key }, var.tags)
}

resource "aws_efs_access_point" "public_read" {
  count = var.public_read ? 1 : 0

  file_system_id = local.file_system_id

  root_directory {
    path = "/"
  }

  tags = merge({ Name = "${var.name}-public-read" }, var.tags)
}

resource "aws_security_group" "mount_targets" {
  count = local.has_mount_group ? 1 : 0

  name_prefix = "csis-efs-${var.name}-"
  description = "NFS to the mount targets of ${var.name}"
  vpc_id      = var.vpc_id
  tags        = merge({ Name = "csis-efs-${var.name}" }, var.tags)

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_security_group_rule" "mount_target_nfs" {
  count = local.has_mount_group ? length(var.client_security_group_ids) : 0

  type                     = "ingress"
  protocol                 = "tcp"
  from_port                = 2049
  to_port                  = 2049
  security_group_id        = aws_security_group.mount_targets[0].id
  source_security_group_id = var.client_security_group_ids[count.index]
}

resource "aws_efs_mount_target" "this" {
  count = length(var.mount_target_subnet_ids)

  file_system_id  = local.file_system_id
  subnet_id       = var.mount_target_subnet_ids[count.index]
  security_groups = local.has_mount_group ? [aws_security_group.mount_targets[0].id] : null
}
