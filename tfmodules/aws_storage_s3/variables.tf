variable "bucket_name" {
  type = string
}

variable "force_destroy" {
  description = "Lets a destroy empty the bucket first."
  type        = bool
  default     = false
}

variable "tags" {
  type    = map(string)
  default = {}
}

variable "group_prefixes" {
  description = "Groups that own a prefix of the bucket."
  type        = list(string)
  default     = []
}

variable "public_read" {
  description = "Lets every principal of the bucket's own account read it."
  type        = bool
  default     = false
}

variable "lifecycle_rules" {
  description = "Days of 0 and an empty prefix mean: not set."
  type = list(object({
    id              = string
    prefix          = string
    transition_days = number
    storage_class   = string
    expire_days     = number
  }))
  default = []
}
