# Instance edge-1
# of the group audit, from the image harbor-edge

module "instance_edge_1" {
  source = "../../../../tfmodules/aws_instance"
  providers = {
    aws = aws.fleet
  }
  name                        = "edge-1"
  ami_id                      = var.edge_1_ami_id
  ami_name_pattern            = "harbor-edge-bake*"
  instance_type               = "t3.small"
  associate_public_ip_address = false
  vpc_security_group_ids      = [aws_security_group.csis_instances.id, "sg-0ab00000000000011"]
  subnet_id                   = "subnet-0ab0000000000000a"
  iam_instance_profile        = "harbor-ssm"
  tags = {
    "csis_config" = "harbor"
  }
  user_data = templatefile("${path.module}/user-data-edge_1.sh.tftpl", {
    "ebs"                  = {}
    "efs"                  = {}
    "group_gid"            = 4100
    "sft_enrollment_token" = ""
  })
}
