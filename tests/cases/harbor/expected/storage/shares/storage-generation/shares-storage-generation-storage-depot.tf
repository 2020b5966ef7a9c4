# Storage depot
# for the groups crew, audit; active

module "storage_depot" {
  source = "../../../../tfmodules/aws_storage_efs"
  providers = {
    aws = aws.shares
  }
  encrypted        = true
  name             = "depot"
  transition_to_ia = "AFTER_14_DAYS"
  access_points = {
    "audit" = {
      gid         = 4100
      path        = "/audit"
      permissions = "2775"
    }
    "crew" = {
      gid         = 4000
      path        = "/crew"
      permissions = "2775"
    }
  }
  vpc_id                    = "vpc-0ab00000000000001"
  mount_target_subnet_ids   = ["subnet-0ab0000000000000a", "subnet-0ab0000000000000b"]
  client_security_group_ids = ["sg-0ab00000000000011"]
  tags = {
    "csis_config" = "harbor"
  }
}

output "storage_depot" {
  value       = module.storage_depot
  description = "Outputs of storage depot for roots that read this state"
}
