# shellcheck shell=bash disable=SC2154
# The standing base of examples/harbor: its four roots applied with the engine itself, and the records such a landing
# leaves. Read by scripts/bench, which sets the variables used here.

apply_root() {
	local root=$1
	shift
	(
		# Some attributes tell what other resources did meanwhile (a group's rules, a bucket's policy): the second
		# apply settles them, or every later plan would report them as drift.
		cd "$run/harbor/apply/generated/$root" &&
			"$engine" init -input=false -no-color "-backend-config=$(echo ./*.tfbackend.hcl)" &&
			"$engine" apply -input=false -no-color -auto-approve "$@" &&
			"$engine" apply -input=false -no-color -auto-approve -refresh-only "$@"
	) >"$run/harbor/apply-$(basename "$(dirname "$root")").log" 2>&1
}

harbor_base() {
	local csis=${CSIS:-$home/target/debug/csis} tree=$run/harbor/tree root pids=() name
	[ -x "$csis" ] ||
		fail "the account of harbor is there, its standing base is not: no csis at $csis (cargo build -p csis, or set CSIS)"
	rm -rf "$run/harbor"
	mkdir -p "$tree" "$run/harbor/apply"
	cp -R "$home/examples/harbor/." "$tree/"
	cp -R "$home/examples/harbor-standing/meta-state/." "$tree/meta-state/"
	cp -R "$home/tfmodules" "$tree/tfmodules"
	quietly "$csis" --root "$tree" generate storage instance-image
	# The roots are applied in a copy: the tree stays as a checkout would be.
	cp -R "$tree/generated" "$tree/tfmodules" "$run/harbor/apply/"

	for root in storage/volumes/storage-generation storage/shares/storage-generation storage/buckets/storage-generation; do
		apply_root "$root" &
		pids+=($!)
	done
	for root in "${pids[@]}"; do wait "$root" || harbor_failed; done
	apply_root instance-image/fleet/instance-generation -var=ephemeral_present=false || harbor_failed

	for root in "$run"/harbor/apply/generated/*/*/*/; do
		name=${root#"$run/harbor/apply/"}
		if [ -e "$root/.terraform.lock.hcl" ]; then cp "$root/.terraform.lock.hcl" "$tree/$name"; fi
	done
	rm -rf "$run/harbor/apply"
	: >"$run/harbor/ready"
}

harbor_failed() {
	tail -n 25 "$run"/harbor/apply-*.log >&2
	fail "the standing base of harbor could not be applied"
}
