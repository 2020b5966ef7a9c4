output "volume_id" {
  value = aws_ebs_volume.this.id
}

output "volume_arn" {
  value = aws_ebs_volume.this.arn
}
