# Backend state-main (s3): partial configuration of workspace fleet

bucket       = "harbor-state"
key          = "roots/harbor/fleet.tfstate"
region       = "us-west-2"
encrypt      = true
use_lockfile = true
profile      = "harbor"
