# Backend state-main (s3): partial configuration of workspace volumes

bucket       = "harbor-state"
key          = "roots/harbor/volumes.tfstate"
region       = "us-west-2"
encrypt      = true
use_lockfile = true
profile      = "harbor"
