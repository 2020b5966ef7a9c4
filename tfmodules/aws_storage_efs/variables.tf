variable "name" {
  description = "Name of the storage; becomes the creation token and the Name tag."
  type        = string
}

variable "existing_file_system_id" {
  description = "File system to use instead of creating one. Empty: create one."
  type        = string
  default     = ""
}

variable "performance_mode" {
  type    = string
  default = "generalPurpose"
}

variable "encrypted" {
  type    = bool
  default = true
}

variable "tags" {
  type    = map(string)
  default = {}
}

variable "access_points" {
  description = "One access point per group name: the directory it opens, and that directory's gid and mode."
  type = map(object({
    gid         = number
    path        = string
    permissions = string
  }))
  default = {}
}

variable "public_read" {
  description = "Adds an access point to the whole file system; machines mount it read-only."
  type        = bool
  default     = false
}

variable "transition_to_ia" {
  description = "For example AFTER_30_DAYS. Empty: never."
  type        = string
  default     = ""
}

variable "transition_to_archive" {
  description = "For example AFTER_90_DAYS. Empty: never."
  type        = string
  default     = ""
}

variable "vpc_id" {
  description = "VPC of the mount targets' security group."
  type        = string
  default     = ""
}

variable "mount_target_subnet_ids" {
  description = "Subnets that get a mount target, at most one per zone."
  type        = list(string)
  default     = []
}

variable "client_security_group_ids" {
  description = "Groups whose machines may reach the mount targets over NFS."
  type        = list(string)
  default     = []
}
