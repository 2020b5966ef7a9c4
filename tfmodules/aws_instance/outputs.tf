output "instance_id" {
  value = aws_instance.this.id
}

output "private_ip" {
  value = aws_instance.this.private_ip
}

output "ami_id" {
  description = "Image the machine was booted from."
  value       = aws_instance.this.ami
}
