# csis_share MOUNT_POINT FSTAB_NAME FILE_SYSTEM OPTIONS
csis_share() {
  mkdir -p "$1"
  csis_fstab "$3:/" "$2" efs "$4" 0
  mount "$1" || true
  csis_mark "$1"
}
