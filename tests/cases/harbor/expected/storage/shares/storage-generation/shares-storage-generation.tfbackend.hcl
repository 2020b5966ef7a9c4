# Backend state-main (s3): partial configuration of workspace shares

bucket       = "harbor-state"
key          = "roots/harbor/shares.tfstate"
region       = "us-west-2"
encrypt      = true
use_lockfile = true
profile      = "harbor"
