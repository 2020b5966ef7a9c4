# Instance api-2
# of the group crew, from the image harbor-api

module "instance_api_2" {
  source = "../../../../tfmodules/aws_instance"
  providers = {
    aws = aws.fleet
  }
  name                        = "api-2"
  ami_id                      = var.api_2_ami_id
  ami_name_pattern            = "harbor-api-bake*"
  instance_type               = "t3.small"
  associate_public_ip_address = false
  vpc_security_group_ids      = [aws_security_group.csis_instances.id, "sg-0ab00000000000011"]
  subnet_id                   = "subnet-0ab0000000000000a"
  iam_instance_profile        = "harbor-ssm"
  tags = {
    "csis_config" = "harbor"
  }
  user_data = templatefile("${path.module}/user-data-api_2.sh.tftpl", {
    "ebs" = {}
    "efs" = {
      "depot" = {
        "access_point_id" = data.terraform_remote_state.shares.outputs.storage_depot.access_point_ids["crew"]
        "file_system_id"  = data.terraform_remote_state.shares.outputs.storage_depot.file_system_id
      }
    }
    "group_gid"            = 4000
    "sft_enrollment_token" = ""
  })
}
