variable "name" {
  description = "Name of the machine; becomes its Name tag."
  type        = string
}

variable "ami_id" {
  description = "Image to boot from. Empty: the newest own image that matches ami_name_pattern."
  type        = string
  default     = ""
}

variable "ami_name_pattern" {
  description = "Name pattern of the own images to choose from when ami_id is empty."
  type        = string
  default     = ""
}

variable "instance_type" {
  type    = string
  default = "t3.micro"
}

variable "subnet_id" {
  description = "Subnet of the machine. Empty: the default subnet of the account."
  type        = string
  default     = ""
}

variable "associate_public_ip_address" {
  type    = bool
  default = true
}

variable "vpc_security_group_ids" {
  description = "Security groups the machine wears. Empty: the default group of the VPC."
  type        = list(string)
  default     = []
}

variable "iam_instance_profile" {
  description = "Name of the instance profile. Empty: none."
  type        = string
  default     = ""
}

variable "user_data" {
  description = "Launch script, as text. Empty: none."
  type        = string
  default     = ""
}

variable "ebs_volumes" {
  description = "Volumes to attach, by storage name."
  type = map(object({
    volume_id   = string
    device_name = string
  }))
  default = {}
}

variable "tags" {
  type    = map(string)
  default = {}
}
