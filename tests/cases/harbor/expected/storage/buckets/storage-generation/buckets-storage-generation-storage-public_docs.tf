# Storage public-docs

module "storage_public_docs" {
  source = "../../../../tfmodules/aws_storage_s3"
  providers = {
    aws = aws.buckets
  }
  bucket_name = "harbor-public-docs"
  public_read = true
  tags = {
    "csis_config" = "harbor"
  }
}

output "storage_public_docs" {
  value       = module.storage_public_docs
  description = "Outputs of storage public-docs for roots that read this state"
}
