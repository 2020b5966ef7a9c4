# Storage vault
# for the groups audit; active

module "storage_vault" {
  source = "../../../../tfmodules/aws_storage_s3"
  providers = {
    aws = aws.buckets
  }
  bucket_name = "harbor-vault"
  lifecycle_rules = [
    {
      id              = "csis"
      prefix          = ""
      transition_days = 60
      storage_class   = "GLACIER_IR"
      expire_days     = 400
    },
  ]
  group_prefixes = ["audit"]
  tags = {
    "csis_config" = "harbor"
  }
}

output "storage_vault" {
  value       = module.storage_vault
  description = "Outputs of storage vault for roots that read this state"
}
