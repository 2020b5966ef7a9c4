# csis_mark MOUNT_POINT: says whether it is mounted, for whoever verifies the machine.
csis_mark() {
  if findmnt -rn --mountpoint "$1" >/dev/null 2>&1; then
    echo "csis-mount: $1 mounted"
  else
    echo "csis-mount: $1 NOT mounted"
  fi
}

# csis_fstab SOURCE FSTAB_NAME TYPE OPTIONS PASS: adds a line unless the mount point has one.
csis_fstab() {
  if ! grep -qF -- " $2 " /etc/fstab; then
    printf '%s %s %s %s 0 %s\n' "$1" "$2" "$3" "$4" "$5" >> /etc/fstab
  fi
}
