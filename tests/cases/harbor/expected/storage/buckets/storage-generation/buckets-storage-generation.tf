# Storages of buckets (tf-aws-s3) on aws-west: providers, backend and the state they read

terraform {
  required_providers {
    aws = {
      source = "hashicorp/aws"
    }
  }

  backend "s3" {}
}

provider "aws" {
  region  = "us-west-2"
  profile = "harbor"
  alias   = "buckets"
}
