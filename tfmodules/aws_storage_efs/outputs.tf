output "file_system_id" {
  value = local.file_system_id
}

output "access_point_ids" {
  description = "Access point of each group."
  value       = { for group, point in aws_efs_access_point.group : group => point.id }
}

output "public_read_access_point_id" {
  description = "Access point to the whole file system; null unless public_read."
  value       = one(aws_efs_access_point.public_read[*].id)
}
