# Instance api-1
# of the group crew, from the image harbor-api

module "instance_api_1" {
  source = "../../../../tfmodules/aws_instance"
  providers = {
    aws = aws.fleet
  }
  name                        = "api-1"
  ami_id                      = var.api_1_ami_id
  ami_name_pattern            = "harbor-api-bake*"
  instance_type               = "m7i.large"
  associate_public_ip_address = false
  vpc_security_group_ids      = [aws_security_group.csis_instances.id, "sg-0ab00000000000011"]
  subnet_id                   = "subnet-0ab0000000000000a"
  iam_instance_profile        = "harbor-ssm"
  tags = {
    "csis_config" = "harbor"
    "tier"        = "api"
  }
  user_data = templatefile("${path.module}/user-data-api_1.sh.tftpl", {
    "ebs" = {
      "ledger" = {
        "device_name" = "/dev/xvdf"
        "volume_id"   = data.terraform_remote_state.volumes.outputs.storage_ledger.volume_id
      }
    }
    "efs" = {
      "depot" = {
        "access_point_id" = data.terraform_remote_state.shares.outputs.storage_depot.access_point_ids["crew"]
        "file_system_id"  = data.terraform_remote_state.shares.outputs.storage_depot.file_system_id
      }
    }
    "group_gid"            = 4000
    "sft_enrollment_token" = ""
  })
  ebs_volumes = {
    "ledger" = {
      "device_name" = "/dev/xvdf"
      "volume_id"   = data.terraform_remote_state.volumes.outputs.storage_ledger.volume_id
    }
  }
}
