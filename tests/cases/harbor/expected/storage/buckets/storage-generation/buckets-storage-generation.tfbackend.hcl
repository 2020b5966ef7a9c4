# Backend state-main (s3): partial configuration of workspace buckets

bucket       = "harbor-state"
key          = "roots/harbor/buckets.tfstate"
region       = "us-west-2"
encrypt      = true
use_lockfile = true
profile      = "harbor"
