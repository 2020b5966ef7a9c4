variable "name" {
  description = "Name of the storage; becomes the volume's Name tag."
  type        = string
}

variable "size" {
  description = "Size in GiB."
  type        = number
  default     = 100
}

variable "volume_type" {
  type    = string
  default = "gp3"
}

variable "availability_zone" {
  description = "Zone of the volume. Empty: the zone of subnet_id."
  type        = string
  default     = ""
}

variable "subnet_id" {
  description = "Subnet whose zone the volume takes when availability_zone is empty."
  type        = string
  default     = ""
}

variable "encrypted" {
  type    = bool
  default = true
}

variable "tags" {
  type    = map(string)
  default = {}
}

variable "snapshot_name" {
  description = "Name tag of the own snapshot to restore from. Empty: a new, empty volume."
  type        = string
  default     = ""
}
