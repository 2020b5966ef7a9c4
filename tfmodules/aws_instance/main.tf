# csis modules 1

# Only asked when no image is given: the newest own image of the series.
data "aws_ami" "this" {
  count = var.ami_id == "" ? 1 : 0

  most_recent = true
  owners      = ["self"]

  filter {
    name   = "name"
    values = [var.ami_name_pattern]
  }
}

locals {
  ami_id = var.ami_id == "" ? data.aws_ami.this[0].id : var.ami_id
}

resource "aws_instance" "this" {
  ami                         = local.ami_id
  instance_type               = var.instance_type
  subnet_id                   = var.subnet_id == "" ? null : var.subnet_id
  associate_public_ip_address = var.associate_public_ip_address
  vpc_security_group_ids      = length(var.vpc_security_group_ids) == 0 ? null : var.vpc_security_group_ids
  iam_instance_profile        = var.iam_instance_profile == "" ? null : var.iam_instance_profile
  user_data                   = var.user_data == "" ? null : var.user_data
  tags                        = merge({ Name = var.name }, var.tags)

  lifecycle {
    # A newer image or another launch script never replaces a standing machine:
    # an upgrade is only ever an explicit replacement.
    ignore_changes = [ami, user_data]
  }
}

resource "aws_volume_attachment" "this" {
  for_each = var.ebs_volumes

  device_name = each.value.device_name
  volume_id   = each.value.volume_id
  instance_id = aws_instance.this.id
}
