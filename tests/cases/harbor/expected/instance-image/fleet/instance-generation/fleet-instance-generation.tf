# Instances of fleet (tofu) on aws-west: providers, backend, variables, the state they read and what they share

terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.0.0"
    }
  }

  backend "s3" {}
}

provider "aws" {
  region  = "us-west-2"
  profile = "harbor"
  alias   = "fleet"
}

variable "api_1_ami_id" {
  type    = string
  default = ""
}

variable "api_2_ami_id" {
  type    = string
  default = ""
}

variable "edge_1_ami_id" {
  type    = string
  default = ""
}

variable "probe_ami_id" {
  type    = string
  default = ""
}

variable "ephemeral_present" {
  type        = bool
  default     = true
  description = "Whether the ephemeral machines stand."
}

variable "sft_enrollment_token" {
  type        = string
  default     = ""
  description = "Enrollment token that machines use instead of their group's own."
  sensitive   = true
}

data "terraform_remote_state" "volumes" {
  backend = "s3"
  config = {
    bucket  = "harbor-state"
    key     = "roots/harbor/volumes.tfstate"
    region  = "us-west-2"
    profile = "harbor"
  }
}

data "terraform_remote_state" "shares" {
  backend = "s3"
  config = {
    bucket  = "harbor-state"
    key     = "roots/harbor/shares.tfstate"
    region  = "us-west-2"
    profile = "harbor"
  }
}

data "terraform_remote_state" "buckets" {
  backend = "s3"
  config = {
    bucket  = "harbor-state"
    key     = "roots/harbor/buckets.tfstate"
    region  = "us-west-2"
    profile = "harbor"
  }
}

data "aws_vpc" "csis_instances" {
  provider = aws.fleet
  id       = "vpc-0ab00000000000001"
}

resource "aws_security_group" "csis_instances" {
  provider    = aws.fleet
  name_prefix = "csis-instances-"
  description = "Machines of this root: SSH from within, everything outwards"
  vpc_id      = data.aws_vpc.csis_instances.id

  ingress {
    description     = "SSH"
    from_port       = 22
    to_port         = 22
    protocol        = "tcp"
    security_groups = ["sg-0ab00000000000011"]
  }

  egress {
    description = "Everywhere"
    from_port   = 0
    to_port     = 0
    protocol    = "-1"
    cidr_blocks = ["0.0.0.0/0"]
  }

  tags = {
    Name        = "csis-instances"
    csis_config = "harbor"
  }

  lifecycle {
    create_before_destroy = true
  }
}
