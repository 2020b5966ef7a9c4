# Storage ledger
# for the groups crew; active

module "storage_ledger" {
  source = "../../../../tfmodules/aws_storage_ebs"
  providers = {
    aws = aws.volumes
  }
  volume_type = "gp3"
  encrypted   = true
  name        = "ledger"
  size        = 50
  subnet_id   = "subnet-0ab0000000000000a"
  tags = {
    "csis_config" = "harbor"
    "data"        = "ledger"
    "team"        = "harbor"
  }
}

output "storage_ledger" {
  value       = module.storage_ledger
  description = "Outputs of storage ledger for roots that read this state"
}
