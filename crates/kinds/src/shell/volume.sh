# Whether the first MiB of a device reads as zeros. A read that fails is not "empty".
csis_blank() {
  cmp -s -n 1048576 "$1" /dev/zero
}

# csis_volume MOUNT_POINT FSTAB_NAME DEVICE VOLUME_ID MAY_FORMAT OPTIONS
csis_volume() {
  local point="$1" name="$2" device="$3" may_format="$5" options="$6" by_id kind status try
  by_id="/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_$(printf '%s' "$4" | tr -d -)"
  mkdir -p "$point"
  for ((try = 0; try < 60; try++)); do
    if [ -e "$by_id" ]; then
      device="$by_id"
      break
    fi
    if [ -e "$device" ]; then
      break
    fi
    sleep 2
  done
  if [ ! -e "$device" ]; then
    echo "csis: no device for $point"
    csis_mark "$point"
    return 0
  fi
  status=0
  kind="$(blkid -p -o value -s TYPE "$device")" || status=$?
  if [ "$status" -eq 2 ] && [ "$may_format" = yes ] && csis_blank "$device"; then
    status=0
    kind=xfs
    mkfs -t xfs "$device" || status=$?
  fi
  if [ "$status" -ne 0 ] || [ -z "$kind" ]; then
    echo "csis: $device has no file system that can be mounted, and is not formatted (status $status)"
    csis_mark "$point"
    return 0
  fi
  csis_fstab "$device" "$name" "$kind" "$options" 2
  mount "$point" || mount -t "$kind" -o "$options" "$device" "$point" || true
  csis_mark "$point"
}

# csis_subtree MOUNT_POINT GROUP MODE
csis_subtree() {
  if ! findmnt -rn --mountpoint "$1" >/dev/null 2>&1; then
    return 0
  fi
  mkdir -p "$1/$2"
  chgrp "$GID" "$1/$2"
  chmod "$3" "$1/$2"
}
